"""Mutants of the engine and the fold: one fault each, put into the source as text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

# In the order in which they import one another.
MODULES = ("observations", "room", "union", "engine", "joined", "stops", "stopguard", "deciding")
PACKAGE = "compiler.runs"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: in this module, this text for that one."""

    name: str
    module: str
    old: str
    new: str


MUTANTS = (
    Mutant(
        "row a dropped: an error rule stops nothing from starting",
        "engine",
        'if found.starts or stops or found.action == "hold":',
        "if False:",
    ),
    Mutant(
        "row a: a broken file is read as absent",
        "deciding",
        "return Wanted(unusable=job.unusable)",
        'return Wanted(ends="removed", ends_because="")',
    ),
    Mutant(
        "row b dropped for `state: stopped`",
        "deciding",
        "    if job.stopped:\n",
        "    if False:\n",
    ),
    Mutant(
        "row c dropped: a held run stays for another declaration",
        "engine",
        'if not same or following.row in ("i", "j", "m"):',
        "if False:",
    ),
    Mutant(
        "row c asks before it knows how the active run will end",
        "engine",
        "next_run(cluster, wanted, ledger, None if stays else active)",
        "next_run(cluster, wanted, ledger, None)",
    ),
    Mutant(
        "row d compares the training alone",
        "engine",
        "(active.training, active.operation) == asked",
        "active.training == asked[0]",
    ),
    Mutant(
        "row f dropped: the active run goes before there is room",
        "engine",
        "    if following.starts and not fits(True):\n",
        "    if False:\n",
    ),
    Mutant(
        "row f asks for room beside the active run",
        "engine",
        "    if following.starts and not fits(True):\n",
        "    if following.starts and not fits(False):\n",
    ),
    Mutant(
        "row h wins over row i: what has succeeded starts again",
        "engine",
        "    if done is not None:\n        where",
        "    if done is not None and done.number < 0:\n        where",
    ),
    Mutant(
        "row i ignores other clusters",
        "engine",
        "and (run.cluster == cluster or run.cluster not in wanted.names)",
        "and run.cluster == cluster",
    ),
    Mutant(
        "row i believes in every cluster",
        "engine",
        "and (run.cluster == cluster or run.cluster not in wanted.names)",
        "and True",
    ),
    Mutant(
        "rows j and k swapped",
        "engine",
        "if any(run.operation == wanted.operation",
        "if not any(run.operation == wanted.operation",
    ),
    Mutant(
        "row l: an unguarded run of unknown end goes on",
        "engine",
        'if outcome == "incomplete" or just_now or (outcome == "unknown" and marked):',
        'if outcome in ("incomplete", "unknown"):',
    ),
    Mutant(
        "row l: the marker of a guarded run is trusted by an unguarded one",
        "engine",
        "marked = last.guarded and wanted.guarded",
        "marked = last.guarded",
    ),
    Mutant(
        "row l: a lineage of its own, from zero",
        "engine",
        "            lineage=last.lineage,\n            start_from=last.number,\n"
        "            image_of",
        "            image_of",
    ),
    Mutant(
        "unknown is treated as failed",
        "engine",
        'if outcome == "failed":',
        'if outcome in ("failed", "unknown") and not just_now:',
    ),
    Mutant(
        "withdrawn counts as launched",
        "engine",
        "if run.training == wanted.training and run.launched]",
        'if run.training == wanted.training and run.state != "held"]',
    ),
    Mutant(
        "row n dropped: what does not fit starts",
        "engine",
        "    if following.starts and not fits(False):\n",
        "    if False:\n",
    ),
    Mutant(
        "a number is used again",
        "deciding",
        "decide(item.cluster, wanted, ledger, fits, ledger.next_number)",
        "decide(item.cluster, wanted, ledger, fits,"
        " max((r.number for r in ledger.on(item.cluster)), default=0) + 1)",
    ),
    Mutant(
        "a held run takes a new number when it starts",
        "engine",
        '        return _start(following, held.number, ends, "e")\n    return _start',
        '        return _start(following, held.number + 1, ends, "e")\n    return _start',
    ),
    Mutant(
        "the release of a stopped run is ignored",
        "deciding",
        "            self.room.release(item.cluster, item.team, run.accelerators)",
        "            pass",
    ),
    Mutant(
        "room that comes free is not offered again",
        "deciding",
        "            if decision.waits:\n",
        "            if False:\n",
    ),
    Mutant(
        "a start takes no room",
        "deciding",
        "            self.room.take(item.cluster, item.team, target.demand)",
        "            pass",
    ),
    Mutant(
        "another compiler's digests are compared as they are",
        "fold",
        "books = _canonical(told.books, same or {})",
        "books = _canonical(told.books, {})",
    ),
    Mutant(
        "another compiler's digests are written over the first ones",
        "fold",
        "_as_recorded(deciding.books, told.books)",
        "deciding.books",
    ),
    Mutant(
        "what an observation does not find has ended",
        "observations",
        "    if seen is None or not run.launched:\n",
        "    if seen is None and run.active and observation.complete:\n"
        '        seen = Observed("succeeded")\n'
        "    if seen is None or not run.launched:\n",
    ),
    Mutant(
        "what publish has stopped is never heard of again",
        "observations",
        'and run.reason != "finished":',
        "and False:",
    ),
    Mutant(
        "a stop of policy does not look at the ledger",
        "stops",
        "        if covers_run:\n            of_run = of_run or stop\n",
        "",
    ),
    Mutant(
        "a stop of an image stops what runs an older one",
        "stops",
        "    if today and active is not None and not of_run and target is not None:",
        "    if False:",
    ),
    Mutant(
        "row l goes on with a stopped image",
        "deciding",
        "if old is None or not image_stopped(old, self.stops):",
        "if True:",
    ),
    Mutant(
        "`was` is forgotten",
        "joined",
        "{job.key: job.was for job in declared if job.was is not None}",
        "dict[Key, str]()",
    ),
    Mutant(
        "two files of one job are both believed",
        "joined",
        "if len(files) > 1 or len(late) > 1:",
        "if len(late) > 1:",
    ),
    Mutant(
        "the stop guard withholds nothing",
        "stopguard",
        "found if guard.withheld else {}",
        "{}",
    ),
    Mutant(
        "a reset forgets its runs",
        "fold",
        "if run.cluster in facts.reset and run.active:",
        "if False:",
    ),
    Mutant(
        "the union takes the newest ledger",
        "union",
        "known[run.number] = run if other is None else further(other, run)",
        "known[run.number] = run",
    ),
)


