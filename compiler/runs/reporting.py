"""An account as text and as JSON; `compiler.runs.markdown` makes a comment of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from compiler.quantity import duration_text
from compiler.quota.wording import lines_of
from compiler.runs.account import Account, Held, Line
from compiler.runs.effects import NAMED, Effect, told_effects
from compiler.terminal import visible

VERSION = 1
WILL_NOT_START = "WILL NOT START"
# Beside the actions, what a line can be about; the order is that in which a reviewer asks.
ADOPT = "adopt"
SECTIONS: tuple[tuple[str, str], ...] = (
    (ADOPT, "ADOPTS"),
    ("start", "STARTS"),
    ("resume", "RESUMES"),
    ("stop", "STOPS"),
    ("hold", "HELD"),
    ("withdraw", "WITHDRAWN"),
    ("none", WILL_NOT_START),
    ("blocked", "BLOCKED"),
)
_NOTHING = frozenset("ijm")


class Report(Struct):
    """An account with what it was made against.

    `source` and `published` are commits: the one that the account is measured from, and the newest
    publish commit, '' for none. `head` says what was looked at, `notes` what else a reader should
    know. `diff` is the rendered difference, `now` the time that ages are counted to. `pending` says
    that other lines would happen without the change, `effects` which jobs it fails or frees that it
    does not touch. `verdict` are the limits and budgets that what it starts would pass.
    """

    account: Account
    source: str
    published: str
    now: datetime
    head: str = ""
    notes: list[str] = field(default_factory=list[str])
    diff: str = ""
    pending: list[Line] = field(default_factory=list[Line])
    title: str = "publish"
    effects: list[Effect] = field(default_factory=list[Effect])
    verdict: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def sections(account: Account) -> Iterator[tuple[str, list[Line]]]:
    """The parts of the account that are not empty, in the order of `SECTIONS`."""
    for action, title in SECTIONS:
        lines = [line for line in account.news if _kind(line) == action and told(line)]
        if lines:
            yield title, lines


def _kind(line: Line) -> str:
    return ADOPT if line.adopted else line.action


def told(line: Line) -> bool:
    """Whether a line has something to say: of what stays, only what will not start has."""
    return line.adopted or line.action != "none" or bool(_NOTHING & set(line.rows))


def unchanged(report: Report) -> int:
    """The jobs, by cluster, that nothing happens to, with the change or without it."""
    account = report.account
    others = (*account.news, *due(report), *stuck(report))
    busy = {_place(line) for line in others if told(line)}
    return len({_place(line) for line in account.runs} - busy)


def due(report: Report) -> list[Line]:
    """What the next publish does without the change as well."""
    return [
        line for line in report.pending if line.adopted or line.action not in ("none", "blocked")
    ]


def stuck(report: Report) -> list[Line]:
    """What the next publish refuses without the change as well."""
    return [line for line in report.pending if line.action == "blocked" and not line.adopted]


def _place(line: Line) -> tuple[str, str, str]:
    return (line.cluster, line.team, line.job)


def as_json(report: Report) -> dict[str, Any]:
    """The account as docs/interfaces.md has it."""
    account = report.account
    guard = account.guard
    return {
        "version": VERSION,
        "base": {"source": report.source or None, "published": report.published or None},
        "head": report.head or None,
        "observed": [
            {"cluster": cluster, "at": at, "rests_on_it": resting(account, cluster)}
            for cluster, at in account.observed.items()
        ],
        "runs": [_line(line) for line in account.runs],
        "quota": [
            {
                "cluster": held.cluster,
                "team": held.team,
                "accelerator": held.accelerator,
                "before": held.before,
                "after": held.after,
                "limit": held.limit,
            }
            for held in account.quota
        ],
        "verdict": list(report.verdict),
        "guard": None
        if guard is None
        else {
            "runs": guard.runs,
            "names": list(guard.names),
            "accelerators": guard.accelerators,
            "running": guard.running,
            "share": str(guard.share),
            "withheld": guard.withheld,
            "text": guard.text,
        },
        "effects": [_effect(one) for one in report.effects],
        "grandfathered": [
            {
                "cluster": line.cluster,
                "team": line.team,
                "job": line.job,
                "number": line.number,
                "reason": reason,
            }
            for line, reason in grandfathered(account)
        ],
        "unchanged": unchanged(report),
        "due": len({_place(line) for line in due(report)}),
        "stuck": len({_place(line) for line in stuck(report)}),
        "notes": list(report.notes),
    }


def _effect(one: Effect) -> dict[str, Any]:
    place = one.place
    return {
        "effect": "fails" if one.fails else "frees",
        "code": one.code,
        "rule": one.rule,
        "path": place.path if place is not None else None,
        "line": place.line if place is not None else None,
        "jobs": list(one.jobs),
        "running": list(one.running),
    }


def grandfathered(account: Account) -> Iterator[tuple[Line, str]]:
    """The runs that go on although an error stands against their declaration, and the error."""
    mark = "grandfathered: "
    for line in account.runs:
        for note in line.notes:
            if note.startswith(mark):
                yield line, note.removeprefix(mark)


def _line(line: Line) -> dict[str, Any]:
    return {
        "cluster": line.cluster,
        "team": line.team,
        "job": line.job,
        "number": line.number,
        "name": line.name,
        "action": line.action,
        "row": line.row,
        "reason": line.reason,
        "change": line.change or None,
        "from": line.came_from,
        "lineage": line.lineage,
        "accelerators": dict(line.accelerators),
        "nodes": line.nodes,
        "hours": line.hours or None,
        "cost": line.cost or None,
        "currency": line.currency or None,
        "risks": [code for code, _ in line.risks],
        "replaces": line.replaces,
        "differences": list(line.differences),
        "notes": list(line.notes),
        "caused": line.caused,
        "adopted": line.adopted,
    }


def resting(account: Account, cluster: str) -> list[str]:
    """The jobs whose decision rests on what was seen on a cluster."""
    names = {
        f"{line.team}/{line.job}"
        for line in account.news
        if line.cluster == cluster and line.observed and told(line)
    }
    return sorted(names)


def as_text(report: Report) -> str:
    """The account for a terminal."""
    account = report.account
    lines = [heading(report)]
    for title, entries in sections(account):
        lines += ["", title]
        for entry in entries:
            lines.append(f"  {visible(subject(entry))}")
            lines += [f"    {visible(said)}" for said in details(entry)]
    lines += ["", *summary(report)]
    lines += _block("policy", [visible(row) for row in effect_lines(report)])
    lines += _block("grandfathered", [visible(row) for row in grandfathered_lines(account)])
    lines += _block("quota (accelerators held)", quota_lines(account.quota))
    lines += _block("verdict", [visible(row) for row in lines_of(report.verdict)])
    lines += _block("observed", observed_lines(report))
    if account.guard is not None:
        lines += ["", f"stop guard: {account.guard.text}"]
    lines += _block("notes", [visible(note) for note in report.notes])
    if report.diff:
        lines += ["", *(visible(row) for row in report.diff.splitlines())]
    return "\n".join(lines) + "\n"


def _block(title: str, rows: Sequence[str]) -> list[str]:
    return ["", title, *(f"  {row}" for row in rows)] if rows else []


def heading(report: Report) -> str:
    """What was compared with what."""
    base = report.source[:12] or "nothing"
    published = report.published[:12]
    said = f"published up to {published}" if published else "nothing published yet"
    if report.title == "publish":
        return f"publish of {base} ({said})"
    return f"{report.title}: {visible(report.head)} against {base} ({said})"


def subject(line: Line) -> str:
    """The run or the job of a line, where it is, and what it holds."""
    name = f"{line.team}/{line.name or line.job}"
    said = f"{name} on {line.cluster}" if line.cluster else name
    held = holding(line)
    return f"{said}  {held}" if held else said


def holding(line: Line) -> str:
    """Accelerators and nodes: `32 × H100 on 4 nodes`."""
    if line.nodes is None:
        return ""
    nodes = "1 node" if line.nodes == 1 else f"{line.nodes} nodes"
    devices = " + ".join(
        f"{count} × {name}" for name, count in line.accelerators.items() if name != "cpu"
    )
    return f"{devices} on {nodes}" if devices else f"{nodes} without accelerators"


def price(line: Line) -> str:
    """What a run may use and cost at the most; '' for one that only ends."""
    if line.action not in ("start", "resume", "hold"):
        return ""
    unit = "node-hours" if set(line.accelerators) <= {"cpu"} else "accelerator-hours"
    hours = f"at most {line.hours} {unit}" if line.hours else "no max_duration: no limit"
    if not line.cost:
        return f"{hours}; its cost cannot be told"
    return f"{hours}; at most {line.cost} {line.currency}".rstrip()


def details(line: Line) -> Iterator[str]:
    """What there is to say of a line, a phrase each."""
    yield f"{line.reason}{f' (row {line.row})' if line.row else ''}"
    if line.change:
        yield f"next: {line.change}"
    cost = price(line)
    if cost:
        yield cost
    if line.action in ("start", "resume", "hold"):
        if line.replaces is not None:
            yield f"in the place of r{line.replaces}"
        if line.came_from is not None:
            yield f"from the checkpoints of r{line.came_from}"
        elif line.action != "hold":
            yield "from zero"
    if line.compared is not None:
        yield from _changed(line)
    yield from (f"note: {note}" for note in line.notes)
    yield from (f"risk: {code}: {meaning}" for code, meaning in line.risks)


def _changed(line: Line) -> Iterator[str]:
    if not line.differences:
        yield f"declared as r{line.compared} was"
    for said in line.differences:
        yield f"since r{line.compared}: {said}"


def summary(report: Report) -> Iterator[str]:
    """What is left: a count of what stays, and, apart from it, of what would happen anyway."""
    count = unchanged(report)
    yield f"{count} unchanged" if report.account.news else f"nothing changes; {count} unchanged"
    for lines, what in ((due(report), "due at"), (stuck(report), "blocked for")):
        if lines:
            named = ", ".join(f"{line.team}/{line.name or line.job}" for line in lines[:5])
            more = f" and {len(lines) - 5} more" if len(lines) > 5 else ""
            jobs = len({_place(line) for line in lines})
            yield (
                f"{jobs} {what} the next publish, with or without this change:"
                f" {visible(named)}{more}"
            )


def effect_lines(report: Report) -> list[str]:
    """Which jobs the change fails or frees without touching them."""
    return list(told_effects(report.effects))


def grandfathered_lines(account: Account) -> list[str]:
    """The first runs that go on although nothing new would start, and how many more there are."""
    rows = [
        f"{line.team}/{line.name or line.job} on {line.cluster} goes on: {reason}"
        for line, reason in grandfathered(account)
    ]
    more = [f"and {len(rows) - NAMED:,} more"] if len(rows) > NAMED else []
    return rows[:NAMED] + more


def quota_lines(sums: Iterable[Held]) -> list[str]:
    """The sums that change, with what is allowed."""
    made: list[str] = []
    for held in sums:
        if held.before == held.after:
            continue
        what = "nodes without accelerators" if held.accelerator == "cpu" else held.accelerator
        limit = f" of {held.limit}" if held.limit is not None else ""
        over = "  over the limit" if held.limit is not None and held.after > held.limit else ""
        made.append(f"{held.cluster} {held.team} {what}: {held.before} → {held.after}{limit}{over}")
    return made


def observed_lines(report: Report) -> list[str]:
    """How old each cluster's last observation is, and which decisions rest on it."""
    made: list[str] = []
    for cluster, at in report.account.observed.items():
        names = resting(report.account, cluster)
        rests = f"; on it rest: {visible(', '.join(names))}" if names else ""
        made.append(f"{cluster}: {age(at, report.now)}{rests}")
    return made


def age(at: str | None, now: datetime) -> str:
    """A time and how long ago it was: `2026-03-01T10:00:00+00:00, 3h ago`."""
    if at is None:
        return "never observed"
    seconds = int((now - datetime.fromisoformat(at)).total_seconds())
    if seconds < 60:
        return f"{at}, just now"
    return f"{at}, {duration_text(seconds - seconds % _grain(seconds))} ago"


def _grain(seconds: int) -> int:
    """Ages are told in minutes, then hours, then days."""
    if seconds < 3600:
        return 60
    return 3600 if seconds < 2 * 86400 else 86400
