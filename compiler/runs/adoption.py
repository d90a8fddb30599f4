"""Taking in what ran before: a live PyTorchJob becomes r1 of a job, with its own name and bytes.

`adopt` writes the object down in `policy/adopted/`, where it is reviewed; the first publish after
that puts it into the ledger as r1. It is the declaration of that moment that counts as what it
trains, so nothing starts and nothing stops. From then on the file says nothing any more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from compiler.diagnostics import CompilerError
from compiler.nodes import Mapping as Tree
from compiler.nodes import Node, Scalar
from compiler.overlay import API, NOTICE
from compiler.project import Project
from compiler.repository import Document
from compiler.runs.declared import Declared, Facts, Key
from compiler.runs.entries import Entry, Ledger, Moment
from compiler.runs.standing import CONTAINER, Object, kind_of, part, parts, standing, word
from compiler.yamlout import LOST_BY_KUSTOMIZE, dump

KIND = ("kubeflow.org", "PyTorchJob")
# Marks of whoever applied the object so far: kept, they would go on claiming it.
_FOREIGN = ("kustomize.toolkit.fluxcd.io/", "argocd.argoproj.io/", "kubectl.kubernetes.io/last-")
_RUN_NAME = re.compile(r"(?P<job>.+)-r(?P<number>[0-9]+)")


def adopted(item: Object, team: str, job: str, namespace: str) -> dict[str, Any]:
    """What is kept of a live object; raises CompilerError where it cannot be r1 of the job.

    Name, labels, annotations and spec stay. What the cluster adds goes, and so does `suspend`,
    which is Kueue's to say.
    """
    metadata = part(item, "metadata")
    name = word(metadata, "name")
    if kind_of(item) != KIND or not name:
        shown = word(item, "kind") or "something without a kind"
        raise CompilerError(f"this is {shown}, and only a PyTorchJob can be adopted")
    if word(metadata, "namespace") != namespace:
        raise CompilerError(
            f"{name} is in the namespace {word(metadata, 'namespace')}, and the team {team} has "
            f"{namespace}",
            "a run stays where it is: adopt it for a job of the team that owns the namespace",
        )
    if "runwright/run" in part(metadata, "annotations"):
        raise CompilerError(f"{name} is a run already", "restore its ledger instead")
    looks = _RUN_NAME.fullmatch(name)
    if looks is not None and (looks["job"], looks["number"]) != (job, "1"):
        raise CompilerError(
            f"{name} has the name of run {looks['number']} of the job {looks['job']}",
            "a number is used once: let it end, and declare the job anew",
        )
    if metadata.get("deletionTimestamp") or standing(item, (), ()).outcome != "running":
        raise CompilerError(f"{name} has ended, or is being deleted: there is nothing to adopt")
    spec = dict(part(item, "spec"))
    if not part(spec, "pytorchReplicaSpecs"):
        raise CompilerError(f"{name} has no pytorchReplicaSpecs")
    policy = {k: v for k, v in part(spec, "runPolicy").items() if k != "suspend"}
    spec = {**spec, "runPolicy": policy} if "runPolicy" in spec else spec
    kept: dict[str, Any] = {"name": name, "namespace": namespace}
    for field in ("labels", "annotations"):
        marks = {k: v for k, v in part(metadata, field).items() if not k.startswith(_FOREIGN)}
        if marks:
            kept[field] = marks
    made = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": kept, "spec": spec}
    _refuse_unprintable(name, made)
    return made


def _refuse_unprintable(name: str, value: object) -> None:
    """Refuse what would not come through kustomize letter for letter."""
    if isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            _refuse_unprintable(name, key)
            _refuse_unprintable(name, inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            _refuse_unprintable(name, inner)
    elif isinstance(value, str):
        if LOST_BY_KUSTOMIZE.search(value) or re.search("[\ud800-\udfff]", value):
            raise CompilerError(f"{name} holds text that kustomize would change: {value[:40]!r}")
    elif isinstance(value, float) or (type(value) is int and not -(2**63) <= value < 2**63):
        raise CompilerError(f"{name} holds a number that readers round: {value}")


def checkpoint_dir(item: Object, path: str | None) -> str | None:
    """Where an object keeps its checkpoints: its CHECKPOINT_DIR, else `path` if that is mounted.

    None where neither tells: then nothing can go on from it.
    """
    roles = part(part(item, "spec"), "pytorchReplicaSpecs")
    for role in ("Master", "Worker"):
        pod = part(part(part(roles, role), "template"), "spec")
        for container in parts(pod, "containers"):
            if container.get("name") != CONTAINER:
                continue
            for variable in parts(container, "env"):
                value = word(variable, "value")
                if variable.get("name") == "CHECKPOINT_DIR":
                    # One that is put together in the pod is not known here.
                    return value if value.startswith("/") and "$(" not in value else None
            mounted = {word(mount, "mountPath") for mount in parts(container, "volumeMounts")}
            if path is not None and path in mounted:
                return path
    return None


def text_of(cluster: str, folder: str | None, found: Mapping[str, Any]) -> str:
    """The file of `policy/adopted/`, with a line that says what it is for."""
    head = (
        "# Runs since before its job was declared. The first publish takes it in as r1, under its\n"
        "# own name and unchanged; after that this file says nothing any more.\n"
    )
    fields: dict[str, Any] = {"cluster": cluster}
    if folder is not None:
        fields["checkpoint_dir"] = folder
    return head + dump({**fields, "object": dict(found)})


def typed(node: Node) -> Any:
    """The value of a node as `compiler.yamlout` prints it: text is quoted, the rest is bare."""
    if isinstance(node, Tree):
        return {str(key): typed(value) for key, value in node.items()}
    if not isinstance(node, Scalar):
        return [typed(inner) for inner in node]
    text = str(node)
    if not node.plain:
        return text
    if node.empty:
        return None
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch("-?(0|[1-9][0-9]*)", text) else text


def with_adopted(
    project: Project, ledgers: Mapping[Key, Ledger], declared: Sequence[Declared], facts: Facts
) -> tuple[dict[Key, Ledger], list[Declared]]:
    """The ledgers and declarations of a publish, with what is to be taken in as r1.

    Only a job without any run takes one in. Where the file of `policy/adopted/` cannot be read, the
    job is left as it is: it must not start beside what runs already.
    """
    books, jobs = dict(ledgers), list(declared)
    for at, job in enumerate(jobs):
        if job.key in books and books[job.key].runs:
            continue
        path = f"policy/adopted/{job.team}/{job.job}.yaml"
        document = project.policy.adopted.get(f"{job.team}/{job.job}")
        if path in project.policy.broken:
            unusable = f"{path} is unreadable: it says what runs already"
            jobs[at] = Declared(
                *job.key, job.path, unusable=job.unusable or unusable, order=job.order
            )
        elif document is not None:
            entry = _entry(job, document.value.cluster, document, facts)
            if entry is not None:
                books[job.key] = Ledger(job.team, job.job, (entry,))
    return books, jobs


def _entry(job: Declared, cluster: str, document: Document[Any], facts: Facts) -> Entry | None:
    """The run as the ledger remembers it; None where the declaration does not name its cluster."""
    target = job.targets.get(cluster)
    if target is None:
        return None
    item = object_of(document)
    inputs = {"image": target.image, "image_name": target.image_name, "compiler": facts.compiler}
    return Entry(
        number=1,
        cluster=cluster,
        name=word(part(item, "metadata"), "name"),
        namespace=word(part(item, "metadata"), "namespace"),
        state="active",
        training=target.training,
        operation=target.operation,
        lineage=1,
        listed=True,
        checkpoint_dir=document.value.checkpoint_dir,
        declared=job.text,
        inputs={name: value for name, value in inputs.items() if value},
        files=dict(job.files),
        started=Moment(facts.now.isoformat(), facts.source, "adopt"),
        accelerators=dict(target.demand),
        nodes=target.nodes,
        declared_hours=target.declared_hours,
    )


def object_of(document: Document[Any]) -> dict[str, Any]:
    """The object in a file of `policy/adopted/`."""
    node = document.node.get("object")
    found = typed(node) if isinstance(node, Tree) else None
    if not isinstance(found, dict) or kind_of(cast("Object", found)) != KIND:
        raise CompilerError(f"{document.path} holds no PyTorchJob", "write it with `adopt`")
    return cast("dict[str, Any]", found)


def overlay_of(
    document: Document[Any], key: Key, run: Entry, source: str
) -> tuple[dict[str, str], dict[str, Any]]:
    """The files of an adopted run's overlay by their paths, and the object that they make.

    It stands on no base. Unlike other runs it is applied over what is there: a Flux that never
    applied an object does not prune it either, and its removal here would stop nothing.
    (docs/policy.md says what to do about it once it has been applied.)
    """
    item = object_of(document)
    metadata = cast("dict[str, Any]", item["metadata"])
    team, job = key
    annotations = {
        **metadata.get("annotations", {}),
        "runwright/job": f"{team}/{job}",
        "runwright/run": str(run.number),
        "runwright/lineage": str(run.lineage),
        "runwright/training": run.training,
        "runwright/operation": run.operation,
        "runwright/source-commit": source,
        "kustomize.toolkit.fluxcd.io/substitute": "disabled",
    }
    made = {**item, "metadata": {**metadata, "annotations": annotations}}
    folder = f"overlays/{run.cluster}/{team}/{job}/r{run.number}"
    header = (
        f"# {team}/{job}, run {run.number} on {run.cluster}, adopted as it was found. {NOTICE}\n"
    )
    return {
        f"{folder}/kustomization.yaml": header + dump({**API, "resources": ["run.yaml"]}),
        f"{folder}/run.yaml": header + dump(made),
    }, made
