"""Names of a declaration, resolved against the catalogue of its cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping as MappingType
from typing import Any

from compiler import declaration as declared
from compiler.attachments import read_files
from compiler.diagnostics import Finding
from compiler.effective import Effective
from compiler.model import (
    Devices,
    File,
    Identity,
    Image,
    Mount,
    Placement,
    Route,
    Topology,
    Variable,
)
from compiler.names import ImageName
from compiler.rules import finding
from compiler.site import Site, toleration
from compiler.suggestions import choose, choose_accelerator
from compiler.variables import circle_in_words, circular, ordered

# The placement that `preemptible: true` stands for.
PREEMPTIBLE = "preemptible"


class Resolver:
    """Finds what names stand for; `findings` is what could not be resolved."""

    def __init__(
        self,
        effective: Effective,
        identity: Identity,
        path: str,
        site: Site,
        pinned: str | None = None,
    ) -> None:
        self.effective = effective
        self.origins = effective.origins
        self.identity = identity
        self.path = path
        self.site = site
        self.pinned = pinned
        self.findings: list[Finding] = []

    def report(self, rule: str, route: Route, message: str, help: str, key: bool = False) -> None:
        self.findings.append(finding(rule, self.origins.place(route, key), message, help))

    def image(self, name: ImageName, route: Route) -> Image:
        """The image to run: from the lock, or as it is written."""
        lock = self.site.lock.value.images if self.site.lock else {}
        locked = lock.get(name.text) if name.local else None
        if locked is None and not name.local:
            locked = next((entry for entry in lock.values() if entry.reference == name.text), None)
        about = self.site.images.get(name.text)
        guard: Any = (about.value.guard if about else None) or "shell"
        torch = about.value.torch if about else None
        shell = about is None or about.value.shell is not False
        if locked is not None:
            repository = re.sub(r":[^:/]*$", "", locked.reference.partition("@")[0])
            return Image(
                reference=f"{repository}@{locked.digest}",
                name=name.text if name.local else None,
                digest=locked.digest,
                registry=repository,
                guard=guard,
                torch=torch,
                shell=shell,
                example=bool(locked.example),
            )
        if name.local:
            known = sorted({*lock, *self.site.images})
            if name.text in self.site.images:
                message = f"the image `{name}` has no digest in images/lock.yaml yet"
                remedy = "build it, and add its reference and digest to images/lock.yaml"
            else:
                message = (
                    f"there is no image `{name}`: "
                    "neither in images/lock.yaml nor a folder of images/"
                )
                remedy = choose(name.text, known) + "; or a full reference with a digest"
            self.report("unknown-image", route, message, remedy)
        return Image(name.text, None, name.digest, name.repository, guard, torch, shell)

    def devices(self, fields: declared.Member, at: Route) -> Devices | None:
        wanted = fields.accelerators
        if wanted is None:
            return None
        entry = self.site.accelerator(wanted.name)
        if entry is None:
            catalogue = self.site.cluster.value.accelerators or {}
            self.report(
                "unknown-accelerator",
                (*at, "accelerators"),
                f"the cluster {self.identity.cluster} has no accelerator `{wanted.name}`",
                choose_accelerator(wanted.name, catalogue, wanted.count),
            )
            return None
        return Devices(wanted.name, entry.resource, wanted.count)

    def topology(self, job: declared.Declaration) -> Topology | None:
        wanted = job.topology
        if wanted is None:
            return None
        field = "required" if wanted.required is not None else "preferred"
        name = wanted.required if wanted.required is not None else wanted.preferred
        levels = self.site.cluster.value.topology or {}
        if name is None:
            return None
        if name not in levels:
            self.report(
                "unknown-topology",
                ("topology", field),
                f"the cluster {self.identity.cluster} has no topology level `{name}`",
                choose(name, levels),
            )
            return None
        return Topology(levels[name].label, field == "required")

    def variables(
        self, env: MappingType[str, str] | None, secrets: MappingType[str, str] | None, at: Route
    ) -> tuple[Variable, ...]:
        """Secrets first, then texts, each after the variables that it refers to."""
        made: list[Variable] = []
        for name, reference in (secrets or {}).items():
            secret, _, key = reference.partition("/")
            made.append(Variable(name, secret=secret, key=key))
            if name in (env or {}):
                self.report(
                    "variable-set-twice",
                    (*at, "env", name),
                    f"`{name}` is set here and under `secrets`",
                    "keep one of the two",
                    key=True,
                )
        texts = dict(env or {})
        if any("$(" in value for value in texts.values()):
            circle = circular(texts)
            if circle:
                self.report("circular-variables", (*at, "env", circle[0]), *circle_in_words(circle))
            else:
                texts = ordered(texts)
        return (*made, *(Variable(name, value) for name, value in texts.items()))

    def mounts(
        self, mounts: MappingType[str, declared.Mount] | None, at: Route
    ) -> tuple[Mount, ...]:
        made: list[Mount] = []
        for path, mount in (mounts or {}).items():
            kinds = [
                kind
                for kind in ("claim", "config_map", "secret", "scratch")
                if getattr(mount, kind) is not None
            ]
            if len(kinds) != 1:
                what = "says none" if not kinds else "says " + " and ".join(kinds)
                self.report(
                    "ambiguous-mount",
                    (*at, path),
                    f"a mount is one of claim, config_map, secret and scratch; this one {what}",
                    "write one of them, such as {claim: datasets}",
                    key=True,
                )
                continue
            kind: Any = kinds[0]
            source = "" if kind == "scratch" else str(getattr(mount, kind))
            made.append(
                Mount(path, kind, source, mount.scratch, bool(mount.read_only), mount.sub_path)
            )
        return tuple(made)

    def files(self, files: MappingType[str, str] | None, at: Route) -> tuple[File, ...]:
        made, problems = read_files(self.site.root, files or {})
        for problem in problems:
            if problem.place is not None:
                self.findings.append(
                    finding(problem.rule, problem.place, problem.message, problem.help)
                )
            else:
                self.report(
                    problem.rule,
                    (*at, *problem.route),
                    problem.message,
                    problem.help,
                    not problem.route,
                )
        return made

    def placement(self, fields: declared.Member, at: Route) -> Placement:
        """Labels and taints of the nodes with the accelerators, and of the named placements.

        The labels are the run's own under Kueue too: in a queue that gives out two accelerators
        with one resource name, only they say which of the two flavors is meant. The taints of the
        accelerators' nodes are tolerated by the flavor there.
        """
        known = self.site.cluster.value.placements or {}
        wanted = fields.accelerators
        nodes = (
            self.site.accelerator(wanted.name)
            if wanted is not None
            else self.site.cluster.value.cpu_nodes
        )
        labels = dict((nodes.node_labels if nodes is not None else None) or {})
        tolerations: list[dict[str, str]] = []
        queued = self.site.kueue and self.effective.declaration.queue is not None
        if nodes is not None and not queued:
            tolerations += [toleration(taint) for taint in nodes.taints or ()]
        names: list[tuple[str, Route]] = [
            (name, (*at, index)) for index, name in enumerate(fields.placement or ())
        ]
        if self.effective.declaration.preemptible:
            names.append((PREEMPTIBLE, ("preemptible",)))
        for name, route in names:
            if name not in known:
                self.report(
                    "unknown-placement",
                    route,
                    f"the cluster {self.identity.cluster} has no placement `{name}`",
                    choose(name, known),
                )
                continue
            labels.update(known[name].node_labels or {})
            tolerations += [toleration(taint) for taint in known[name].tolerations or ()]
        return Placement(labels, tuple(tolerations))
