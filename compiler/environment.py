"""Which variables a process finds in its environment, for each shape of a run.

This is the one place that knows: the rules about launching ask it, `docs/environment.md` is
written from it, and a rehearsal gives a process the same values. What the operator adds was read
in training-operator 1.9.4, pkg/controller.v1/pytorch/{envvar,master,elastic}.go; what torchrun
adds in torch 2.13, distributed/elastic/agent/server/local_elastic_agent.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from compiler.backends.pytorchjob import port
from compiler.model import Run

Shape = Literal["job", "one-node", "static", "elastic"]
SHAPES: dict[Shape, str] = {
    "job": "a batch Job on one node",
    "one-node": "a PyTorchJob on one node",
    "static": "a run on several nodes",
    "elastic": "an elastic run",
}
_OPERATED: tuple[Shape, ...] = ("one-node", "static", "elastic")
_MASTERED: tuple[Shape, ...] = ("one-node", "static")


class Provided(Struct, frozen=True):
    """A variable that is added for a run: where it exists, what it holds, and that in words.

    `meaning` is one text, or one for each shape. `value` gets the run and the index of the node (0
    is the first); None where this run has none.
    """

    name: str
    shapes: tuple[Shape, ...]
    meaning: str | dict[Shape, str]
    value: Callable[[Run, int], str | None]


def _conf(run: Run) -> str | None:
    assert run.elastic is not None
    return ",".join(f"{key}={value}" for key, value in run.elastic.conf) or None


def _endpoint(run: Run) -> str:
    assert run.elastic is not None
    if run.elastic.endpoint is None:
        return f"{run.identity.name}-worker-0:{port(run)}"
    host, _, number = run.elastic.endpoint.rpartition(":")
    return (
        f"{host}:{number}" if host and number.isdigit() else f"{run.elastic.endpoint}:{port(run)}"
    )


def _elastic(field: str) -> Callable[[Run, int], str]:
    def value(run: Run, node: int) -> str:
        return str(getattr(run.elastic, field))

    return value


def _nodes(run: Run, node: int) -> str:
    return f"{run.elastic.min}:{run.elastic.max}" if run.elastic else str(run.nodes)


# In the order in which the operator appends them.
PROVIDED: tuple[Provided, ...] = (
    Provided("PYTHONUNBUFFERED", _OPERATED, "`1`", lambda run, node: "1"),
    Provided(
        "MASTER_PORT",
        _MASTERED,
        "`23456`, or one of its own",
        lambda run, node: str(port(run)),
    ),
    Provided("PET_MASTER_PORT", _MASTERED, "the same", lambda run, node: str(port(run))),
    Provided(
        "MASTER_ADDR",
        _MASTERED,
        "`<run>-master-0`",
        lambda run, node: f"{run.identity.name}-master-0",
    ),
    Provided(
        "PET_MASTER_ADDR",
        _MASTERED,
        "the same",
        lambda run, node: f"{run.identity.name}-master-0",
    ),
    Provided(
        "WORLD_SIZE",
        _MASTERED,
        {"one-node": "accelerators, or `1`", "static": "processes over all nodes"},
        lambda run, node: str(run.nodes * run.others.processes),
    ),
    Provided(
        "RANK",
        _MASTERED,
        {"one-node": "`0`", "static": "index of the *node*, `0` for the first"},
        lambda run, node: str(node),
    ),
    Provided("PET_NODE_RANK", _MASTERED, "the same", lambda run, node: str(node)),
    Provided(
        "PET_NPROC_PER_NODE",
        ("job", *_OPERATED),
        "accelerators of a node, or `1`",
        lambda run, node: str(run.others.processes),
    ),
    Provided(
        "PET_RDZV_ENDPOINT",
        ("elastic",),
        "`<run>-worker-0:23456`, or `endpoint`",
        lambda run, node: _endpoint(run),
    ),
    Provided("PET_RDZV_BACKEND", ("elastic",), "`backend`, or `c10d`", _elastic("backend")),
    Provided(
        "PET_NNODES",
        ("job", *_OPERATED),
        {"job": "`1`", "one-node": "`1`", "static": "number of nodes", "elastic": "`min:max`"},
        _nodes,
    ),
    Provided("PET_MAX_RESTARTS", ("elastic",), "`max_restarts`, or `3`", _elastic("max_restarts")),
    Provided("PET_RDZV_ID", ("elastic",), "the run's name", lambda run, node: run.identity.name),
    Provided(
        "PET_RDZV_CONF",
        ("elastic",),
        "`conf` as `key=value,...`, if any",
        lambda run, node: _conf(run),
    ),
)
PROVIDED_NAMES = frozenset(provided.name for provided in PROVIDED)

# Written by the compiler at the start of the training container's own variables.
IDENTITY: dict[str, str] = {
    "RUN_NAME": "name of the run, `<job>-r<number>`: the object's own name",
    "RUN_NUMBER": "number of the run within its job",
    "RUN_LINEAGE": "first run of the lineage, whose checkpoints this one goes on from",
    "SOURCE_COMMIT": "commit of the declarations that started the run",
    "CHECKPOINT_DIR": "folder of the lineage's checkpoints; only with `checkpoint:`",
    "CHECKPOINT_EVERY": "seconds between two checkpoints; only with `checkpoint: {every: ...}`",
    "CHECKPOINT_KEEP": "how many checkpoints to keep; only with `checkpoint:`",
    "CHECKPOINT_FROM": "folder to start from; only with `checkpoint: {from: rN}`",
}

# What torchrun gives each process that it starts, over whatever was there before.
LAUNCHED: dict[str, str] = {
    "RANK": "rank of the process over all nodes",
    "LOCAL_RANK": "rank of the process on its node; the index of its accelerator",
    "WORLD_SIZE": "processes over all nodes",
    "LOCAL_WORLD_SIZE": "processes on this node",
    "GROUP_RANK": "rank of the node",
    "GROUP_WORLD_SIZE": "number of nodes",
    "ROLE_RANK": "rank among the processes of the same role",
    "ROLE_WORLD_SIZE": "processes of the same role",
    "MASTER_ADDR": "host of rank 0",
    "MASTER_PORT": "port of rank 0",
    "TORCHELASTIC_RESTART_COUNT": "how often all processes were started again",
    "TORCHELASTIC_MAX_RESTARTS": "how often they may be",
    "TORCHELASTIC_RUN_ID": "id of the rendezvous",
}

# The kubelet adds these for the API server's Service in every pod, before the pod's own.
_CLUSTER = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_SERVICE_PORT_HTTPS")
CLUSTER_NAMES = frozenset(_CLUSTER)


def shape(run: Run, backend: str) -> Shape:
    """The shape in which a back end starts a run."""
    if backend == "job":
        return "job"
    if run.elastic is not None:
        return "elastic"
    return "one-node" if run.nodes == 1 else "static"


def added(run: Run, backend: str, node: int = 0) -> dict[str, str]:
    """The variables that operator or back end add on one node, with values, in their order."""
    kind = shape(run, backend)
    values = {
        provided.name: provided.value(run, node) for provided in PROVIDED if kind in provided.shapes
    }
    return {name: value for name, value in values.items() if value is not None}


def identity_names(run: Run) -> frozenset[str]:
    """The identity variables that the training container of this run has."""
    checkpoint = run.checkpoint
    absent = {
        "CHECKPOINT_DIR": checkpoint is None,
        "CHECKPOINT_EVERY": checkpoint is None or checkpoint.every is None,
        "CHECKPOINT_KEEP": checkpoint is None or checkpoint.keep is None,
        "CHECKPOINT_FROM": checkpoint is None or checkpoint.resume is None,
    }
    return frozenset(name for name in IDENTITY if not absent.get(name, False))


def reaches(backend: str, kind: str) -> bool:
    """Whether the added variables reach a kind of container.

    The operator adds them to all of the pod's `containers` and to none of its `initContainers`,
    which the sidecars of a job are; a batch Job has them in the training container alone.
    """
    return kind == "training" or (backend == "pytorchjob" and kind == "plain")


def table() -> str:
    """The variables of each shape as a Markdown table, in the operator's order."""
    heads = [
        f"{name[0].upper()}{name[1:]}".removeprefix("A ").removeprefix("An ")
        for name in SHAPES.values()
    ]
    heads = [head[0].upper() + head[1:] for head in heads]
    lines = ["| Variable | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for provided in PROVIDED:
        cells = [_cell(provided, kind) for kind in SHAPES]
        lines.append(f"| `{provided.name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(provided: Provided, kind: Shape) -> str:
    if kind not in provided.shapes:
        return "–"
    return provided.meaning if isinstance(provided.meaning, str) else provided.meaning[kind]


def listing(variables: dict[str, str]) -> str:
    """Names and their meanings as a Markdown table."""
    rows = [f"| `{name}` | {meaning} |" for name, meaning in variables.items()]
    return "\n".join(["| Variable | Holds |", "|---|---|", *rows]) + "\n"
