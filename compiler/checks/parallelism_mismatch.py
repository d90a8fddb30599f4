"""The model is split into more parts than there are processes for.

## What it does
Multiplies the degrees of tensor, pipeline and context parallelism in the arguments of the training
program, and of expert parallelism beside them, and compares the product with the number of
processes: it must divide it. Where torchtitan's data parallel degrees are given too, the product
must be it. The names of Megatron-LM, NeMo, torchtitan, GPT-NeoX, DeepSpeed and accelerate are
known, as flags or as `key=value`. For an elastic run every number of nodes in its range is tried.

## Why it is bad
Every process checks this when it starts, after the nodes have been waited for and the image has
been pulled: the run fails on all its accelerators at once. An elastic run fails the same way when a
node leaves and the rest does not fit any more.

## Example
```yaml
team: nlp
image: vit
command: [torchrun, -m, vit.pretrain]
accelerators: H100:8
num_nodes: 3
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
args: [--tensor-model-parallel-size=8, --pipeline-model-parallel-size=4]
```

## Use instead
```yaml
team: nlp
image: vit
command: [torchrun, -m, vit.pretrain]
accelerators: H100:8
num_nodes: 4
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
args: [--tensor-model-parallel-size=8, --pipeline-model-parallel-size=4]
```

## References
- NVIDIA-NeMo/Speech#14838
- megatron/core/parallel_state.py: initialize_model_parallel
- torchtitan/distributed/parallel_dims.py: ParallelDims
"""

from collections.abc import Iterator, Mapping
from math import prod

from compiler.diagnostics import Severity
from compiler.launch import Launch, launches
from compiler.model import Run
from compiler.programs import training
from compiler.rules import Report, Rule
from compiler.scriptargs import Setting, last
from compiler.site import Site

RULE = Rule(
    code="LCH541",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "NVIDIA-NeMo/Speech#14838",
        "megatron/core/parallel_state.py: initialize_model_parallel",
        "torchtitan/distributed/parallel_dims.py: ParallelDims",
    ),
)

# What each framework calls a degree; a name stands in one column alone.
NAMES: dict[str, str] = {
    "tensor_model_parallel_size": "tp",
    "pipeline_model_parallel_size": "pp",
    "context_parallel_size": "cp",
    "tensor_parallel_degree": "tp",
    "pipeline_parallel_degree": "pp",
    "context_parallel_degree": "cp",
    "data_parallel_replicate_degree": "replicas",
    "data_parallel_shard_degree": "shards",
    "model_parallel_size": "tp",
    "pipe_parallel_size": "pp",
    "sequence_parallel_size": "sp",
    "ds_sequence_parallel_size": "sp",
    "expert_model_parallel_size": "ep",
    "expert_tensor_parallel_size": "etp",
}
# accelerate's own flags, before the script.
LAUNCHED: dict[str, str] = {
    "megatron_lm_tp_degree": "tp",
    "megatron_lm_pp_degree": "pp",
    "parallelism_config_tp_size": "tp",
    "parallelism_config_cp_size": "cp",
    "parallelism_config_sp_size": "sp",
}
MODEL = ("tp", "pp", "cp", "sp")
# Above this range only its ends and their neighbours are tried.
TRIED = 64


def check(run: Run, site: Site) -> Iterator[Report]:
    """The products that do not divide the number of processes."""
    first, others = run.first.processes, run.others.processes
    if run.first.devices is None or run.others.devices is None:
        # Without accelerators the number of processes is the launcher's own.
        return
    worlds = {nodes: first + others * (nodes - 1) for nodes in _sizes(run)}
    for member in run.members[:1]:
        container = training(run, member, site)
        if not container.holds("parallel") and not container.holds("megatron"):
            continue
        for launch in launches(container):
            if launch.launcher not in ("torchrun", "accelerate", "deepspeed"):
                continue
            for degrees in _groups(launch):
                report = _judge(run, worlds, degrees)
                if report is not None:
                    yield report


