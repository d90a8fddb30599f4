"""How much findings weigh: severities of policy, and waivers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property

from msgspec import Struct

from compiler.diagnostics import Finding, Place, Related, Severity
from compiler.nodes import Mapping as Tree
from compiler.nodes import Scalar, Sequence
from compiler.policy.rules import RulesPolicy, WaiverPolicy
from compiler.repository import Document, Policy
from compiler.rules import Registered, finding, lookup

# So long before its last day a waiver is noticed, where policy does not say.
NOTICE_DAYS = 14
# Rules of the `source` stage that are found out about a run, and weigh as those of runs do.
_OF_A_RUN = frozenset({"expired-declaration"})


class Waiver(Struct, frozen=True):
    """A waiver as one job sees it: of a file under `policy/waivers/`, or its own (no `file`)."""

    rule: str
    until: date
    place: Place
    at: Place
    file: str = ""


def weights(rules: Document[RulesPolicy] | None, team: str) -> dict[str, str]:
    """The weights that policy gives for a team, by the names of rules; the team's own win.

    Rules that nobody may weigh are left out.
    """
    if rules is None:
        return {}
    own = (rules.value.teams or {}).get(team)
    made: dict[str, str] = {}
    for severity in (rules.value.severity, own.severity if own is not None else None):
        for name, weight in (severity or {}).items():
            registered = lookup(name)
            if registered is not None and registered.rule.kind != "form":
                made[registered.name] = weight
    return made


def obstacle(registered: Registered) -> str:
    """Why a rule cannot be waived by anybody; '' where it can."""
    if registered.rule.kind == "form":
        return "what breaks it cannot run"
    if registered.rule.stage in ("run", "object") or registered.name in _OF_A_RUN:
        return ""
    return "it is not about one job alone"


def concerns(waiver: WaiverPolicy, job: str) -> bool:
    """Whether a waiver is for a job, named as `team/name`."""
    return any(fnmatchcase(job, pattern) for pattern in waiver.jobs)


def noticed(until: date, today: date, policy: Policy) -> bool:
    """Whether a waiver that is in force ends soon."""
    wish = policy.rules.value.waiver_notice if policy.rules is not None else None
    return (until - today).days <= (NOTICE_DAYS if wish is None else wish // 86400)


def everywhere(
    findings: list[Finding],
    teams: Mapping[str, str],
    policy: Policy,
) -> list[Finding]:
    """Findings about several jobs, or about what was published, with the weights of policy.

    `teams` gives the team of a declaration by its path; other files are nobody's.
    """
    if not findings or policy.rules is None:
        return findings
    known: dict[str, dict[str, str]] = {}
    kept: list[Finding] = []
    for found in findings:
        team = teams.get(found.place.path, "")
        if team not in known:
            known[team] = weights(policy.rules, team)
        item = _weighed(found, known[team])
        if item is not None:
            kept.append(item)
    return kept


def _weighed(item: Finding, given: Mapping[str, str]) -> Finding | None:
    weight = given.get(item.rule)
    if weight is None:
        return item
    return None if weight == "off" else item.with_severity(Severity(weight))


class Weighing:
    """The weights and waivers of one job; it remembers which waivers were needed."""

    def __init__(self, policy: Policy, team: str, job: str, node: Tree, today: date) -> None:
        self.policy = policy
        self.team = team
        self.job = f"{team}/{job}"
        self.node = node
        self.today = today
        self.needed: set[Waiver] = set()

    @property
    def files(self) -> list[str]:
        """The paths of the waivers of policy that were needed."""
        return sorted({waiver.file for waiver in self.needed if waiver.file})

    @cached_property
    def _weights(self) -> dict[str, str]:
        return weights(self.policy.rules, self.team)

    @cached_property
    def _agreed(self) -> list[Waiver]:
        return _agreed(self.policy, self.job)

    @cached_property
    def _own(self) -> list[Waiver]:
        """The waivers that the job itself writes down."""
        made: list[Waiver] = []
        written = self.node.get("waive")
        for entry in written if isinstance(written, Sequence) else ():
            rule = entry.get("rule") if isinstance(entry, Tree) else None
            until = entry.get("until") if isinstance(entry, Tree) else None
            if isinstance(rule, Scalar) and isinstance(until, Scalar):
                try:
                    day = date.fromisoformat(str(until))
                except ValueError:
                    continue
                made += _waiver(str(rule), day, rule.place, until.place)
        return made

    def weighed(self, findings: list[Finding]) -> list[Finding]:
        """The findings as policy weighs them, without those that are waived.

        A job's own waiver is for what is no error: an error takes somebody who approves. What is
        reported because its waiver has ended says so.
        """
        kept: list[Finding] = []
        for found in findings:
            item = _weighed(found, self._weights)
            if item is None:
                continue
            own = self._own if item.severity is not Severity.ERROR else ()
            waivers = [one for one in (*self._agreed, *own) if one.rule == item.rule]
            valid = [one for one in waivers if one.until >= self.today]
            self.needed.update(valid)
            if not valid:
                kept.append(_lapsed(item, waivers))
        return kept

    def remarks(self, complete: bool) -> list[Finding]:
        """What there is to say of the job's own waivers; what is wrong with their rules is not.

        Only after a `complete` judgement it is known that one was not needed.
        """
        made: list[Finding] = []
        for waiver in self._own:
            known = lookup(waiver.rule)
            assert known is not None
            if self._weights.get(waiver.rule, known.rule.severity) == "error":
                continue
            if waiver.until < self.today:
                made.append(expired(waiver.at, waiver.until, "take the entry out, or mend the job"))
            elif waiver in self.needed:
                if noticed(waiver.until, self.today, self.policy):
                    made.append(ending(waiver.at, waiver.until, self.today, "is reported again"))
            elif complete:
                said = f"nothing here breaks `{waiver.rule}`"
                made.append(finding("unused-waiver", waiver.place, said, "take the entry out"))
        return [item for one in made if (item := _weighed(one, self._weights)) is not None]


def _agreed(policy: Policy, job: str) -> list[Waiver]:
    """The waivers of policy for a job."""
    made: list[Waiver] = []
    for document in policy.waivers.values():
        value = document.value
        if concerns(value, job):
            place = document.place("until")
            made += _waiver(value.rule, value.until, document.place("rule"), place, document)
    return made


def _waiver(
    name: str, until: date, place: Place, at: Place, document: Document[WaiverPolicy] | None = None
) -> Iterable[Waiver]:
    known = lookup(name)
    if known is not None and not obstacle(known):
        file = document.path if document is not None else ""
        yield Waiver(known.name, until, place, at, file)


def _lapsed(item: Finding, waivers: list[Waiver]) -> Finding:
    """The finding with the last of its waivers, all of which have ended."""
    if not waivers:
        return item
    last = max(waivers, key=lambda waiver: waiver.until)
    return Finding(
        item.rule,
        item.code,
        item.severity,
        f"{item.message} (waived until {last.until})",
        item.place,
        item.help,
        (*item.related, Related(last.at, "the end of the waiver")),
        item.edits,
    )


def expired(place: Place, until: date, remedy: str) -> Finding:
    """The finding about a waiver that has ended."""
    return finding("expired-waiver", place, f"the waiver has ended on {until}", remedy)


def ending(place: Place, until: date, today: date, then: str) -> Finding:
    """The finding about a waiver that is needed and ends soon."""
    days = (until - today).days
    left = "today" if days == 0 else "tomorrow" if days == 1 else f"in {days} days"
    return finding(
        "ending-waiver",
        place,
        f"the waiver ends {left}, on {until}; from then on what it waives {then}",
        "mend the jobs before, or have a later day approved",
    )
