"""What is wrong with the arguments of a run, by the schema of its image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct

from compiler.arguments import whole
from compiler.arguments.given import Given, given
from compiler.arguments.schema import Schema
from compiler.arguments.schemafile import schema_for
from compiler.arguments.values import read
from compiler.launch import Launch, launches
from compiler.model import Member, Run
from compiler.nodes import Mapping
from compiler.programs import FLAG_AND_VALUE, training
from compiler.rules import Report, Route
from compiler.site import Site
from compiler.suggestions import nearest

Rule = Literal[
    "unknown-argument",
    "wrong-argument",
    "argument-out-of-range",
    "missing-argument",
    "conflicting-arguments",
    "mismatched-arguments",
]
# An elastic run may have more sizes than anybody wants to hear of.
_SIZES = 512


class Known(Struct, frozen=True):
    """The arguments of one kind of node: values by name, defaults among them, and the words.

    A value is missing where neither the job nor the schema says it; `unsure` are those that only
    the running pod knows.
    """

    member: Member
    schema: Schema
    values: dict[str, Any]
    given: dict[str, Given]
    unsure: frozenset[str]
    launch: Launch


class Judgement(Struct, frozen=True):
    """All about the arguments of one run."""

    known: tuple[Known, ...]
    problems: tuple[tuple[Rule, Report], ...]


_last: list[tuple[Run, Judgement]] = []


def reports(rule: Rule, run: Run, site: Site) -> Iterator[Report]:
    """What one rule reports of a run."""
    for name, report in judged(run, site).problems:
        if name == rule:
            yield report


def judged(run: Run, site: Site) -> Judgement:
    """The judgement of a run; several rules ask for the same one in turn."""
    if _last and _last[0][0] is run:
        return _last[0][1]
    known: list[Known] = []
    problems: list[tuple[Rule, Report]] = []
    for member in run.members:
        schema = schema_for(member.image.name, site)
        launch = None if schema is None else _training(run, member, site)
        if schema is None or launch is None:
            continue
        one = _known(run, site, member, schema, launch, problems)
        known.append(one)
        if not problems:
            problems += _together(run, one)
    made = Judgement(tuple(known), tuple(problems))
    _last[:] = [(run, made)]
    return made


def _training(run: Run, member: Member, site: Site) -> Launch | None:
    """The launch of the script that the image's entry names, whoever starts it."""
    about = site.images.get(member.image.name or "")
    wanted = [word for word in about.value.entry if word[:1] != "-"] if about is not None else []
    for launch in launches(training(run, member, site)):
        if launch.target is None:
            continue
        # A foreign image has no entry here: its schema is about whatever its jobs start.
        if about is None or launch.target.text in wanted:
            return launch
    return None


def _known(
    run: Run,
    site: Site,
    member: Member,
    schema: Schema,
    launch: Launch,
    problems: list[tuple[Rule, Report]],
) -> Known:
    values: dict[str, Any] = {}
    found: dict[str, Given] = {}
    unsure: set[str] = set()
    for item in given(launch.rest, launch.constants, schema):
        prop = item.prop
        if prop is None:
            # A flag and its value in one word have a finding (command-in-one-word).
            if schema.closed and not FLAG_AND_VALUE.fullmatch(item.words[0].text.strip()):
                problems.append(("unknown-argument", _unknown(run, item, schema, member)))
            continue
        if prop.style == "repeat" and prop.name in found:
            before = found[prop.name]
            item = Given(item.name, prop, before.texts + item.texts, before.words + item.words)
        elif prop.name in found and prop.name not in unsure:
            message = f"`{prop.name}` is given a second time, and takes one value"
            problems.append(
                ("wrong-argument", _report(item, 0, message, "write one value, once", key=True))
            )
            unsure.add(prop.name)
        found[prop.name] = item
        if not item.texts:
            problems.append(
                (
                    "wrong-argument",
                    _report(item, 0, f"`{prop.name}` has no value", "write one behind it"),
                )
            )
            unsure.add(prop.name)
    for name, item in found.items():
        assert item.prop is not None
        texts = [text for text in item.texts if text is not None]
        if len(texts) != len(item.texts) or not texts:
            unsure.add(name)
            continue
        value, fault = read(item.prop, texts)
        if fault is None:
            values[name] = value
            continue
        unsure.add(name)
        rule: Rule = "wrong-argument" if fault.kind == "type" else "argument-out-of-range"
        at = len(item.texts) - 1 if fault.index is None else fault.index
        problems.append((rule, _report(item, at, fault.message, fault.help)))
    elsewhere = schema.file is not None and schema.file in found
    for name, prop in schema.properties.items():
        if name in found:
            continue
        if elsewhere:
            unsure.add(name)
        elif prop.required:
            unsure.add(name)
            problems.append(("missing-argument", _missing(run, member, name, site)))
        elif prop.default is not None:
            values[name] = prop.default
    return Known(member, schema, values, found, frozenset(unsure), launch)


