"""What the object of a base may say, and what of it is said in the words of a declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from compiler.backends import Target
from compiler.diagnostics import Finding, Place
from compiler.model import mapping, scalar
from compiler.nodes import Mapping, Node
from compiler.rules import finding
from compiler.source import quote

Route = tuple[str | int, ...]
Object = dict[str, Any]
CONTAINER = "pytorch"
SHARED_MEMORY = "/dev/shm"  # noqa: S108 (a path in the container)

_AGAIN = (
    "under GitOps an object that removes itself is created again, and trains again",
    "take it out; finished runs are archived",
)
_QUEUE = (
    "Kueue sets it while the run waits and runs, and each sync would set it back",
    "take it out",
)
_DURATION = ("how long a run may take is the job's", "take it out; teams write `max_duration`")
_OPERATOR = ("another controller would then own the run, or none", "take it out")
_RESTART = (
    "a training run must end, and its retries are counted",
    "take it out; teams write `retry: {max: N}`",
)
_PLACE = (
    "beside a queue it is one value with Kueue's own, and each sync would take those away",
    "name the nodes in policy/clusters/ (flavors of the queue, or placements)",
)
_SYNCER = (
    "the syncer would replace, re-create or keep the run by it",
    "take it out: runs are created once and deleted once",
)
_ONE_NODE = ("a batch Job is a run on one node", "take it out")
_PROCESSES = ("processes per node are derived from `accelerators`", "take it out")
_JOBS_OWN = ("it is the job's to say", "take it out")

# Fields of the whole object, by back end: facts of training-operator 1.9 and batch/v1.
_FORBIDDEN: dict[str, dict[tuple[str, ...], tuple[str, str]]] = {
    "PyTorchJob": {
        ("spec", "runPolicy", "ttlSecondsAfterFinished"): _AGAIN,
        ("spec", "runPolicy", "suspend"): _QUEUE,
        ("spec", "runPolicy", "activeDeadlineSeconds"): _DURATION,
        ("spec", "runPolicy", "managedBy"): _OPERATOR,
        ("spec", "runPolicy", "backoffLimit"): _RESTART,
        ("spec", "runPolicy", "cleanPodPolicy"): (
            "the pods of a finished run always end with it",
            "take it out",
        ),
        ("spec", "nprocPerNode"): _PROCESSES,
        ("spec", "elasticPolicy"): (
            "it would make runs elastic that have a fixed number of nodes",
            "take it out; teams write `num_nodes: {min: 2, max: 4}`",
        ),
    },
    "Job": {
        ("spec", "ttlSecondsAfterFinished"): _AGAIN,
        ("spec", "suspend"): _QUEUE,
        ("spec", "activeDeadlineSeconds"): _DURATION,
        ("spec", "managedBy"): _OPERATOR,
        ("spec", "backoffLimit"): _RESTART,
        ("spec", "parallelism"): _ONE_NODE,
        ("spec", "completions"): _ONE_NODE,
        ("spec", "completionMode"): _ONE_NODE,
        ("spec", "selector"): ("the selector of a Job belongs to its controller", "take it out"),
        ("spec", "manualSelector"): (
            "the selector of a Job belongs to its controller",
            "take it out",
        ),
    },
}
_ANY_OBJECT: dict[tuple[str, ...], tuple[str, str]] = {
    ("metadata", "namespace"): ("the namespace is the team's (policy/teams/)", "take it out"),
    ("metadata", "generateName"): ("a run has one name, made from its job's", "take it out"),
    ("metadata", "ownerReferences"): _OPERATOR,
    ("metadata", "finalizers"): ("the run could then not be deleted", "take it out"),
    ("status",): ("the status is the controller's", "take it out"),
}
_POD: dict[tuple[str, ...], tuple[str, str]] = {
    ("spec", "nodeSelector"): _PLACE,
    ("spec", "tolerations"): _PLACE,
    ("spec", "hostNetwork"): (
        "two runs on a node would meet on one port: the job must know that it is so",
        "take it out; teams write `host_network: true`",
    ),
}
_ANNOTATIONS = ("argocd.argoproj.io/", "helm.sh/hook", "kustomize.toolkit.fluxcd.io/")
_LABELS = ("kueue.x-k8s.io/",)
# Set by the operator in each container, after the container's own (envvar.go, elastic.go).
_OPERATOR_NAMES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class Judgement:
    """One look at a base's object; `findings` is what is wrong with it."""

    def __init__(self, base: str, target: Target, place: Callable[[Route], Place]) -> None:
        self.base = base
        self.target = target
        self.place = place
        self.findings: list[Finding] = []

    def forbid(self, route: Route, what: str, why: str, help: str) -> None:
        self.findings.append(
            finding(
                "forbidden-base-value",
                self.place(route),
                f"a base must not set {what}: {why}",
                help,
            )
        )

    def objects(self, objects: list[Object]) -> Object | None:
        """The one object of the base, or None and a finding."""
        wanted = f"{self.target.api_version} {self.target.kind}"
        where = self.place(())
        if len(objects) != 1:
            made = ", ".join(str(one.get("kind")) for one in objects) or "nothing"
            message = f"{self.base}/ makes {len(objects)} objects ({made}), and must make one"
        else:
            one = objects[0]
            if (one.get("apiVersion"), one.get("kind")) == (
                self.target.api_version,
                self.target.kind,
            ):
                return one
            key = "apiVersion" if one.get("kind") == self.target.kind else "kind"
            where = self.place((key,))
            made = f"{one.get('apiVersion')} {one.get('kind')}"
            message = f"{self.base}/ makes {quote(made)}, and must make a {wanted}"
        self.findings.append(
            finding("wrong-base-object", where, message, f"keep one {wanted} in it")
        )
        return None

    def object(self, one: Object) -> None:
        """Everything that the base's object must not say."""
        kind = self.target.kind
        for route, (why, remedy) in {**_ANY_OBJECT, **_FORBIDDEN.get(kind, {})}.items():
            if _get(one, route) is not None:
                self.forbid(route, f"`{route[-1]}`", why, remedy)
        self.steering(one, ("metadata",))
        name = _get(one, ("metadata", "name"))
        if not isinstance(name, str) or not name:
            self.forbid(
                ("metadata",), "no name", "the overlays find it by its name", "write `name: run`"
            )
        for template, known in self.roles(one):
            if not known:
                self.forbid(
                    template,
                    f"a replica type {quote(str(template[-1]))}",
                    "the operator knows Master and Worker",
                    "write Master or Worker",
                )
                continue
            role = template[:-1]
            self.restart(one, (*role, "restartPolicy"))
            self.restart(one, (*template, "spec", "restartPolicy"))
            for route, (why, remedy) in _POD.items():
                if _get(one, (*template, *route)) not in (None, False):
                    self.forbid((*template, *route), f"`{route[-1]}`", why, remedy)
            self.steering(one, (*template, "metadata"))
            for field in ("initContainers", "containers"):
                self.containers(one, (*template, "spec", field))
        self.values(one, ())

    def roles(self, one: Object) -> Iterator[tuple[Route, bool]]:
        """The templates of the object, and whether the back end knows them."""
        for template in self.target.templates:
            if _get(one, template) is not None:
                yield template, True
        roles = _get(one, ("spec", "pytorchReplicaSpecs"))
        if self.target.kind == "PyTorchJob":
            for name, _ in _entries(roles):
                if name not in ("Master", "Worker"):
                    yield ("spec", "pytorchReplicaSpecs", name), False

    def restart(self, one: Object, route: Route) -> None:
        value = _get(one, route)
        if value is not None and value not in ("Never", "OnFailure"):
            self.forbid(route, f"`restartPolicy: {value}`", *_RESTART)

    def steering(self, one: Object, at: Route) -> None:
        """Labels and annotations by which the syncer, Kueue or kustomize would act."""
        for field, prefixes in (("annotations", _ANNOTATIONS), ("labels", _LABELS)):
            entries = _get(one, (*at, field))
            for key, _ in _entries(entries):
                if key.startswith(prefixes):
                    why = _SYNCER if field == "annotations" else _JOBS_OWN
                    self.forbid((*at, field, key), f"{quote(key)}", *why)

    def containers(self, one: Object, at: Route) -> None:
        for index, container in _items(_get(one, at)):
            route = (*at, index)
            name = container.get("name")
            if name != CONTAINER or at[-1] != "containers":
                if not container.get("image"):
                    self.findings.append(
                        finding(
                            "incomplete-base-container",
                            self.place(route),
                            f"the container {quote(str(name))} has no image, and gets none",
                            f"add `image:`, or name it `{CONTAINER}` where the training container "
                            "is meant",
                        )
                    )
            else:
                for field in ("image", "command", "args"):
                    if field in container:
                        self.forbid((*route, field), f"`{field}`", *_JOBS_OWN)
                security = container.get("securityContext")
                for field in ("runAsUser", "runAsGroup", "runAsNonRoot"):
                    if isinstance(security, dict) and field in security:
                        self.forbid(
                            (*route, "securityContext", field),
                            f"`{field}` of the container",
                            "it would win over the user that a job asks for",
                            "write it in the securityContext of the pod",
                        )
            self.variables(container.get("env"), (*route, "env"))

    def variables(self, env: Any, at: Route) -> None:
        known: set[str] = set()
        for index, variable in _items(env):
            if str(variable.get("name")) in known:
                why = "a container has one value for it, and the API server takes one"
                self.forbid(
                    (*at, index), f"{quote(str(variable['name']))} twice", why, "take it out"
                )
            known.add(str(variable.get("name")))
            name, value = str(variable.get("name")), variable.get("value")
            if name in _OPERATOR_NAMES or name.startswith("PET_"):
                self.forbid(
                    (*at, index),
                    f"the variable `{name}`",
                    "the operator sets it from the shape of the run",
                    "take it out",
                )
            if value is not None and not isinstance(value, str):
                self.text((*at, index, "value"), f"the variable {quote(name)}", value)

    def values(self, value: Any, route: Route) -> None:
        """Values that Kubernetes would refuse, whatever field they stand in."""
        if isinstance(value, dict):
            entries = cast("dict[str, Any]", value)
            textual = route[-1:] in (("labels",), ("annotations",))
            for key, item in entries.items():
                if textual and not isinstance(item, str):
                    self.text((*route, key), quote(key), item)
                else:
                    self.values(item, (*route, key))
        elif isinstance(value, list):
            for index, item in enumerate(cast("list[Any]", value)):
                self.values(item, (*route, index))
        elif isinstance(value, float) and route[-1:] != ("value",):
            self.text(route, f"`{route[-1]}`", value)

    def text(self, route: Route, what: str, value: Any) -> None:
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        self.findings.append(
            finding(
                "forbidden-base-value",
                self.place(route),
                f"{what} must be text, and Kubernetes reads {shown} here",
                f'write it in quotes: "{shown}"',
            )
        )

    def fields(self, one: Object, node: Callable[[Route], Node | None]) -> Mapping | None:
        """What the object says in the words of a declaration, at the base's own places.

        The replica types of one base must agree: a run has one value for both.
        """
        found: dict[tuple[str, ...], tuple[Any, Route]] = {}
        for template, known in self.roles(one):
            for words, value, route in _said(_get(one, template), template) if known else ():
                earlier = found.setdefault(words, (value, route))
                if earlier[0] != value:
                    self.forbid(
                        route,
                        f"`{route[-1]}` otherwise than for {earlier[1][2]}",
                        "a run has one value for all its nodes",
                        "write the same in both templates",
                    )
        tree: dict[Any, Any] = {}
        for words, (value, route) in found.items():
            like = node(route)
            if like is None:
                continue
            inner = tree
            for word in words[:-1]:
                key = next((k for k in inner if k == word), None)
                if key is None:
                    key = scalar(word, like)
                    inner[key] = mapping({}, like)
                inner = inner[key]
            made = (
                mapping({scalar(k, like): scalar(v, like) for k, v in _entries(value)}, like)
                if isinstance(value, dict)
                else scalar(value, like)
            )
            inner[scalar(words[-1], like)] = made
        if not tree:
            return None
        return mapping(tree, next(iter(tree)))