def _sizes(run: Run) -> list[int]:
    least, most = run.least_nodes, run.nodes
    if most - least <= TRIED:
        return list(range(least, most + 1))
    return [least, least + 1, most - 1, most]


def _groups(launch: Launch) -> Iterator[dict[str, Setting]]:
    """The degrees of each group of settings: one for each model that is configured."""
    found: dict[str, dict[str, Setting]] = {}
    for (group, name), setting in last(launch).items():
        if name in NAMES and setting.number is not None and setting.number >= 1:
            found.setdefault(group, {})[NAMES[name]] = setting
    for name, degree in LAUNCHED.items():
        flag = launch.flag(name)
        if flag is not None and flag.number is not None and flag.number >= 1:
            setting = Setting("", name, flag.value, flag.text, flag.word)
            found.setdefault("", {})[degree] = setting
    yield from found.values()


def _judge(run: Run, worlds: Mapping[int, int], degrees: Mapping[str, Setting]) -> Report | None:
    sizes = {name: setting.number or 1 for name, setting in degrees.items()}
    parts = [name for name in MODEL if name in sizes]
    if "shards" in sizes:
        parts += [name for name in ("replicas", "shards") if name in sizes]
    elif "replicas" in sizes:
        parts.append("replicas")
    exact = "shards" in sizes
    wrong = _misfits(prod(sizes[name] for name in parts), worlds, exact)
    if not wrong and "ep" in sizes:
        # The experts' tensor parallelism is that of the rest where it is not given.
        parts = ["etp" if "etp" in sizes else "tp", "ep", "pp"]
        parts = [name for name in parts if name in sizes]
        exact = False
        wrong = _misfits(prod(sizes[name] for name in parts), worlds, exact)
    if not wrong:
        return None
    product = prod(sizes[name] for name in parts)
    setting = max((degrees[name] for name in parts), key=lambda s: s.number or 0)
    shown = " x ".join(str(sizes[name]) for name in parts)
    shown = f"{shown} = {product}" if len(parts) > 1 else shown
    named = ", ".join(f"`{degrees[name].text}`" for name in parts)
    verb = "is not" if exact else "does not divide"
    message = f"{named}: {shown} {verb} the {_processes(run, worlds, wrong)}"
    related = [(degrees[name].word.route, "another degree") for name in parts]
    routes = {setting.word.route}
    others = [(route, note) for route, note in related if route not in routes]
    return Report(
        setting.word.route,
        message,
        _remedy(run, worlds, product, exact),
        tuple(dict.fromkeys([*others, *setting.word.related])),
        place=setting.word.place,
    )


def _misfits(product: int, worlds: Mapping[int, int], exact: bool) -> list[int]:
    return [n for n, world in worlds.items() if (world != product if exact else world % product)]


def _processes(run: Run, worlds: Mapping[int, int], wrong: list[int]) -> str:
    nodes = wrong[0]
    text = f"{worlds[nodes]} process" + ("" if worlds[nodes] == 1 else "es")
    if run.elastic is not None:
        return f"{text} of {nodes} node" + ("" if nodes == 1 else "s")
    devices = run.others.devices
    assert devices is not None
    if run.first is run.others or run.nodes == 1:
        count = f"{nodes} x " if nodes > 1 else ""
        return f"{text} of the run ({count}{devices.name}:{devices.count})"
    return f"{text} of the run"


def _remedy(run: Run, worlds: Mapping[int, int], product: int, exact: bool) -> str:
    advice = "change a degree"
    if run.elastic is not None:
        fitting = [n for n in worlds if n not in _misfits(product, worlds, exact)]
        if fitting and fitting == list(range(fitting[0], fitting[-1] + 1)):
            return f"{advice}, or write num_nodes: {{min: {fitting[0]}, max: {fitting[-1]}}}"
        return f"{advice}, or take a fixed number of nodes"
    each = run.others.processes
    if run.first is run.others and product % each == 0:
        times = 1 if exact else -(-run.nodes * each // product)
        return f"{advice}, or write num_nodes: {times * product // each}"
    return advice
