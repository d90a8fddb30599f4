"""The neutral model: what will run, with no word of YAML or of Kubernetes.

Front ends make it, checks read it, back ends turn it into objects. Every value can be asked where
it came from: `Run.origins` knows the file and line of each field of the effective declaration,
whichever layer set it.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as MappingType
from functools import wraps
from typing import Any, Literal, TypeVar

from msgspec import Struct, field

from compiler.diagnostics import Place
from compiler.nodes import Mapping, Node, Scalar, descend
from compiler.quantity import Quantity

Route = tuple[str | int, ...]
T = TypeVar("T")
BUILT_IN = "(built-in)"


class Image(Struct, frozen=True):
    """The image of a container: what to write, and what it stands for."""

    reference: str
    name: str | None
    digest: str | None
    registry: str
    guard: Literal["native", "shell", "none"] = "shell"
    torch: str | None = None
    shell: bool = True
    example: bool = False


class Variable(Struct, frozen=True):
    """An environment variable: a text, or the key of a secret."""

    name: str
    value: str | None = None
    secret: str | None = None
    key: str | None = None


class Bounds(Struct, frozen=True):
    """What is reserved, and what may be used at most."""

    request: Quantity
    limit: Quantity


class Devices(Struct, frozen=True):
    """The accelerators of one node: name in the catalogue, resource in the cluster, how many."""

    name: str
    resource: str
    count: int


class Mount(Struct, frozen=True):
    """A volume at a path of the container."""

    path: str
    kind: Literal["claim", "config_map", "secret", "scratch"]
    source: str
    size: Quantity | None = None
    read_only: bool = False
    sub_path: str | None = None


class File(Struct, frozen=True):
    """A file of the repository at a path of the container."""

    path: str
    source: str
    content: bytes
    digest: str


class Companion(Struct, frozen=True):
    """A container beside the training container, or before it."""

    name: str
    image: Image
    command: tuple[str, ...] | None
    args: tuple[str, ...]
    env: tuple[Variable, ...]
    cpu: Bounds | None
    memory: Bounds | None
    ports: tuple[tuple[str, int], ...]
    mounts: tuple[Mount, ...]


class Security(Struct, frozen=True):
    """Who the processes run as; None where the image or the cluster decides."""

    run_as_user: int | None = None
    run_as_group: int | None = None
    fs_group: int | None = None
    non_root: bool | None = None
    capabilities: tuple[str, ...] = ()
    service_account: str | None = None
    service_account_token: bool = False


class Placement(Struct, frozen=True):
    """Nodes asked for by name: their labels, and the taints to tolerate."""

    labels: MappingType[str, str] = field(default_factory=dict)  # type: ignore[assignment]
    tolerations: tuple[MappingType[str, str], ...] = ()


class Member(Struct, frozen=True):
    """One kind of node of the run: the first node, or the others."""

    image: Image
    pull: str
    command: tuple[str, ...] | None
    args: tuple[str, ...]
    working_dir: str | None
    env: tuple[Variable, ...]
    devices: Devices | None
    cpu: Bounds | None
    memory: Bounds | None
    shm: Quantity | None
    storage: Quantity | None
    resources: tuple[tuple[str, int], ...]
    mounts: tuple[Mount, ...]
    files: tuple[File, ...]
    ports: tuple[tuple[str, int], ...]
    sidecars: tuple[Companion, ...]
    init: tuple[Companion, ...]
    security: Security
    labels: tuple[tuple[str, str], ...]
    annotations: tuple[tuple[str, str], ...]
    placement: Placement
    pod: MappingType[str, Any]

    @property
    def words(self) -> tuple[str, ...]:
        """Command and arguments together, as the process gets them."""
        return (*(self.command or ()), *self.args)

    @property
    def processes(self) -> int:
        """Training processes on one node: one per accelerator, one on CPUs."""
        return self.devices.count if self.devices else 1


class Elastic(Struct, frozen=True):
    """How many nodes an elastic run may have, and how they find each other."""

    min: int
    max: int
    backend: str
    max_restarts: int
    endpoint: str | None
    conf: tuple[tuple[str, str], ...]


class Checkpoint(Struct, frozen=True):
    """Where the run saves itself; `every` in seconds, `resume` the run to start from."""

    claim: str | None
    path: str
    every: int | None
    keep: int | None
    resume: str | None


class Topology(Struct, frozen=True):
    """The topology level within which the nodes must (or should) be, as its node label."""

    label: str
    required: bool


class Identity(Struct, frozen=True):
    """Which run this is.

    `lineage` is the number of the first run that it shares its checkpoint folder with (None: its
    own), `folder` that folder where it is not the usual one, `source` the commit that it is of.
    `resumed` is the checkpoint folder of the run named by `checkpoint: {from: rN}`, where it is not
    simply that run's own.
    """

    job: str
    team: str
    cluster: str
    number: int
    namespace: str
    lineage: int | None = None
    folder: str | None = None
    source: str = "unpublished"
    resumed: str | None = None

    @property
    def name(self) -> str:
        """The object's name."""
        return f"{self.job}-r{self.number}"

    @property
    def first(self) -> int:
        """The number of the first run of the lineage."""
        return self.number if self.lineage is None else self.lineage


