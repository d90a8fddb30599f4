"""`policy/clusters/<cluster>.yaml`: what a cluster has, and what it costs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from compiler.fields import (
    DEVICE,
    AbsolutePath,
    Capability,
    Count,
    Cpu,
    DeviceName,
    EnvName,
    Fields,
    Flag,
    Form,
    Label,
    LabelValue,
    Memory,
    OneOf,
    Price,
    QualifiedName,
    Reads,
    RegistryPath,
    Shm,
    Subdomain,
    Text,
    Whole,
    described,
    matching,
)
from compiler.names import ImageRef
from compiler.policy.sync import Sync

_VERSION = r"v?[0-9]+(\.[0-9]+){0,2}([-+][0-9A-Za-z.-]+)?"
Version = Annotated[
    str,
    Reads(
        matching(
            _VERSION,
            "a version",
            "write a version such as 1.9.4",
        ),
        Form(_VERSION, examples=["1.9.4"]),
    ),
]
_ACCELERATOR = r"[A-Za-z][A-Za-z0-9._-]{0,62}"
AcceleratorName = Annotated[
    str,
    Reads(
        matching(
            _ACCELERATOR,
            "an accelerator's name",
            "write a name such as H100 or A100-80GB",
        ),
        Form(_ACCELERATOR),
    ),
]
BackendName = Annotated[Literal["pytorchjob", "job"], OneOf()]
Access = Annotated[
    Literal["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"], OneOf()
]


_INTERFACE = r"[^\s/]+"
Interface = Annotated[
    str,
    Reads(
        matching(
            _INTERFACE, "the name of an interface", "write it as `ip link` does, such as eth0"
        ),
        Form(_INTERFACE),
    ),
]
_COVERED = rf"{DEVICE}|cpu|memory|pods|ephemeral-storage|hugepages-[0-9]+[KMG]i"
Covered = Annotated[
    str,
    Reads(
        matching(
            _COVERED,
            "a resource that pods request",
            "write prefix/name as the device plugin calls it, or ephemeral-storage",
            longest=317,
        ),
        Form(_COVERED, longest=317),
    ),
]


class Versions(Fields):
    """What runs in the cluster; checks and back ends follow it."""

    kubernetes: Version | None = described("The API server.")
    training_operator: Version | None = described(
        "Kubeflow's training operator, which runs PyTorchJobs."
    )
    trainer: Version | None = described("Kubeflow Trainer, which runs TrainJobs.")
    kueue: Version | None = described("Kueue, which admits runs.")
    argo_cd: Version | None = described("Argo CD, where it is the syncer.")
    flux: Version | None = described("Flux's kustomize-controller, where it is the syncer.")


class Backends(Fields):
    """Which kind of object runs what."""

    single_node: BackendName = Field(description="For runs on one node.")
    multi_node: BackendName = Field(description="For runs on several nodes.")


class Node(Fields):
    """What one node offers to pods."""

    cpu: Cpu = Field(description="Allocatable cores.")
    memory: Memory = Field(description="Allocatable memory.")
    pods: Count | None = described("The most pods; Kubernetes' own default is 110.")
    reserved_cpu: Cpu | None = described(
        "Cores that system pods (daemon sets) request on every node."
    )
    reserved_memory: Memory | None = described("Memory that system pods request on every node.")
    reserved_pods: Count | None = described("How many system pods every node runs.")


class PerAccelerator(Fields):
    """What a job gets for each accelerator where it does not say."""

    cpu: Cpu | None = described("Cores.")
    memory: Memory | None = described("Memory.")
    shm_size: Shm | None = described("Size of /dev/shm.")


class MultiNode(Fields):
    """What runs on several nodes get in addition: the cluster's fast network."""

    env: dict[EnvName, Text] | None = described("Such as NCCL_IB_HCA.")
    resources: dict[DeviceName, Count] | None = described(
        "Device resources per node, such as an RDMA device."
    )
    annotations: dict[QualifiedName, Text] | None = described(
        "Pod annotations, such as a secondary network."
    )
    capabilities: list[Capability] | None = described(
        "Such as IPC_LOCK, for memory that RDMA registers."
    )


class Toleration(Fields):
    """A taint of some nodes, which pods tolerate."""

    key: QualifiedName = Field(description="The taint's key.")
    value: LabelValue | None = described("The taint's value; without it any value.")
    effect: Annotated[Literal["NoSchedule", "PreferNoSchedule", "NoExecute"], OneOf()] | None = (
        described("The taint's effect; without it every effect.")
    )


class Accelerator(Fields):
    """A kind of accelerator of the cluster."""

    resource: DeviceName = Field(
        description="The resource that pods request, such as nvidia.com/gpu.",
        examples=["nvidia.com/gpu"],
    )
    per_node: Count = Field(description="How many a node has.")
    nodes: Count = Field(description="How many such nodes there are.")
    node: Node = Field(description="What one of these nodes offers.")
    price: Price | None = described("Price of one for an hour.")
    memory: Memory | None = described("Memory of one accelerator.")
    flavor: Subdomain | None = described("The Kueue ResourceFlavor of these nodes.")
    node_labels: dict[QualifiedName, LabelValue] | None = described("Labels of these nodes.")
    taints: list[Toleration] | None = described(
        "Taints of these nodes; runs that ask for them tolerate them."
    )
    per_accelerator: PerAccelerator | None = described(
        "Defaults of a job, for each accelerator it asks for."
    )
    env: dict[EnvName, Text] | None = described("Environment variables of every run on it.")
    multi_node: MultiNode | None = described("What runs on several nodes get in addition.")
    partial: Flag | None = described(
        "Whether several nodes may each use fewer than all accelerators of a node."
    )