def _unknown(run: Run, item: Given, schema: Schema, member: Member) -> Report:
    image = member.image.name
    if not item.name:
        shown = item.words[0].text
        return _report(
            item,
            0,
            f"`{shown[:60]}` belongs to no argument of the image {image}",
            "write the name of an argument before it, or take it out",
        )
    near = nearest(item.name.replace("-", "_"), schema.spellings)
    real = schema.spellings[near] if near is not None else None
    keyed = isinstance(run.origins.node(item.words[0].route[:-1]), Mapping)
    if real is None:
        names = sorted(schema.properties)
        shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
        remedy = f"write one of: {shown}" if names else "take it out: the image takes none"
    else:
        remedy = f"write `{real}`" if keyed else f"write `--{real}`"
    return _report(item, 0, f"the image {image} has no argument `{item.name}`", remedy, key=keyed)


def _report(item: Given, at: int, message: str, help: str, key: bool = False) -> Report:
    """A finding at the word that holds a value, or at the name."""
    words = item.words
    # Words are the name and its values, or one for each value.
    values = words[max(0, len(words) - len(item.texts)) :]
    word = words[0] if item.prop is None or not values else values[min(at, len(values) - 1)]
    return Report(word.route, message, help, word.related, key=key, place=word.place)


def _missing(run: Run, member: Member, name: str, site: Site) -> Report:
    route = run.routes(member, "args")
    if run.origins.node(route) is None:
        route = run.routes(member, "image")
    return Report(
        route,
        f"the image {member.image.name} needs the argument `{name}`, and nothing gives it",
        f"add `{name}` to `args`",
        key=route[-1] == "args",
    )


def _together(run: Run, one: Known) -> Iterator[tuple[Rule, Report]]:
    """What is wrong between the arguments of one kind of node, each of them being right."""
    for names in one.schema.exclusive:
        both = [name for name in names if name in one.given]
        if len(both) > 1:
            second = one.given[both[1]]
            yield (
                "conflicting-arguments",
                _report(
                    second,
                    0,
                    f"`{both[1]}` and `{both[0]}` exclude each other",
                    f"take one of the two out: {' or '.join(f'`{name}`' for name in both)}",
                ),
            )
    yield from _sums(run, one)
    if one.schema.whole is not None and not one.unsure:
        own = {name: value for name, value in one.values.items() if name in one.given}
        for name, reason in whole.problems(one.schema.whole, own):
            if name is not None and name in one.given:
                yield "wrong-argument", _report(one.given[name], 0, reason, "see the schema")
            else:
                message = f"the schema of the image refuses these arguments: {reason}"
                yield "conflicting-arguments", Report(_anchor(run, one.member), message)


def _sums(run: Run, one: Known) -> Iterator[tuple[Rule, Report]]:
    for rule in one.schema.sums:
        names = set(rule.names)
        if names & one.unsure or any(name in one.given for name in rule.unless):
            continue
        if not names & one.given.keys():
            # Defaults alone: the job says nothing that could be wrong.
            continue
        for nodes in sizes(run):
            reason = rule.broken({**one.values, **of_size(run, nodes)})
            if reason is None:
                continue
            if run.elastic is not None and names & {"world_size", "nodes"}:
                reason += f" (with {nodes} node{'' if nodes == 1 else 's'})"
            place = (
                rule.at
                if rule.at in one.given
                else next(name for name in one.given if name in names)
            )
            yield "mismatched-arguments", _report(one.given[place], 0, reason, rule.message)
            break


def sizes(run: Run) -> Sequence[int]:
    """The numbers of nodes that a run may have, as far as anybody would try them."""
    least = run.least_nodes
    return [*range(least, min(run.nodes, least + _SIZES) + 1)]


def of_size(run: Run, nodes: int) -> dict[str, int]:
    """What a rule may know of a run with so many nodes."""
    processes = run.others.processes
    world = run.first.processes + processes * (nodes - 1)
    return {"nodes": nodes, "processes": processes, "world_size": world}


def _anchor(run: Run, member: Member) -> Route:
    route = run.routes(member, "args")
    return route if run.origins.node(route) is not None else run.routes(member, "image")
