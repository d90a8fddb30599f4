"""What a person writes: the models of `jobs/*.yaml`, and the source of their JSON Schema.

Nearly every field is optional here: which ones a job needs is decided on the effective
declaration, after the layers below it (team, image, accelerator shape, base) have been merged in.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from compiler.fields import (
    AbsolutePath,
    ByShape,
    Capability,
    Command,
    Count,
    Cpu,
    Day,
    EnvName,
    Fields,
    Flag,
    Label,
    LabelValue,
    Lists,
    Mappings,
    Memory,
    OneOf,
    Port,
    PortName,
    QualifiedName,
    RelativePath,
    Scalars,
    Seconds,
    SecretRef,
    Shm,
    Subdomain,
    Text,
    UserId,
    VolumePath,
    Whole,
    described,
)
from compiler.names import Accelerators, ImageRef, RunRef

Pull = Annotated[Literal["always", "if-not-present", "never"], OneOf()]
ArgValue = Annotated[Annotated[Text, Scalars] | Annotated[list[Text], Lists], ByShape]
Args = Annotated[Annotated[list[Text], Lists] | Annotated[dict[Text, ArgValue], Mappings], ByShape]
# The pod passthrough is checked against the Kubernetes pod schema by its own rule, at its places.
Passthrough = Annotated[Any, WithJsonSchema({"type": "object"})]


class CpuBounds(Fields):
    """A request below its limit, where the two must differ."""

    request: Cpu = Field(description="What the scheduler reserves.")
    limit: Cpu = Field(description="What the container may use at most.")


class MemoryBounds(Fields):
    """A request below its limit, where the two must differ."""

    request: Memory = Field(description="What the scheduler reserves.")
    limit: Memory = Field(description="What the container may use at most.")


CpuField = Annotated[Annotated[Cpu, Scalars] | Annotated[CpuBounds, Mappings], ByShape]
MemoryField = Annotated[Annotated[Memory, Scalars] | Annotated[MemoryBounds, Mappings], ByShape]


class NodeRange(Fields):
    """Between how many nodes an elastic run goes on."""

    min: Count = Field(description="The run starts and goes on with this many nodes.")
    max: Count = Field(description="The run grows up to this many nodes.")


NumNodes = Annotated[Annotated[Count, Scalars] | Annotated[NodeRange, Mappings], ByShape]


class Elastic(Fields):
    """How an elastic run finds its nodes again (torchrun's rendezvous)."""

    backend: Annotated[Literal["c10d", "etcd", "etcd-v2"], OneOf()] | None = described(
        "The rendezvous backend; c10d needs no service."
    )
    endpoint: Text | None = described("host:port of etcd; with c10d there is none.")
    max_restarts: Whole | None = described(
        "How often torchrun restarts all processes before the run fails."
    )
    conf: dict[Text, Text] | None = described(
        "Further settings of the rendezvous, such as join_timeout."
    )


class Retry(Fields):
    """What happens when a node fails."""

    max: Whole | None = described(
        "How often the whole run may start over after a failure; 0 for never."
    )


class Stop(Fields):
    """How a run is stopped."""

    grace: Seconds | None = described("From SIGTERM to SIGKILL: the time for the last checkpoint.")


class Mount(Fields):
    """A volume at a path; exactly one of claim, config_map, secret and scratch."""

    claim: Subdomain | None = described("A PersistentVolumeClaim from the cluster's catalogue.")
    config_map: Subdomain | None = described("A ConfigMap of the team's namespace.")
    secret: Subdomain | None = described("A Secret of the team's namespace, as files.")
    scratch: Memory | None = described("An empty folder of at most this size, gone with the pod.")
    read_only: Flag | None = described("Mounted without the right to write.")
    sub_path: VolumePath | None = described("A folder within the volume.")


class Checkpoint(Fields):
    """Where the run saves itself, and how often."""

    claim: Subdomain | None = described("The claim that holds the checkpoints; mounted at `path`.")
    path: AbsolutePath | None = described("The folder under which each lineage has its own folder.")
    every: Seconds | None = described("How often a checkpoint is written.")
    keep: Count | None = described("How many checkpoints are kept.")
    from_: (
        Annotated[
            Annotated[RunRef, Scalars] | Annotated[dict[Label, RunRef], Mappings],
            ByShape,
        ]
        | None
    ) = described(
        "Start from the last checkpoint of an earlier run, such as r2; "
        "by cluster where they differ.",
        alias="from",
        examples=["r2"],
    )


class Topology(Fields):
    """How near to each other the nodes must be (a topology level of the cluster, by name)."""

    required: Text | None = described("All nodes within one domain of this level.")
    preferred: Text | None = described("All nodes within one domain of this level where possible.")


class Security(Fields):
    """Who the processes run as."""

    run_as_user: UserId | None = described("The user id of the processes.")
    run_as_group: UserId | None = described("The group id of the processes.")
    fs_group: UserId | None = described("The group that owns the mounted volumes.")
    non_root: Flag | None = described("The kubelet refuses to start the container as root.")
    capabilities: list[Capability] | None = described("Capabilities to add, such as IPC_LOCK.")
    service_account: Subdomain | None = described("The ServiceAccount of the pods.")
    service_account_token: Flag | None = described("Whether the pods get the account's token.")


class Waiver(Fields):
    """A rule that does not apply to this job for a while."""

    rule: Text = Field(description="The rule's name or code.")
    reason: Text = Field(description="Why it does not apply.")
    until: Day = Field(description="The last day of the waiver.")


class Container(Fields):
    """A container beside the training container, or before it."""

    name: Label = Field(description="The container's name; `pytorch` is the training container.")
    image: ImageRef = Field(description="A folder of images/, or a full reference with a digest.")
    command: Command | None = described("Program and arguments.")
    args: list[Text] | None = described("Arguments after the command.")
    env: dict[EnvName, Text] | None = described("Environment variables.")
    secrets: dict[EnvName, SecretRef] | None = described("Environment variables from Secrets.")
    cpu: CpuField | None = described("Cores.")
    memory: MemoryField | None = described("Memory.")
    ports: dict[PortName, Port] | None = described("Named ports.")
    mounts: dict[AbsolutePath, Mount] | None = described("Volumes by path.")


class Member(Fields):
    """What one node of the run is; also what `master:` may change on the first node."""

    image: ImageRef | None = described(
        "A folder of images/ (pinned in images/lock.yaml), or a full reference with a digest.",
        examples=["llm-sft"],
    )
    pull: Pull | None = described("When the kubelet pulls the image.")
    command: Command | None = described("Program and arguments; default: the image's entry.")
    args: Args | None = described(
        "Arguments: a list as written, or names and values of the image's own arguments."
    )
    working_dir: AbsolutePath | None = described("The folder in which the command starts.")
    env: dict[EnvName, Text] | None = described(
        "Environment variables; the text stays as it is written."
    )
    secrets: dict[EnvName, SecretRef] | None = described(
        "Environment variables from Secrets, as name/key."
    )
    accelerators: Accelerators | None = described(
        "Accelerators per node, NAME:COUNT from the cluster's catalogue.",
        examples=["H100:8"],
    )
    cpu: CpuField | None = described("Cores per node.")
    memory: MemoryField | None = described("Memory per node.")
    shm_size: Shm | None = described("Size of /dev/shm; 0 for none of our own.")
    ephemeral_storage: Memory | None = described("Local disk per node.")
    resources: dict[QualifiedName, Count] | None = described(
        "Further device resources per node, such as an RDMA device."
    )
    mounts: dict[AbsolutePath, Mount] | None = described("Volumes by path.")
    files: dict[AbsolutePath, RelativePath] | None = described(
        "Files of this repository, mounted read-only at a path."
    )
    ports: dict[PortName, Port] | None = described("Named ports of the training container.")
    sidecars: list[Container] | None = described("Containers beside the training container.")
    init: list[Container] | None = described("Containers that run before it.")
    security: Security | None = described("User, group and rights of the processes.")
    labels: dict[QualifiedName, LabelValue] | None = described("Labels of the pods.")
    annotations: dict[QualifiedName, Text] | None = described("Annotations of the pods.")
    placement: list[Label] | None = described("Placements of the cluster's catalogue, by name.")
    pod: Passthrough | None = described(
        "Fields of the Kubernetes pod template, merged in by the lists' keys."
    )


class Common(Member):
    """Every field that a job shares with the defaults of a team or an image."""

    master: Member | None = described("What differs on the first node.")
    num_nodes: NumNodes | None = described(
        "Number of nodes, or {min, max} for an elastic run.",
        examples=[4, {"min": 2, "max": 4}],
    )
    elastic: Elastic | None = described("Details of an elastic run.")
    queue: Subdomain | None = described("The queue of the cluster in which the run waits.")
    priority: Subdomain | None = described("A priority class of the cluster.")
    preemptible: Flag | None = described(
        "Whether the nodes may be taken back: the placement `preemptible` of the cluster."
    )
    topology: Topology | None = described("How near to each other the nodes must be.")
    max_duration: Seconds | None = described(
        "The run is stopped after this time.", examples=["24h"]
    )
    retry: Retry | None = described("What happens when a node fails.")
    stop: Stop | None = described("How a run is stopped.")
    checkpoint: Checkpoint | None = described("Where the run saves itself.")
    host_network: Flag | None = described("The pods use the node's own network.")
    pull_secrets: list[Subdomain] | None = described(
        "Secrets for private registries, beside those of the catalogue."
    )


class Declaration(Common):
    """One job: the whole content of a file under `jobs/`."""

    team: Label | None = described("The team that owns the job; default: the folder, jobs/<team>/.")
    description: Text | None = described("What is trained, for people.")
    owner: Text | None = described("Who answers for the job.")
    contact: Text | None = described("Where its owner is reached.")
    cluster: (
        Annotated[
            Annotated[Label, Scalars] | Annotated[list[Label], Field(min_length=1), Lists],
            ByShape,
        ]
        | None
    ) = described("The cluster or clusters; default: the team's default_cluster.")
    state: Annotated[Literal["running", "stopped"], OneOf()] | None = described(
        "`stopped` ends the run and keeps the file."
    )
    expires: Day | None = described("The last day of the declaration; after it the run ends.")
    was: Label | None = described("The job's former name; both names share one history.")
    rerun: (
        Annotated[Annotated[Count, Scalars] | Annotated[dict[Label, Count], Mappings], ByShape]
        | None
    ) = described("Raised by one to train again; by cluster where they differ.")
    waive: list[Waiver] | None = described("Rules that do not apply for a while.")
    max_cost: Count | None = described("The most that the run may cost, in the cluster's currency.")


class Defaults(Common):
    """Default values of a team or an image: every field of a job that may be shared."""
