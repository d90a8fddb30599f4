"""`was`: two names of one job, joined for ever.

The ledger stays where the job's first run put it and remembers every name (`Ledger.also`), so a
reverted rename finds all runs again, whichever of its files is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from compiler.runs.declared import Declared, Key
from compiler.runs.entries import Ledger


class Joined(Struct):
    """All ledgers, which of them is a job's, and the declarations with two-file jobs unusable."""

    books: dict[Key, Ledger]
    book_of: dict[Key, Key]
    declared: list[Declared]


class Clash(Struct, frozen=True):
    """Names of one job that have two files, or two ledgers with runs (`late`): not to be joined."""

    names: frozenset[Key]
    files: tuple[Key, ...]
    late: tuple[Key, ...]

    @property
    def said(self) -> str:
        """What is wrong, in words."""
        if len(self.files) > 1:
            both = " and ".join(name for _, name in self.files)
            return f"{both} are one job, declared by two files"
        both = " and ".join(name for _, name in self.late)
        return f"{both} have runs of their own: `was` comes too late"


def joined(ledgers: Mapping[Key, Ledger], declared: Sequence[Declared]) -> Joined:
    """Follow what the ledgers remember and what `was` says today.

    A join that would give one job two files, or two ledgers with runs, is not made: every job that
    it concerns is unusable, and none of them is read as absent.
    """
    books = dict(ledgers)
    # Also of a file that cannot be used: what it was called before is not absent.
    was = {job.key: job.was for job in declared if job.was is not None}
    found = groups({key: ledger.also for key, ledger in books.items()}, was)
    if not found:
        return Joined(books, {job.key: job.key for job in declared}, list(declared))
    present = {job.key for job in declared}
    home = {name: key for key, ledger in books.items() for name in names(key, ledger)}
    contested: dict[Key, str] = {}
    for group in found:
        files = sorted(group & present)
        own = sorted({home[name] for name in group if name in home})
        with_runs = [key for key in own if books[key].runs]
        apart = clash(group, present, with_runs)
        if apart is not None:
            contested |= dict.fromkeys(group, apart.said)
        elif files and len(group) > 1:
            kept = (with_runs or own or files)[0]
            also = tuple(sorted(name for key in group - {kept} for name in (key[1],)))
            for key in own:
                del books[key]
            books[kept] = replace(ledgers.get(kept, Ledger(*kept)), also=also)
            home |= dict.fromkeys(group, kept)
    jobs = [
        replace(job, unusable=job.unusable or contested[job.key]) if job.key in contested else job
        for job in declared
    ]
    # A name without a file that a contested join concerns is not absent either.
    jobs += [
        Declared(*key, path="", unusable=why)
        for key, why in sorted(contested.items())
        if key not in present and home.get(key) == key
    ]
    book_of = {job.key: home.get(job.key, job.key) for job in jobs}
    return Joined(books, book_of, jobs)


def names(key: Key, ledger: Ledger) -> Iterable[Key]:
    """Every name of a ledger's job."""
    return (key, *((key[0], other) for other in ledger.also))


def groups(books: Mapping[Key, Iterable[str]], was: Mapping[Key, str]) -> list[set[Key]]:
    """The names that belong together, for those with more than one.

    `books` are the further names of each ledger, `was` the former name of each job that has one.
    """
    made: dict[Key, set[Key]] = {}
    pairs = [(key, (key[0], name)) for key, also in books.items() for name in also]
    pairs += [(key, (key[0], name)) for key, name in was.items()]
    for one, two in pairs:
        if one != two:
            merged = made.get(one, {one}) | made.get(two, {two})
            made |= dict.fromkeys(merged, merged)
    return list({id(group): group for group in made.values()}.values())


def clash(group: Iterable[Key], present: Iterable[Key], with_runs: Iterable[Key]) -> Clash | None:
    """Why names cannot be joined; None where they can.

    `present` are the names with a file, `with_runs` the ledgers of the group that have runs.
    """
    files = tuple(sorted(set(group) & set(present)))
    late = tuple(sorted(with_runs))
    if len(files) > 1 or len(late) > 1:
        return Clash(frozenset(group), files, late)
    return None
