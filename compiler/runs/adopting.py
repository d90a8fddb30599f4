"""What `adopt` writes, and what it tells of where object and declaration differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from compiler.diagnostics import CompilerError
from compiler.model import Run
from compiler.nodes import Mapping as Tree
from compiler.policy.adopted import AdoptedRun
from compiler.project import Project
from compiler.quota.demand import demand
from compiler.results import JobResult
from compiler.runs.adoption import adopted, checkpoint_dir, object_of, text_of
from compiler.runs.room import CPU
from compiler.runs.standing import CONTAINER, Object, devices, part, parts, word
from compiler.source import decode
from compiler.suggestions import any_of, choose
from compiler.tree import read
from compiler.validation import validate


class Record(Struct, frozen=True):
    """A file of `policy/adopted/`, the object's name, and what a person should know."""

    path: str
    text: str
    name: str
    notes: list[str]


def object_in(documents: Sequence[Object]) -> Object:
    """The one object that kubectl printed; raises CompilerError where there are others."""
    items = [
        item
        for document in documents
        for item in (parts(document, "items") if "items" in document else [document])
    ]
    if len(items) != 1:
        raise CompilerError(
            f"there are {len(items)} objects, and one can be adopted",
            "name it: `kubectl get pytorchjob NAME -o json`",
        )
    return items[0]


def record(
    project: Project, result: JobResult, item: Object, cluster: str | None, folder: str | None
) -> Record:
    """The file for an object; raises CompilerError where it cannot be the job's first run."""
    team = project.policy.teams.get(result.team)
    if team is None or not result.clusters:
        raise CompilerError(f"{result.path} cannot be judged", f"run `check {result.path}`")
    if cluster is None and len(result.clusters) > 1:
        raise CompilerError(
            "on which cluster does it run?",
            any_of(result.clusters, start="add --cluster with"),
        )
    where = cluster or next(iter(result.clusters))
    if where not in result.clusters:
        raise CompilerError(
            f"{result.path} does not name the cluster `{where}`", choose(where, result.clusters)
        )
    model = result.models.get(where)
    if model is None:
        raise CompilerError(f"{result.path} has errors", f"run `check {result.path}`")
    found = adopted(item, result.team, result.job, team.value.namespace)
    name = word(part(found, "metadata"), "name")
    path = f"policy/adopted/{result.team}/{result.job}.yaml"
    if path in project.policy.broken or f"{result.team}/{result.job}" in project.policy.adopted:
        raise CompilerError(f"{path} is there already", "take it out to adopt another object")
    for other in project.policy.adopted.values():
        same = word(part(object_of(other), "metadata"), "name") == name
        if same and other.value.cluster == where and other.name.startswith(f"{result.team}/"):
            raise CompilerError(f"{other.path} has adopted {name} already")
    known = checkpoint_dir(item, model.checkpoint.path if model.checkpoint else None)
    kept = known if folder is None else folder
    text = text_of(where, kept, found)
    _refuse_unreadable(path, text)
    return Record(path, text, name, list(_notes(found, name, result, model, kept)))


def _refuse_unreadable(path: str, text: str) -> None:
    """Refuse what could not be read back: too long a file, or a folder that is no clean path."""
    source, findings = decode(path, text.encode())
    node = None
    if source is not None:
        node, findings = read(source)
    if isinstance(node, Tree) and not findings:
        _, findings = validate(AdoptedRun, node, "an adopted run")
    if findings:
        raise CompilerError(f"it cannot be written down: {findings[0].message}", findings[0].help)


def _notes(
    found: Object, name: str, result: JobResult, model: Run, folder: str | None
) -> Iterator[str]:
    """Where the object is not what is declared: that is no mistake, and somebody should know."""
    if folder is None:
        yield "where it keeps its checkpoints is not known: a successor begins from zero"
    declared = sum(amount for what, amount in demand(model).items() if what != CPU) or model.nodes
    if devices(found) != declared:
        yield (
            f"{name} holds {devices(found)} accelerators, and {result.path} declares {declared}, "
            "which is what counts in quota"
        )
    image = model.others.image
    wanted = {image.reference, image.digest, f"{image.reference}@{image.digest}"}
    roles = part(part(found, "spec"), "pytorchReplicaSpecs")
    pods = [part(part(part(roles, role), "template"), "spec") for role in roles]
    images = {
        word(container, "image")
        for pod in pods
        for container in parts(pod, "containers")
        if container.get("name") == CONTAINER
    }
    for other in sorted(images - wanted):
        yield f"{name} runs {other}, and {result.path} declares {image.reference}"
