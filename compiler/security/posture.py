"""What the pods of a run have against the Pod Security level of their namespace, and where.

What is looked at is the part of the pod template that the standards are about, as the back end
writes it, with `pod:` over it and the base below it. Each breach is found again in the file that
says it: the job, a team's defaults, policy, an image, or the base.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from msgspec import Struct

from compiler.backends import Target, backends
from compiler.diagnostics import Place
from compiler.merge import LIST_KEYS, merge
from compiler.model import Member, Run, Security
from compiler.nodes import Mapping, Node, Sequence
from compiler.passthrough import CONTAINER
from compiler.podtemplate import container_security, passed, pod_security
from compiler.rules import Report, Route
from compiler.security.below import template_of
from compiler.security.standards import (
    APPARMOR,
    LATEST,
    Breach,
    Control,
    Level,
    Object,
    Path,
    breaches,
)
from compiler.site import Site

# At the level `privileged` the cluster refuses nothing; these are refused all the same, for no
# training needs them, and whoever has them has the node.
ALWAYS = frozenset({"privileged", "host-process", "capabilities"})
_OWN_NAMESPACES = frozenset({("spec", "hostPID"), ("spec", "hostIPC")})
_WORDS: dict[Path, Route] = {
    ("spec", "hostNetwork"): ("host_network",),
    ("spec", "securityContext", "runAsUser"): ("security", "run_as_user"),
    ("spec", "securityContext", "runAsNonRoot"): ("security", "non_root"),
}


class Found(Struct, frozen=True):
    """A breach, and where it is written; `base` tells that the base says it (or leaves it out)."""

    breach: Breach
    level: Level
    route: Route
    place: Place | None
    base: bool
    related: tuple[tuple[Route | Place, str], ...]

    def report(self, message: str, help: str) -> Report:
        """The report about it."""
        return Report(self.route, message, help, related=self.related, place=self.place)

    @property
    def who(self) -> str:
        """The container or the pod, in words."""
        name = self.breach.container
        return f"the container `{name}`" if name else "the pod"

    @property
    def refusal(self) -> str:
        """Why it is refused, as the end of a sentence."""
        if self.level == "privileged":
            return "which gives it the node"
        return f"which {self.by} refuses"

    @property
    def by(self) -> str:
        """What refuses it."""
        return f"the Pod Security level `{self.level}` of the namespace"


def level_of(site: Site) -> Level:
    """The level of the teams' namespaces; a cluster that says nothing refuses nothing."""
    return site.cluster.value.pod_security or "privileged"


_last: list[tuple[Run, tuple[Found, ...]]] = []


def found(run: Run, site: Site, *controls: Control) -> Iterator[Found]:
    """The breaches of some controls in the pods of a run."""
    if not _last or _last[0][0] is not run:
        _last[:] = [(run, tuple(_found(run, site)))]
    every = _last[0][1]
    return (one for one in every if one.breach.control in controls) if every else iter(())


def roles(run: Run, target: Target) -> Iterator[tuple[Member, tuple[str, ...]]]:
    """The kinds of pods of a run, each with its template in the object."""
    first, last = target.templates[0], target.templates[-1]
    if run.elastic is not None:
        yield run.others, last
        return
    yield run.first, first
    if run.nodes > 1 and first != last:
        yield run.others, last


def _found(run: Run, site: Site) -> Iterator[Found]:
    target = backends()[site.backend].target
    # Both kinds of pods mostly say the same, at one place.
    seen: list[tuple[Breach, Member | Place]] = []
    for member, template in roles(run, target):
        for breach in _breaches(run, member, site, template):
            one = placed(run, member, site, template, breach)
            key = (breach, one.place or member)
            if key not in seen:
                seen.append(key)
                yield one


# Most runs have no `pod:` and differ in nothing that matters here: by site, then by what matters.
# The site is kept, so that no other one is ever taken for it.
_known: dict[int, tuple[Site, dict[tuple[Any, ...], tuple[Breach, ...]]]] = {}
_MOST_SITES = 256


def _breaches(
    run: Run, member: Member, site: Site, template: tuple[str, ...]
) -> tuple[Breach, ...]:
    if member.pod:
        return tuple(_judged(run, member, site, template))
    if id(site) not in _known:
        if len(_known) >= _MOST_SITES:
            _known.clear()
        _known[id(site)] = (site, {})
    of_site = _known[id(site)][1]
    key = (
        template,
        run.host_network,
        member.security,
        tuple(companion.name for companion in (*member.init, *member.sidecars)),
        tuple(pair for pair in member.annotations if pair[0].startswith(APPARMOR)),
    )
    known = of_site.get(key)
    if known is None:
        known = of_site[key] = tuple(_judged(run, member, site, template))
    return known


def _judged(run: Run, member: Member, site: Site, template: tuple[str, ...]) -> Iterator[Breach]:
    level = level_of(site)
    pod = pod_of(run, member, site, template)
    given = _given(site)
    for breach in breaches(pod, "baseline" if level == "privileged" else level, _minor(site)):
        if level != "privileged":
            yield breach
        elif breach.control in ALWAYS:
            if breach.control != "capabilities" or breach.value not in given:
                yield breach
        elif breach.path in _OWN_NAMESPACES:
            yield breach