class CpuNodes(Fields):
    """The nodes without accelerators."""

    nodes: Count = Field(description="How many there are.")
    node: Node = Field(description="What one of them offers.")
    price: Price | None = described("Price of one core for an hour.")
    flavor: Subdomain | None = described("The Kueue ResourceFlavor of these nodes.")
    node_labels: dict[QualifiedName, LabelValue] | None = described("Labels of these nodes.")
    taints: list[Toleration] | None = described(
        "Taints of these nodes; runs that ask for them tolerate them."
    )


class Queue(Fields):
    """A queue that jobs name: a LocalQueue in each team's namespace over one ClusterQueue."""

    cluster_queue: Subdomain = Field(description="The ClusterQueue behind it.")
    accelerators: list[AcceleratorName] | None = described(
        "The accelerators it covers; default: all of the cluster."
    )
    resources: list[Covered] | None = described(
        "Further resources that the ClusterQueue covers (RDMA devices and the like)."
    )
    cpu_only: Flag | None = described(
        "Whether runs without accelerators may wait here; default true."
    )


class Claim(Fields):
    """A PersistentVolumeClaim that jobs may mount, by name, in every team's namespace."""

    access: Access = Field(description="The access mode of the volume.")
    read_only: Flag | None = described("Jobs may only read it.")
    description: Text | None = described("What it holds.")


class Registry(Fields):
    """A registry (or a part of one) that images may come from."""

    pull_secret: Subdomain | None = described(
        "The Secret with its credentials, in every team's namespace."
    )


class Network(Fields):
    """How the pods talk to one another."""

    interface: Interface | None = described(
        "The interface between nodes, for NCCL and gloo.", examples=["eth0"]
    )
    interfaces: list[Interface] | None = described(
        "Every interface that a node has, where a job may name others."
    )
    istio: Flag | None = described("Whether the mesh injects sidecars; training pods then opt out.")


class Placement(Fields):
    """Nodes that jobs may ask for by this name."""

    description: Text | None = described("Which nodes these are.")
    node_labels: dict[QualifiedName, LabelValue] | None = described(
        "Labels that the nodes must have."
    )
    tolerations: list[Toleration] | None = described("Taints of the nodes.")


class TopologyLevel(Fields):
    """A level of the cluster's topology, such as a rack."""

    label: QualifiedName = Field(description="The node label of the level.")


class Cohort(Fields):
    """Teams that lend their idle quota to one another before others get it."""

    parent: Label | None = described("The cohort that it is part of; default: the whole cluster.")
    description: Text | None = described("Who is in it.")


class Cluster(Fields):
    """One cluster."""

    description: Text | None = described("Which cluster this is.")
    versions: Versions | None = described("What runs in the cluster.")
    backend: Backends = Field(description="Which kind of object runs what.")
    admission: Annotated[Literal["kueue", "ledger"], OneOf()] | None = described(
        "Who makes runs wait: kueue (default) or the ledger."
    )
    kueue_objects: Flag | None = described(
        "Whether publish writes Kueue's flavors, quotas, queues and the priority classes from this "
        "file; default true."
    )
    currency: Text | None = described("The currency of prices.", examples=["USD"])
    accelerators: dict[AcceleratorName, Accelerator] | None = described(
        "The accelerators, by the name that jobs use."
    )
    cpu_nodes: CpuNodes | None = described("The nodes without accelerators.")
    queues: dict[Subdomain, Queue] | None = described("The queues, by the name that jobs use.")
    cohorts: dict[Label, Cohort] | None = described(
        "Groups of teams, inside which idle quota is lent first, by the name that teams use."
    )
    priorities: dict[Subdomain, Whole] | None = described("The priority classes and their values.")
    claims: dict[Subdomain, Claim] | None = described("The claims that jobs may mount.")
    registries: dict[RegistryPath, Registry] | None = described(
        "The registries that images may come from, as host or host/path."
    )
    network: Network | None = described("How the pods talk to one another.")
    placements: dict[Label, Placement] | None = described("Nodes that jobs may ask for by name.")
    topology: dict[Label, TopologyLevel] | None = described(
        "The levels of the cluster's topology, from the widest to the narrowest, by the name that "
        "jobs use."
    )
    init_image: ImageRef | None = described(
        "The image of the operator's own init container, for clusters without a public registry."
    )
    node_local_paths: list[AbsolutePath] | None = described("Host paths that `pod:` may mount.")
    pod_security: Annotated[Literal["privileged", "baseline", "restricted"], OneOf()] | None = (
        described("The Pod Security level of the teams' namespaces.")
    )
    sync: Sync | None = described(
        "What makes the published tree true on the cluster; without it nothing is written for that."
    )
