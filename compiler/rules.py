"""The rules, found by a walk over `compiler/checks/`.

A rule is one module. Its docstring is the page that `explain` prints, `RULE` holds its code and
severity, its file name (with hyphens) is its name. What it does depends on its stage:

* ``source``: the reader or the model validation reports it through `finding()`; the module has
  no function.
* ``run``: ``check(run, site)`` yields `Report`s about one effective run.
* ``object``: ``check(run, site, objects)`` sees the Kubernetes objects that a back end made.
* ``repository``: ``check(jobs, repository)`` sees all jobs together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Literal

from msgspec import Struct

from compiler.diagnostics import Edit, Finding, Place, Related, Severity
from compiler.walk import modules

Stage = Literal["source", "run", "object", "repository"]
Kind = Literal["form", "policy", "advice"]
Route = tuple[str | int, ...]
_LONG = 400
_NAMED = re.compile(r"`([^`]*)`")


class Rule(Struct, frozen=True):
    """What is fixed about a rule: code (family + 3 digits), weight, stage, and its sources.

    `sources` names the public reports (`owner/repo#n`) or source lines that the rule answers.
    `policy` marks an error that only policy makes one: the run itself would work.
    """

    code: str
    severity: Severity
    stage: Stage
    sources: tuple[str, ...]
    since: str = "0.1"
    summary: str = ""
    policy: bool = False

    @property
    def kind(self) -> Kind:
        """Who may weigh it otherwise.

        Of `form` nobody: what breaks it cannot run, or does harm. Of `policy` whoever keeps the
        policy; of `advice`, which is no error by itself, for a while a job too.
        """
        if self.severity is not Severity.ERROR:
            return "advice"
        return "policy" if self.policy else "form"


class Report(Struct, frozen=True):
    """What a check yields: the mistake at a route of the effective declaration.

    The route is a path of keys and indexes in the words of a declaration (`("mounts", "/data",
    "claim")`); the runner turns it into the authored place, whichever layer set the value. With
    `key` the key is meant, not its value. `related` takes routes or ready places. `place`, where
    given, wins over the route.
    """

    route: Route
    message: str
    help: str = ""
    related: tuple[tuple[Route | Place, str], ...] = ()
    key: bool = False
    place: Place | None = None
    edits: tuple[Edit, ...] = ()


class Registered(Struct, frozen=True):
    """A rule with its name, page and check function (None for the `source` stage)."""

    name: str
    rule: Rule
    page: str
    check: Callable[..., Iterable[Report]] | None
    module: ModuleType

    @property
    def title(self) -> str:
        """The first line of the page, without its final full stop."""
        return self.page.strip().splitlines()[0].rstrip(".")


@cache
def registered() -> dict[str, Registered]:
    """All rules by name; raises ValueError on a double code, which a test turns into a failure."""
    from compiler import checks

    rules: dict[str, Registered] = {}
    codes: dict[str, str] = {}
    for stem in modules(checks.__path__):
        module = import_module(f"compiler.checks.{stem}")
        name = stem.replace("_", "-")
        rule: Rule = module.RULE
        if rule.code in codes:
            raise ValueError(f"{name} and {codes[rule.code]} both have the code {rule.code}")
        codes[rule.code] = name
        rules[name] = Registered(
            name, rule, module.__doc__ or "", getattr(module, "check", None), module
        )
    return rules


@cache
def of_stage(stage: Stage) -> Sequence[Registered]:
    """The rules of one stage, in the order of their codes."""
    return tuple(r for r in _by_code() if r.rule.stage == stage)


@cache
def checks_of(stage: Stage) -> Sequence[tuple[str, Callable[..., Iterable[Report]]]]:
    """The names and check functions of one stage's rules, in the order of their codes."""
    return tuple((r.name, r.check) for r in of_stage(stage) if r.check is not None)


@cache
def _by_code() -> tuple[Registered, ...]:
    return tuple(sorted(registered().values(), key=lambda r: r.rule.code))


def lookup(text: str) -> Registered | None:
    """The rule of a code (`RES403`, any case) or a name (`fractional-gpu`), else None."""
    rules = registered()
    if text in rules:
        return rules[text]
    return next((r for r in rules.values() if r.rule.code == text.upper()), None)


def finding(
    rule: str,
    place: Place,
    message: str,
    help: str = "",
    related: Iterable[Related] = (),
    edits: Iterable[Edit] = (),
) -> Finding:
    """A finding of the named rule, with the rule's own code and severity."""
    registered_rule = registered()[rule]
    return Finding(
        rule=rule,
        code=registered_rule.rule.code,
        severity=registered_rule.rule.severity,
        message=_in_a_line(message),
        place=place,
        help=_in_a_line(help),
        related=tuple(related),
        edits=tuple(edits),
    )


def _in_a_line(text: str) -> str:
    """A message on one line, with the start of each value that it names."""
    if not text.isprintable():
        # A line end or a control character of a file must not move what is printed around it.
        text = "".join(c if c.isprintable() else _escaped(c) for c in text)
    if len(text) <= _LONG:
        return text
    text = _NAMED.sub(lambda m: m[0] if len(m[1]) <= 80 else f"`{m[1][:77]}...`", text)
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}..."


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
