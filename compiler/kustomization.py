"""The kustomization of a base, looked through before kustomize ever sees it.

kustomize fetches what looks like an address, follows paths out of the folder, and starts programs
for generators, functions and charts. A base needs none of that, so what may stand in its
kustomization is a list of what is known to be harmless, and everything else is a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from msgspec import Struct, field

from compiler.diagnostics import Finding, Place
from compiler.nodes import Mapping, Node, Scalar, Sequence, move, walk
from compiler.rules import finding
from compiler.source import LIMIT, decode, quote
from compiler.suggestions import choose, nearest
from compiler.tree import read

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""The names under which kustomize finds a kustomization (its api/konfig)."""

_LISTS = ("resources", "components", "patches", "labels")
_FIELDS = frozenset({"apiVersion", "kind", "metadata", "commonAnnotations", "sortOptions", *_LISTS})
_PATCH = frozenset({"path", "patch", "target", "options"})
_LABELS = frozenset({"pairs", "includeSelectors", "includeTemplates", "fields"})

_RUNS_CODE = "a base is data: whoever may change it must not be able to run code in every build"
_CHART = "a chart is fetched and rendered by another program"
# Fields that make kustomize start a program or render a chart.
_CHARTS = frozenset({"helmCharts", "helmChartInflationGenerator", "helmGlobals"})
_EXECUTABLE = _CHARTS | {"generators", "transformers", "validators"}
# Fields that would work, and must not: why, and what to write instead.
_REFUSED = {
    "bases": ("it is deprecated", "list the folder under `resources`"),
    "buildMetadata": (
        "it writes where the object was built into the object, so two builds differ",
        "take it out",
    ),
    "commonLabels": (
        "it also changes selectors, and those of a Job belong to its controller",
        "use `labels` without includeSelectors",
    ),
    "configMapGenerator": (
        "a base is one object, and a name with a hash is not followed into a PyTorchJob",
        "name a ConfigMap of the team's namespace, or use `files:` in the job",
    ),
    **dict.fromkeys(("configurations", "crds"), ("it changes how kustomize merges", "take it out")),
    "generatorOptions": ("a base generates nothing", "take it out"),
    "images": (
        "the image is the job's, pinned by digest in images/lock.yaml",
        "change images/lock.yaml",
    ),
    "imageTags": ("the image is the job's, pinned by digest in images/lock.yaml", "take it out"),
    "namePrefix": ("the name is made from the job's name and its run number", "take it out"),
    "nameSuffix": ("the name is made from the job's name and its run number", "take it out"),
    "namespace": ("the namespace is the team's (policy/teams/)", "take it out"),
    "openapi": (
        "Argo CD and Flux would then merge lists in different ways",
        "take it out: the compiler merges lists by their keys itself",
    ),
    "patchesJson6902": ("it is deprecated", "move the patch to `patches`"),
    "patchesStrategicMerge": ("it is deprecated", "move the patch to `patches`"),
    "replacements": (
        "it copies values between fields, so that no line says what a field holds",
        "write the value where it belongs",
    ),
    "replicas": ("the number of nodes is the job's (`num_nodes`)", "take it out"),
    "secretGenerator": (
        "a Secret does not belong into git",
        "name a Secret of the team's namespace",
    ),
    "vars": ("it is deprecated", "write the value where it belongs"),
}
_REMOTE = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*://|[A-Za-z0-9_.-]+@[A-Za-z0-9_.-]+:|[^/]*::|git@|gh:|.*\?(?:.*&)?(?:ref|version|timeout|submodules)="
    r"|(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?::[0-9]+)?/.*//|(?:github\.com|gitlab\.com|bitbucket\.org)[/:]",
    re.IGNORECASE,
)
_STEERING = re.compile(
    r"(?:[a-z]+\.)?config\.(?:kubernetes|k8s)\.io/|alpha\.config\.kubernetes\.io/"
)


class Kustomization(Struct):
    """What a kustomization is made of: its files, and their trees in the order of reading.

    `only` is the resource file of a kustomization that does nothing but list that one file.
    `patches` are (path, tree or None for an inline patch, the node to point at), in their order.
    """

    root: str
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    trees: dict[str, Node] = field(default_factory=dict[str, Node])
    resources: list[str] = field(default_factory=list[str])
    patches: list[tuple[Node | None, Node]] = field(default_factory=list[tuple[Node | None, Node]])
    kustomizations: list[Mapping] = field(default_factory=list[Mapping])
    findings: list[Finding] = field(default_factory=list[Finding])
    only: str | None = None

    @property
    def place(self) -> Place:
        """The first line of the base's own kustomization."""
        if self.kustomizations:
            first = next(iter(self.kustomizations[0]), None)
            if isinstance(first, Scalar):
                return first.place
        return Place(f"{self.root}/{NAMES[0]}", 1, 1, 1, 1)