class Origins:
    """Where each field of an effective declaration stands.

    `effective` is the tree of nodes that all layers were merged into: each node still has the
    file and line of the layer that set it.
    """

    __slots__ = ("anchor", "effective", "master")

    def __init__(self, effective: Mapping, master: Mapping | None, anchor: Place) -> None:
        self.effective = effective
        self.master = master
        self.anchor = anchor

    def node(self, route: Route) -> Node | None:
        """The node at a route, None where no layer sets it."""
        root: Node = self.effective
        if route[:1] == ("master",) and self.master is not None:
            root, route = self.master, route[1:]
        found, complete = descend(root, route)
        return found if complete else None

    def place(self, route: Route, key: bool = False) -> Place:
        """The authored place of a route, or of the nearest thing around it that is written down.

        A field that only has a built-in value has no line of its own: the anchor (the start of the
        declaration) stands for it.
        """
        root: Node = self.effective
        # The block itself stands among the other fields; what it changes is in a tree of its own.
        if route[:1] == ("master",) and route[1:] and self.master is not None:
            root, route = self.master, route[1:]
        while route:
            found, complete = descend(root, route, key)
            if complete and found.path != BUILT_IN:
                return found.place
            route, key = route[:-1], True
        return self.anchor

    def set(self, route: Route) -> bool:
        """Whether a layer above the built-in one sets this route."""
        node = self.node(route)
        return node is not None and node.path != BUILT_IN


class Run(Struct, frozen=True, eq=False):
    """One effective run of a job on a cluster.

    `first` is the node of rank 0, `others` the rest; both are the same member where nothing
    differs. `nodes` counts all nodes, the first included (for an elastic run: the most).
    """

    identity: Identity
    path: str
    first: Member
    others: Member
    nodes: int
    elastic: Elastic | None
    queue: str | None
    priority: str | None
    preemptible: bool | None
    topology: Topology | None
    max_duration: int | None
    retries: int
    grace: int
    checkpoint: Checkpoint | None
    host_network: bool
    pull_secrets: tuple[str, ...]
    stopped: bool
    rerun: int
    max_cost: int | None
    origins: Origins

    def __eq__(self, other: object) -> bool:
        """Whether both are the same run, wherever its values were written."""
        if not isinstance(other, Run):
            return NotImplemented
        names = (name for name in self.__struct_fields__ if name != "origins")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None  # type: ignore[assignment]

    @property
    def members(self) -> tuple[Member, ...]:
        """The different kinds of node: one, or two where `master:` changes the first."""
        if self.nodes == 1 or self.first is self.others:
            return (self.first,)
        return (self.first, self.others)

    def routes(self, member: Member, *route: str | int) -> Route:
        """The route of a field of a member, in the declaration's words."""
        if member is self.first and self.first is not self.others:
            return ("master", *route)
        return tuple(route)

    @property
    def least_nodes(self) -> int:
        """The nodes without which the run cannot start."""
        return self.elastic.min if self.elastic else self.nodes

    @property
    def accelerators(self) -> int:
        """Accelerators over all nodes, at the most."""
        first = self.first.devices.count if self.first.devices else 0
        others = self.others.devices.count if self.others.devices else 0
        return first + others * (self.nodes - 1)

    @property
    def world_size(self) -> int:
        """Training processes over all nodes, at the most."""
        return self.first.processes + self.others.processes * (self.nodes - 1)


def for_the_run(ask: Callable[[Run, Member], T]) -> Callable[[Run, Member], T]:
    """A function that keeps its answers for the run at hand.

    Many rules ask the same of one run, in turn; nobody may change what they get.
    """
    known: list[tuple[Run, Member, T]] = []

    @wraps(ask)
    def answer(run: Run, member: Member) -> T:
        for of_run, of_member, found in known:
            if of_run is run and of_member is member:
                return found
        found = ask(run, member)
        known[:] = [entry for entry in known if entry[0] is run]
        known.append((run, member, found))
        return found

    return answer


def scalar(text: str, like: Node | None = None, path: str = BUILT_IN) -> Scalar:
    """A scalar that stands where `like` stands (a value computed from it), or is built in."""
    node = Scalar(text)
    node.style = ""
    node.path = like.path if like is not None else path
    node.line = like.line if like is not None else 1
    node.column = like.column if like is not None else 1
    node.end_line = like.end_line if like is not None else 1
    node.end_column = like.end_column if like is not None else 1
    return node


def mapping(entries: dict[Any, Any], like: Node | None = None, path: str = BUILT_IN) -> Mapping:
    """A mapping that stands where `like` stands, or is built in."""
    node = Mapping(entries)
    node.flow = False
    node.path = like.path if like is not None else path
    node.line = like.line if like is not None else 1
    node.column = like.column if like is not None else 1
    node.end_line = like.end_line if like is not None else 1
    node.end_column = like.end_column if like is not None else 1
    return node