_PULL = {"Always": "always", "IfNotPresent": "if-not-present", "Never": "never"}


def _said(template: Any, at: Route) -> Iterator[tuple[tuple[str, ...], Any, Route]]:
    """Each field of a template that a declaration has a word for: words, value, route."""
    spec = dict(_entries(_get(template, ("spec",))))
    at = (*at, "spec")
    grace = spec.get("terminationGracePeriodSeconds")
    if isinstance(grace, int):
        yield ("stop", "grace"), f"{grace}s", (*at, "terminationGracePeriodSeconds")
    for field, word in (
        ("serviceAccountName", "service_account"),
        ("automountServiceAccountToken", "service_account_token"),
    ):
        if field in spec:
            yield ("security", word), _word(spec[field]), (*at, field)
    security = spec.get("securityContext")
    for field, word in (
        ("runAsUser", "run_as_user"),
        ("runAsGroup", "run_as_group"),
        ("fsGroup", "fs_group"),
        ("runAsNonRoot", "non_root"),
    ):
        if isinstance(security, dict) and field in security:
            yield ("security", word), _word(security[field]), (*at, "securityContext", field)
    for index, container in _items(spec.get("containers")):
        if container.get("name") != CONTAINER:
            continue
        route = (*at, "containers", index)
        pull = _PULL.get(str(container.get("imagePullPolicy")))
        if pull is not None:
            yield ("pull",), pull, (*route, "imagePullPolicy")
        for name in ("cpu", "memory"):
            request = _get(container, ("resources", "requests", name))
            limit = _get(container, ("resources", "limits", name))
            if limit is None:
                continue
            same = request is None or request == limit
            value = str(limit) if same else {"request": str(request), "limit": str(limit)}
            yield (name,), value, (*route, "resources", "limits", name)
        volume = shared_memory(spec, container)
        if volume is not None:
            size = _get(spec, ("volumes", volume, "emptyDir", "sizeLimit"))
            if size is not None:
                where = (*at, "volumes", volume, "emptyDir", "sizeLimit")
                yield ("shm_size",), str(size), where


def shared_memory(spec: Object, container: Any) -> int | None:
    """The index of the memory volume that a container mounts at /dev/shm, or None."""
    mounts = _items(_get(container, ("volumeMounts",)))
    name = next((m.get("name") for _, m in mounts if m.get("mountPath") == SHARED_MEMORY), None)
    for index, volume in _items(spec.get("volumes")):
        if name is not None and volume.get("name") == name:
            return index if _get(volume, ("emptyDir", "medium")) == "Memory" else None
    return None


def _items(value: Any) -> list[tuple[int, Object]]:
    """The items of a list that are mappings, with their indexes."""
    items = cast("list[Any]", value if isinstance(value, list) else [])
    return [(index, cast("Object", item)) for index, item in enumerate(items) if _map(item)]


def _entries(value: Any) -> list[tuple[str, Any]]:
    return list(cast("Object", value).items()) if _map(value) else []


def _map(value: Any) -> bool:
    return isinstance(value, dict)


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _get(value: Any, route: Route) -> Any:
    """The value at a route of plain data, or None."""
    try:
        for step in route:
            value = value[step]
    except (KeyError, IndexError, TypeError):
        return None
    return value
