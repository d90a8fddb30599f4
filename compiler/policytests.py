"""The tests of policy: each judges a small job, and compares what is found with what was expected.

The job is judged as if it were a file of `jobs/`, alone: rules about several jobs together have
nothing to look at. What is found keeps its place in the file of the test.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, time
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from compiler.diagnostics import Finding, Place, Severity, arrange
from compiler.nodes import Mapping, Node, Scalar, Sequence
from compiler.policy.expectation import Expected, PolicyTest
from compiler.project import Project
from compiler.repository import SUFFIXES, Repository
from compiler.rules import finding, lookup, registered
from compiler.source import Source, decode
from compiler.suggestions import choose
from compiler.tree import read
from compiler.validation import validate

FOLDER = "policy/tests"


class Missing(Struct, frozen=True):
    """A finding that was expected and did not come; `near` says what came in its place."""

    expected: Expected
    place: Place
    near: str


class Outcome(Struct):
    """What came of one test; `problems` are what is wrong with the test itself."""

    path: str
    description: str = ""
    problems: list[Finding] = field(default_factory=list[Finding])
    missing: list[Missing] = field(default_factory=list[Missing])
    unexpected: list[Finding] = field(default_factory=list[Finding])

    @property
    def passed(self) -> bool:
        """Whether everything came that was expected, and nothing else."""
        return not (self.problems or self.missing or self.unexpected)


def policy_tests(repository: Repository) -> list[Path]:
    """The tests of a repository, in the order of their paths."""
    found = (repository.root / FOLDER).rglob("*")
    return sorted(path for path in found if path.suffix in SUFFIXES and path.is_file())


def outcomes(project: Project, paths: Iterable[Path]) -> Iterator[Outcome]:
    """What comes of each test; tests of other days share the policy of the project."""
    days: dict[str, Project] = {}
    for path in paths:
        shown = project.repository.relative(path)
        outcome = Outcome(shown)
        source, node, test = _read(project.repository, path, outcome)
        if source is None or node is None or test is None:
            yield outcome
            continue
        judge = project
        if test.day is not None:
            moment = datetime.combine(test.day, time(12), UTC)
            judge = days.setdefault(str(test.day), Project(project.repository, at=moment))
            judge.__dict__["policy"] = project.policy
        _compare(outcome, node, test, _found(judge, source, node, test))
        yield outcome


def _read(
    repository: Repository, path: Path, outcome: Outcome
) -> tuple[Source | None, Mapping | None, PolicyTest | None]:
    shown = outcome.path
    if not repository.contains(path):
        message = f"{shown} is a link to a file outside the repository"
        remedy = "put the file itself here"
        outcome.problems = [finding("link-out-of-repository", Place.start(shown), message, remedy)]
        return None, None, None
    source, outcome.problems = decode(shown, repository.read_bytes(path))
    node, found = read(source) if source is not None else (None, [])
    outcome.problems += found
    if not isinstance(node, Mapping):
        return source, None, None
    test, found = validate(PolicyTest, node, "a policy test")
    outcome.problems += found
    if test is None or outcome.problems:
        return source, node, None
    outcome.description = test.description or ""
    for index, expected in enumerate(test.expect):
        known = lookup(expected.rule)
        if known is None:
            place = _entry(node, index, "rule")
            message = f"there is no rule called `{expected.rule}`"
            remedy = choose(expected.rule, registered())
            outcome.problems.append(finding("unknown-name-in-policy", place, message, remedy))
    return source, node, None if outcome.problems else test


def _entry(node: Mapping, index: int, key: str = "rule") -> Place:
    entries = node["expect"]
    assert isinstance(entries, Sequence)
    entry = entries[index]
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return value.place if value is not None else entry.place


def _found(project: Project, source: Source, node: Mapping, test: PolicyTest) -> list[Finding]:
    """What is found about the job of a test, at places in the test's file."""
    alone = _alone(source, node["job"])
    path = project.repository.root / "jobs" / f"{test.name or 'test'}.yaml"
    shown = project.repository.relative(path)
    result = project.judge(path, alone.encode())

    def here(place: Place) -> Place:
        return replace(place, path=source.path) if place.path == shown else place

    return arrange(
        replace(
            item,
            place=here(item.place),
            related=tuple(replace(one, place=here(one.place)) for one in item.related),
        )
        for item in result.findings
    )