def inspect(root: Path, shown: str) -> Kustomization:
    """Everything that the kustomization in a folder reads, or the findings that forbid it.

    `shown` is the folder as it is printed. Only files inside the folder, reached without links,
    are opened.
    """
    inspector = _Inspector(root, Kustomization(shown))
    inspector.folder("", "Kustomization", Place(f"{shown}/{NAMES[0]}"))
    made = inspector.made
    if len(made.kustomizations) == 1 and len(made.resources) == 1 and not made.patches:
        extra = set(made.kustomizations[0]) - {"apiVersion", "kind", "metadata", "resources"}
        made.only = None if extra else made.resources[0]
    return made


class _Inspector:
    def __init__(self, root: Path, made: Kustomization) -> None:
        self.root = root
        self.made = made
        self.seen: set[str] = set()

    def report(self, rule: str, place: Place, message: str, help: str) -> None:
        self.made.findings.append(finding(rule, place, message, help))

    def folder(self, folder: str, kind: str, named: Place) -> None:
        """Look through the kustomization of a folder (`''` is the base's own)."""
        if folder in self.seen:
            return
        self.seen.add(folder)
        present = [name for name in NAMES if (self.root / folder / name).is_file()]
        shown = f"{self.made.root}/{folder}".rstrip("/")
        if len(present) != 1:
            found = "both " + " and ".join(present) if present else f"no {NAMES[0]}"
            self.report(
                "missing-base-file",
                named,
                f"{shown}/ has {found}, and kustomize needs one",
                f"keep one {NAMES[0]} in {shown}/",
            )
            return
        path = f"{folder}/{present[0]}".lstrip("/")
        if (self.root / path).is_symlink():
            self.far(Place.start(f"{self.made.root}/{path}"), path, "a link")
            return
        tree = self.load(path, mapping=True)
        if not isinstance(tree, Mapping):
            return
        self.made.kustomizations.append(tree)
        self.header(tree, kind)
        for key in cast("Iterator[Scalar]", iter(tree)):
            self.entry(folder, key, tree[key])

    def header(self, tree: Mapping, kind: str) -> None:
        written = tree.get("kind")
        if isinstance(written, Scalar) and written not in ("Kustomization", kind):
            message = f"{quote(written)} is not the kind of a kustomization that is listed here"
            remedy = f"write `kind: {kind}`"
            self.report("unsupported-base-field", written.place, message, remedy)
        right = f"kustomize.config.k8s.io/{'v1alpha1' if written == 'Component' else 'v1beta1'}"
        version = tree.get("apiVersion")
        if isinstance(version, Scalar) and version not in ("", right):
            message = f"kustomize reads no kustomization of the version {quote(version)}"
            remedy = f"write `apiVersion: {right}`"
            self.report("unsupported-base-field", version.place, message, remedy)

    def entry(self, folder: str, key: Scalar, value: Node) -> None:
        """One field of a kustomization."""
        if key in _EXECUTABLE:
            why = _CHART if key in _CHARTS else _RUNS_CODE
            self.report(
                "executable-base",
                key.place,
                f"`{key}` makes kustomize run something: {why}",
                "take it out, and write what it would make into the base itself",
            )
        elif key in _REFUSED:
            why, remedy = _REFUSED[key]
            self.report(
                "unsupported-base-field", key.place, f"a base must not use `{key}`: {why}", remedy
            )
        elif key not in _FIELDS:
            self.report(
                "unsupported-base-field",
                key.place,
                f"{quote(key)} is no field that a base's kustomization may have",
                choose(key, _FIELDS),
            )
        elif key in _LISTS:
            if not isinstance(value, Sequence):
                self.report(
                    "unsupported-base-field",
                    value.place,
                    f"`{key}` is a list",
                    f"write `{key}:` and below it one item a line, each after `- `",
                )
                return
            for item in value:
                self.item(folder, key, item)
        elif key == "commonAnnotations":
            self.annotations(value)

    def item(self, folder: str, field: str, item: Node) -> None:
        if field == "resources":
            self.resource(folder, item)
        elif field == "components":
            self.component(folder, item)
        elif field == "patches":
            self.patch(folder, item)
        elif (known := self.known(item, _LABELS, "labels")) is not None:
            selectors = known.get("includeSelectors")
            if isinstance(selectors, Scalar) and selectors.casefold() not in ("false", ""):
                self.report(
                    "unsupported-base-field",
                    selectors.place,
                    "`includeSelectors` changes selectors, and those of a Job are its controller's",
                    "take it out",
                )

    def known(self, item: Node, keys: frozenset[str], field: str) -> Mapping | None:
        """The item where it is a mapping of known keys, else None and a finding."""
        if not isinstance(item, Mapping):
            remedy = "write some of its keys: " + ", ".join(sorted(keys))
            message = f"an item of `{field}` is a mapping"
            self.report("unsupported-base-field", item.place, message, remedy)
            return None
        for key in cast("Iterator[Scalar]", iter(item)):
            if key not in keys:
                message = f"{quote(key)} is no key of an item of `{field}`"
                self.report("unsupported-base-field", key.place, message, choose(key, keys))
                return None
        return item

    def resource(self, folder: str, item: Node) -> None:
        path = self.local(folder, item)
        if path is None:
            return
        if (self.root / path).is_dir():
            self.folder(path, "Kustomization", item.place)
        elif path in self.made.files:
            message = f"{quote(path)} is listed twice, and kustomize takes no object twice"
            self.report("unsupported-base-field", item.place, message, "take this line out")
        else:
            tree = self.load(path, mapping=True)
            if isinstance(tree, Mapping):
                self.made.resources.append(path)
                self.steering(tree)

    def component(self, folder: str, item: Node) -> None:
        path = self.local(folder, item)
        if path is not None and not (self.root / path).is_dir():
            self.report(
                "missing-base-file",
                item.place,
                f"a component is a folder, and {quote(str(item))} is a file",
                "list it under `resources`, or under `patches`",
            )
        elif path is not None:
            self.folder(path, "Component", item.place)

    def patch(self, folder: str, item: Node) -> None:
        known = self.known(item, _PATCH, "patches")
        if known is None:
            return
        if "path" in known:
            path = self.local(folder, known["path"])
            if path is not None:
                tree = self.load(path, mapping=False)
                if tree is not None:
                    self.made.patches.append((tree, known["path"]))
                    self.steering(tree)
        inline = known.get("patch")
        if isinstance(inline, Scalar):
            source, _ = decode(inline.path, str(inline).encode(), LIMIT)
            tree = None if source is None else read(source, mapping=False)[0]
            if tree is not None:
                # What is wrong inside is shown at the text that holds it.
                move(tree, inline)
                self.steering(tree)
            self.made.patches.append((tree, inline))

    def local(self, folder: str, item: Node) -> str | None:
        """The path of a file or folder of the base, from the base's root, or None."""
        if not isinstance(item, Scalar) or not item:
            self.report(
                "missing-base-file",
                item.place,
                "a path is wanted here",
                "write the name of a file of the base",
            )
            return None
        text = str(item)
        if _REMOTE.match(text):
            self.report(
                "remote-base",
                item.place,
                f"{quote(text)} is fetched over the network at each build",
                f"copy the file into {self.made.root}/ and name it here",
            )
            return None
        if any(len(part.encode()) > 255 for part in text.split("/")):
            message = "no file can have so long a name"
            self.report("missing-base-file", item.place, message, "name a file of this folder")
            return None
        if text.startswith(("/", "~")) or "\\" in text:
            self.far(item.place, text, "a path of one machine")
            return None
        parts: list[str] = folder.split("/") if folder else []
        for part in text.split("/"):
            if part == "..":
                if not parts:
                    self.far(item.place, text, "outside of the folder")
                    return None
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
                if (self.root / "/".join(parts)).is_symlink():
                    self.far(item.place, text, "a link")
                    return None
        path = "/".join(parts)
        if not (self.root / path).exists():
            self.report(
                "missing-base-file",
                item.place,
                f"there is no {quote(text)} in {self.made.root}/; kustomize would fetch it",
                self.near(path),
            )
            return None
        return path

    def near(self, path: str) -> str:
        folder = (self.root / path).parent
        names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
        near = nearest(path.rpartition("/")[2], names)
        return f"write `{near}`" if near is not None else "add the file, or take the line out"

    def far(self, place: Place, text: str, what: str) -> None:
        self.report(
            "far-base-path",
            place,
            f"{quote(text)} is {what}: each run keeps a copy of {self.made.root}/ alone",
            f"put the file itself into {self.made.root}/",
        )

    def load(self, path: str, mapping: bool) -> Node | None:
        """The tree of a file; its bytes become part of the base."""
        shown = f"{self.made.root}/{path}"
        file = self.root / path
        if not file.is_file():
            message = f"{shown} is no plain file"
            self.report(
                "missing-base-file", Place.start(shown), message, "put the file itself here"
            )
            return None
        with file.open("rb") as stream:
            data = stream.read(LIMIT + 1)
        source, findings = decode(shown, data)
        self.made.findings += findings
        if source is None:
            return None
        self.made.files[path] = data
        tree, findings = read(source, mapping=mapping)
        self.made.findings += findings
        if tree is not None:
            self.made.trees[path] = tree
        return tree

    def steering(self, tree: Node) -> None:
        for route, node in walk(tree):
            if route[-1:] == ("annotations",) and isinstance(node, Mapping):
                self.annotations(node)

    def annotations(self, node: Node) -> None:
        for key in cast("Iterator[Scalar]", iter(node if isinstance(node, Mapping) else ())):
            if _STEERING.match(key):
                self.report(
                    "executable-base",
                    key.place,
                    f"the annotation {quote(key)} speaks to kustomize itself, which may run a "
                    "program for it",
                    "take it out",
                )
