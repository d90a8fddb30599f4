"""A variable is set that the operator or the launcher sets itself.

## What it does
Reports names in `env`, `secrets` or `pod:` that something later sets anyway: `RANK`, `WORLD_SIZE`,
`MASTER_ADDR`, `MASTER_PORT` and the `PET_*` names of the rendezvous, which the operator appends to
every container; what torchrun gives to each process; and `NODE_RANK` with one text for several
nodes.

## Why it is bad
The operator appends its variables after the job's own, and of two equal names the last one counts:
the text in the job is dead. Where nothing overwrites it, it is worse: torchrun reads `PET_*` as
its own flags, and a rank that is the same on all nodes hangs the rendezvous.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {WORLD_SIZE: "2"}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {WANDB_PROJECT: sft}
```

## References
- kubeflow/trainer#1790
- kubeflow/trainer#1992
- kubeflow/training-operator: pkg/controller.v1/pytorch/envvar.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.environment import LAUNCHED, PROVIDED_NAMES, added, reaches
from compiler.launch import main
from compiler.model import Member, Run
from compiler.programs import Container, every_container
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH520",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubeflow/trainer#1790",
        "kubeflow/trainer#1992",
        "kubeflow/training-operator: pkg/controller.v1/pytorch/envvar.go",
    ),
)

# torchrun reads PET_<FLAG> as the default of a flag (torch, distributed/argparse_util.py); these
# decide how the nodes find each other, the others are a job's own business.
RENDEZVOUS = frozenset(
    {
        "PET_MASTER_ADDR",
        "PET_MASTER_PORT",
        "PET_NNODES",
        "PET_NODE_RANK",
        "PET_NPROC_PER_NODE",
        "PET_RDZV_BACKEND",
        "PET_RDZV_CONF",
        "PET_RDZV_ENDPOINT",
        "PET_RDZV_ID",
        "PET_STANDALONE",
    }
)
NODE_NAMES = frozenset({"NODE_RANK", "GROUP_RANK"})
JUDGED = (PROVIDED_NAMES | RENDEZVOUS | NODE_NAMES | LAUNCHED.keys()) - {"PYTHONUNBUFFERED"}


def check(run: Run, site: Site) -> Iterator[Report]:
    """The names that are not the job's to set."""
    given: dict[str, str] = {}
    for member, container in every_container(run, site):
        for setting in container.env:
            # The operator's own PYTHONUNBUFFERED says the same as anybody's.
            if setting.name not in JUDGED or container.kind == "init":
                continue
            given = given or added(run, site.backend)
            why = _why(run, site, member, container, setting.name, given)
            if why is None:
                continue
            place = setting.route[:-1] if "pod" in setting.route else setting.route
            yield Report(
                place,
                f"`{setting.name}` is not the job's to set: {why}",
                _help(setting.name, given),
                key=True,
            )


def _why(
    run: Run, site: Site, member: Member, container: Container, name: str, given: dict[str, str]
) -> str | None:
    if name in given and reaches(site.backend, container.kind):
        if site.backend == "job":
            return "it follows from `accelerators` and `num_nodes`"
        return "the operator appends its own, and the last one counts"
    if container.kind != "training":
        return None
    launch = main(container)
    if name in RENDEZVOUS:
        flag = f"--{name[4:].lower()}"
        return f"torchrun takes it for its flag `{flag}`, which follows from the run's shape"
    if name in LAUNCHED and launch is not None and launch.launcher == "torchrun":
        return "torchrun gives each process its own"
    if name in NODE_NAMES and _several(run, member):
        return "it would be the same on all nodes"
    return None


def _several(run: Run, member: Member) -> bool:
    """Whether one text of this member stands for more than one node."""
    if run.first is run.others:
        return run.nodes > 1
    return member is run.others and run.nodes > 2


def _help(name: str, given: dict[str, str]) -> str:
    if name in given:
        return f"take it out; `$({name})` in command and args stands for its value"
    if name in NODE_NAMES and "PET_NODE_RANK" in given:
        return "take it out, and pass $(PET_NODE_RANK), which the operator sets on each node"
    return "take it out"