def _alone(source: Source, job: Node) -> str:
    """The text of the test with all but its job blanked, so that every place stays what it is."""
    first = next(iter(job), None) if isinstance(job, Mapping) and not job.flow else None
    start = first.place if isinstance(first, Scalar) else job.place
    end = job.place
    assert start.line is not None
    assert start.column is not None
    assert end.end_line is not None
    assert end.end_column is not None
    kept = source.lines[start.line - 1 : end.end_line]
    if kept:
        kept[-1] = kept[-1] if end.end_line > len(source.lines) else kept[-1][: end.end_column - 1]
        kept[0] = " " * (start.column - 1) + kept[0][start.column - 1 :]
    return "\n" * (start.line - 1) + "\n".join(kept) + "\n"


def _compare(outcome: Outcome, node: Mapping, test: PolicyTest, found: list[Finding]) -> None:
    needed = [item for item in found if item.severity is not Severity.NOTICE]
    seen: list[Finding] = []
    for index, expected in enumerate(test.expect):
        same = [item for item in found if _differs(expected, item, node) == ""]
        seen += same
        if not same:
            place = _entry(node, index)
            outcome.missing.append(Missing(expected, place, _near(expected, found, node)))
    outcome.unexpected = [item for item in needed if item not in seen]


def _differs(expected: Expected, item: Finding, node: Mapping) -> str:
    """What a finding of the expected rule has otherwise, in words; '' where it is the expected one.

    Another rule's finding is no candidate at all: that is `another rule`.
    """
    known = lookup(expected.rule)
    if known is None or known.name != item.rule:
        return "another rule"
    if expected.severity is not None and expected.severity != item.severity:
        return f"it came as {_a(item.severity)}"
    if expected.at is not None and not _is_at(expected.at, item, node):
        return f"it came at {item.place.path}:{item.place.line or 1}"
    if expected.message is not None and expected.message not in item.message:
        return f"it says: {item.message}"
    return ""


def _a(word: str) -> str:
    return f"an {word}" if word == "error" else f"a {word}"


def _near(expected: Expected, found: list[Finding], node: Mapping) -> str:
    known = lookup(expected.rule)
    assert known is not None
    for item in found:
        if known.name == item.rule:
            return _differs(expected, item, node)
    if known.rule.stage == "repository":
        return "this rule is about several jobs together, and a test has one"
    if expected.at is not None and not _is_file(expected.at) and not _field(expected.at, node):
        return f"the job has no `{expected.at}`"
    hindering = [item for item in found if item.severity is Severity.ERROR]
    if known.rule.stage == "object" and hindering:
        return "it is looked for only where nothing else is wrong"
    return ""


def _is_file(word: str) -> bool:
    return word.endswith(SUFFIXES)


def _is_at(at: str, item: Finding, node: Mapping) -> bool:
    if _is_file(at):
        return item.place.path == at
    wanted = _field(at, node)
    if wanted is None or item.place.path != wanted.path:
        return False
    spot = (item.place.line or 0, item.place.column or 0)
    start = (wanted.line or 0, wanted.column or 0)
    return start <= spot < (wanted.end_line or 0, wanted.end_column or 0)


def _field(at: str, node: Mapping) -> Place | None:
    """From the key of a field of the job to the end of its value; None where there is none."""
    return _below(at, node["job"])


def _below(at: str, node: Node) -> Place | None:
    if isinstance(node, Mapping):
        # The longest key first: a path in `mounts` may hold dots.
        for key in sorted(node, key=len, reverse=True):
            name = str(key)
            if at != name and not at.startswith((f"{name}.", f"{name}[")):
                continue
            value, rest = node[key], at[len(name) :].removeprefix(".")
            deeper = _below(rest, value) if rest else None
            if rest and deeper is None:
                continue
            assert isinstance(key, Scalar)
            start, end = key.place, value.place
            return deeper or replace(start, end_line=end.end_line, end_column=end.end_column)
    elif isinstance(node, Sequence) and at.startswith("["):
        number, _, rest = at[1:].partition("]")
        if number.isdecimal() and int(number) < len(node):
            item = node[int(number)]
            return _below(rest.removeprefix("."), item) if rest else item.place
    return None