def pod_of(run: Run, member: Member, site: Site, template: tuple[str, ...]) -> Object:
    """What the standards are about in a pod of a run: a template without the rest."""
    spec: Object = {}
    if run.host_network:
        spec["hostNetwork"] = True
    security = pod_security(member.security)
    if security:
        spec["securityContext"] = security
    main: Object = {"name": CONTAINER}
    own = container_security(member.security, site)
    if own:
        main["securityContext"] = own
    beside = container_security(Security(), site)
    before = [
        {"name": companion.name, **({"securityContext": beside} if beside else {})}
        for companion in (*member.init, *member.sidecars)
    ]
    if before:
        spec["initContainers"] = before
    spec["containers"] = [main]
    made: Object = {"spec": spec}
    if member.annotations:
        made["metadata"] = {"annotations": dict(member.annotations)}
    if isinstance(member.pod, Mapping):
        made = passed(made, member)
    base = template_of(site, template)
    return merge(made, base) if base else made


def _given(site: Site) -> frozenset[str]:
    """The capabilities that policy gives to runs on several nodes."""
    kinds = (site.cluster.value.accelerators or {}).values()
    return frozenset(
        capability
        for kind in kinds
        if kind.multi_node is not None
        for capability in kind.multi_node.capabilities or ()
    )


def _minor(site: Site) -> int:
    """The minor version of the cluster's API server; the newest that is known where it is not."""
    versions = site.cluster.value.versions
    written = versions.kubernetes if versions is not None else None
    parts = (written or "").removeprefix("v").split(".")
    return int(parts[1]) if len(parts) > 1 else LATEST


def placed(
    run: Run, member: Member, site: Site, template: tuple[str, ...], breach: Breach
) -> Found:
    """A breach with the place that says it: `pod:`, the job's own fields, or the base."""
    level = level_of(site)
    because: tuple[tuple[Route | Place, str], ...] = ()
    if level != "privileged":
        because = ((site.cluster.place("pod_security"), "the level of the namespaces"),)
    own = _in_pod(member, breach)
    if own is not None:
        return Found(breach, level, run.routes(member, "pod", *own), None, False, because)
    words = _in_words(run, member, breach)
    if words is not None:
        return Found(breach, level, words, None, False, because)
    below = _in_base(site, template, breach)
    if below is not None and site.base is not None:
        job = ((run.origins.anchor, "in this job"),)
        place = site.base.place((*template, *below))
        return Found(breach, level, (), place, True, (*because, *job))
    # Nobody says it: the job could, under `security:`.
    said = run.origins.node(run.routes(member, "security"))
    own_file = said is not None and said.path == run.origins.anchor.path
    route = run.routes(member, "security") if own_file else ()
    return Found(breach, level, route, None, False, because)


def _in_pod(member: Member, breach: Breach) -> Route | None:
    """The route in `pod:` of the field, or of the container that lacks it."""
    node: Any = member.pod
    if not isinstance(node, Mapping):
        return None
    route: list[str | int] = []
    for depth, step in enumerate(breach.path):
        inner: Node | None = None
        if isinstance(node, Sequence):
            field = str(route[-1])
            for index, item in enumerate(node):
                if isinstance(item, Mapping) and str(item.get(_key(field), "")) == step:
                    inner = item
                    route.append(index)
                    break
        elif isinstance(node, Mapping):
            inner = node.get(step)
            if inner is not None:
                route.append(step)
        if inner is None:
            # A container of its own that leaves out what is demanded.
            mine = breach.value is None and depth > 2 and _introduced(member, breach.container)
            return tuple(route) if mine else None
        node = inner
    if isinstance(node, Sequence) and breach.value in node:
        route.append(node.index(breach.value))
    return tuple(route)


def _key(field: str) -> str:
    return LIST_KEYS.get(field, ("name",))[0]


def _introduced(member: Member, name: str) -> bool:
    return name != CONTAINER and all(one.name != name for one in (*member.init, *member.sidecars))


def _in_words(run: Run, member: Member, breach: Breach) -> Route | None:
    """The route of the field in a declaration's own words, whichever layer set it."""
    if breach.control == "capabilities" and breach.value in member.security.capabilities:
        index = member.security.capabilities.index(breach.value)
        return run.routes(member, "security", "capabilities", index)
    if breach.path[:2] == ("metadata", "annotations"):
        name = breach.path[2]
        said = any(key == name for key, _ in member.annotations)
        return run.routes(member, "annotations", name) if said else None
    route = _WORDS.get(breach.path)
    if route == ("host_network",):
        return route if run.host_network else None
    if route is not None and breach.value is not None:
        return run.routes(member, *route)
    for kind, companions in (("init", member.init), ("sidecars", member.sidecars)):
        for index, companion in enumerate(companions):
            if companion.name == breach.container:
                return run.routes(member, kind, index)
    return None


def _in_base(site: Site, template: tuple[str, ...], breach: Breach) -> Route | None:
    """The route of the field in the base's template, or of what it is missing from."""
    value: Object | list[Any] | Any = template_of(site, template)
    route: list[str | int] = []
    for step in breach.path:
        if isinstance(value, list):
            listed = cast("list[Object]", value)
            key = _key(str(route[-1]))
            index = next((i for i, one in enumerate(listed) if str(one.get(key, "")) == step), None)
            if index is None:
                break
            route.append(index)
            value = listed[index]
        elif isinstance(value, dict) and step in value:
            route.append(step)
            value = cast("Object", value)[step]
        else:
            break
    else:
        return tuple(route)
    # The profile of every pod, and what its own containers must say, is the base's to say.
    its_own = len(route) > 2 and breach.container != CONTAINER
    demanded = breach.path[-1] == "seccompProfile" and bool(route)
    return tuple(route) if breach.value is None and (its_own or demanded) else None
