"""What a change does to jobs that it does not touch: which errors come and go, and why.

A change of policy, of a base or of an image reaches jobs whose own files stay as they are. Plan
tells which of them it newly fails or frees, by rule and by the line that does it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct

from compiler.diagnostics import Finding, Place
from compiler.policy.rules import RulesPolicy
from compiler.project import Project
from compiler.repository import Document
from compiler.results import JobResult
from compiler.rules import lookup
from compiler.runs.declared import Key
from compiler.runs.fold import Outcome
from compiler.runs.gathering import errors_by_path
from compiler.weights import weights

# So many names are told in words; programs get all of them.
NAMED = 10


class Effect(Struct, frozen=True):
    """A rule that some untouched jobs newly break (`fails`), or do not break any more.

    `place` is the line that does it, None where there is none to show; `running` are the runs of
    these jobs that go on all the same.
    """

    fails: bool
    rule: str
    code: str
    place: Place | None
    jobs: tuple[str, ...]
    running: tuple[str, ...] = ()


class Judgement(Struct):
    """One side of the comparison: the declarations of a tree by path, and all that is wrong there.

    A declaration whose team is gone has none, and is one of them all the same.
    """

    project: Project
    results: Mapping[str, JobResult]
    findings: list[Finding]


def effects(
    old: Judgement, new: Judgement, changed: Collection[str], outcome: Outcome
) -> list[Effect]:
    """What comes and goes between two trees that differ in the files `changed`, worst first."""
    before, after = _errors(old), _errors(new)
    groups: dict[tuple[bool, str, str, Place | None], list[Key]] = {}
    for path, result in new.results.items():
        earlier = old.results.get(path)
        if earlier is None or _touched(earlier, result):
            continue
        key = (result.team or earlier.team, result.job or earlier.job)
        known, found = before.get(path, {}), after.get(path, {})
        for rule in sorted(known.keys() ^ found.keys()):
            fails = rule in found
            item = found[rule] if fails else known[rule]
            place = _why(item, result, earlier, old.project, new.project, changed)
            groups.setdefault((fails, rule, item.code, place), []).append(key)
    runs = _running(outcome)
    made = [
        Effect(
            fails,
            rule,
            code,
            place,
            tuple(f"{team}/{job}" for team, job in sorted(keys)),
            tuple(name for key in sorted(keys) for name in runs.get(key, ())),
        )
        for (fails, rule, code, place), keys in groups.items()
    ]
    return sorted(made, key=lambda one: (not one.fails, -len(one.jobs), one.code, one.jobs))


def _touched(old: JobResult, new: JobResult) -> bool:
    return (old.path, old.digest, old.depends) != (new.path, new.digest, new.depends)


def _errors(side: Judgement) -> dict[str, dict[str, Finding]]:
    """The first error of each rule that stands against a file; of one not judged, what is why."""
    by_path = errors_by_path(side.findings)
    made: dict[str, dict[str, Finding]] = {}
    for path, result in side.results.items():
        own = by_path.get(path, [])
        if not own and not result.models:
            own = _unread(result.team, side, by_path)
        for item in own:
            made.setdefault(path, {}).setdefault(item.rule, item)
    return made


def _unread(name: str, side: Judgement, by_path: Mapping[str, list[Finding]]) -> list[Finding]:
    """Why a job could not be judged: a file of policy, a base or an image cannot be read."""
    team = f"policy/teams/{name}.yaml"
    broken = sorted(side.project.policy.broken, key=lambda path: (path != team, path))
    return next((by_path[path][:1] for path in broken if path in by_path), list[Finding]())


def _why(
    item: Finding,
    new: JobResult,
    old: JobResult,
    before: Project,
    after: Project,
    changed: Collection[str],
) -> Place | None:
    """The line of policy behind an error that comes or goes, as near to the change as is known."""
    waivers = set(old.waivers) ^ set(new.waivers)
    for document in (*after.policy.waivers.values(), *before.policy.waivers.values()):
        if document.path in waivers and _is(document.value.rule, item.rule):
            return document.place("rule")
    weighed = [_weight(project, new.team, item.rule) for project in (after, before)]
    given = [weights(project.policy.rules, new.team).get(item.rule) for project in (after, before)]
    if given[0] != given[1]:
        return weighed[0] or weighed[1]
    places = [item.place, *(related.place for related in item.related)]
    places = [place for place in places if place.path != new.path]
    return next((one for one in places if one.path in changed), places[0] if places else None)


def _weight(project: Project, team: str, rule: str) -> Place | None:
    """The line of `policy/rules.yaml` that weighs a rule for a team."""
    rules = project.policy.rules
    if rules is None:
        return None
    own = (rules.value.teams or {}).get(team)
    places = (
        *_lines(rules, own.severity if own is not None else (), rule, ("teams", team, "severity")),
        *_lines(rules, rules.value.severity or (), rule, ("severity",)),
    )
    return next(iter(places), None)


def _lines(
    rules: Document[RulesPolicy], names: Iterable[str], rule: str, at: tuple[str, ...]
) -> Iterator[Place]:
    for name in names:
        if _is(name, rule):
            yield rules.place(*at, name)


def _is(word: str, rule: str) -> bool:
    known = lookup(word)
    return known is not None and known.name == rule


def _running(outcome: Outcome) -> dict[Key, list[str]]:
    """The names of the active runs of each job."""
    made: dict[Key, list[str]] = {}
    for item in outcome.decisions:
        ledger = outcome.ledgers.get((item.team, item.book))
        active = ledger.active(item.cluster) if ledger is not None else None
        if active is not None:
            made.setdefault((item.team, item.job), []).append(f"{item.team}/{active.name}")
    return made


def told_effects(found: Iterable[Effect]) -> Iterator[str]:
    """Each effect in a line or two, with the first jobs by name."""
    for one in found:
        several = len(one.jobs) > 1
        verb = "newly break" if one.fails else "no longer break"
        where = "" if one.place is None else f" ({one.place.path}:{one.place.line or 1})"
        subject = f"{len(one.jobs):,} jobs {verb}" if several else f"1 job {verb}s"
        yield f"{subject} {one.code} {one.rule}{where}: {folded(one.jobs)}"
        if one.fails and one.running:
            yield f"  these runs go on, and no new one starts: {folded(one.running)}"


def folded(names: tuple[str, ...] | list[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