@contextmanager
def mutated(mutant: Mutant) -> Iterator[tuple[ModuleType, ModuleType]]:
    """The modules `fold` and `union` with the fault in them; the real ones are back afterwards."""
    names = [f"{PACKAGE}.{name}" for name in (*MODULES, "fold")]
    real = {name: import_module(name) for name in names}
    source = Path(str(real[f"{PACKAGE}.{mutant.module}"].__file__)).read_text(encoding="utf-8")
    assert source.count(mutant.old) == 1, (
        f"{mutant.name}: the text is there {source.count(mutant.old)} times"
    )
    changed = source.replace(mutant.old, mutant.new)
    package = import_module(PACKAGE)
    first = names.index(f"{PACKAGE}.{mutant.module}")
    try:
        for name in names[first:]:
            module = ModuleType(name)
            module.__file__ = real[name].__file__
            sys.modules[name] = module
            text = (
                changed if name == names[first] else Path(str(module.__file__)).read_text("utf-8")
            )
            exec(compile(text, str(module.__file__), "exec"), module.__dict__)
            setattr(package, name.rpartition(".")[2], module)
        yield sys.modules[f"{PACKAGE}.fold"], sys.modules[f"{PACKAGE}.union"]
    finally:
        for name, module in real.items():
            sys.modules[name] = module
            setattr(package, name.rpartition(".")[2], module)
