"""What the ledger's runs are by the measure of today's compiler and policy.

The ledger keeps each declaration as it was written, and both sides of a comparison are read by the
same compiler: so neither its upgrade nor a change of policy restarts anything. What a declaration
of before comes to is kept in the cache, by the content of all that it rests on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from hashlib import sha256
from pathlib import Path

from msgspec.structs import replace

from compiler.arguments.schemafile import paths
from compiler.cachefile import load_cached, save_cached
from compiler.digests import operation, training
from compiler.memory import context, state_of
from compiler.model import Member, Run
from compiler.project import Project
from compiler.results import Ask, JobResult
from compiler.runs.entries import Entry, Ledger
from compiler.runs.fold import Key
from compiler.site import operational_env

Digests = tuple[str, str]
"""Of the training, and of the operation."""
# The trees that one question is about, and those of the questions before it.
_CONTEXTS = 6


def today_digests(
    project: Project, results: Mapping[Key, JobResult], ledgers: Mapping[Key, Ledger]
) -> dict[tuple[Key, int], Digests]:
    """The digests of the ledger's runs as today's compiler and policy compute them.

    Where the old text cannot be judged any more, the recorded digests stand. `results` are what is
    declared now.
    """
    memory = _Memory(project)
    same: dict[tuple[Key, int], Digests] = {}
    for key, ledger in ledgers.items():
        result = results.get(key)
        seen: dict[tuple[str, str, str], Digests | None] = {}
        for run in ledger.runs:
            text = (run.declared, run.cluster, repr(sorted(run.files.items())))
            if text not in seen:
                found = _unchanged(project, run, result) or memory.digests(key, run, result)
                seen[text] = found
            now = seen[text]
            if now is not None:
                same[key, run.number] = now
    memory.save()
    return same


class _Memory:
    """What declarations of before come to, as it was found out once."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.file = project.repository.cache / "digests.json"
        # The day counts for what is found in a declaration, not for what it comes to.
        repository, policy = project.repository, project.policy
        self.context = context(repository, date.min, None)
        # They decide which words `args` becomes.
        schemas = {name: state_of(repository, name) for name in paths(policy.images, policy.lock)}
        if schemas:
            self.context += sha256(repr(sorted(schemas.items())).encode()).hexdigest()
        self._all: dict[str, dict[str, list[str] | None]] = {}
        with suppress(OSError, ValueError, TypeError, AttributeError):
            stored = json.loads(load_cached(self.file))
            digest = sha256(json.dumps(stored["contexts"]).encode()).hexdigest()
            if digest == stored["digest"]:
                self._all = dict(stored["contexts"])
        self._known = self._all.pop(self.context, {})
        self._changed = False

    def digests(self, key: Key, run: Entry, result: JobResult | None) -> Digests | None:
        """The digests of a run; None where its text cannot be judged."""
        name = self._name(key, run, result)
        if name not in self._known:
            self._known[name] = found = self._judged(key, run, result)
            self._changed = True
            return None if found is None else (found[0], found[1])
        kept = self._known[name]
        return None if kept is None else (kept[0], kept[1])

    def _name(self, key: Key, run: Entry, result: JobResult | None) -> str:
        repository = self.project.repository
        there = [not state_of(repository, name).startswith("none") for name in sorted(run.files)]
        parts = (
            *key,
            self._path(key, result),
            run.cluster,
            sorted(run.files.items()),
            there,
            run.declared,
        )
        return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _path(self, key: Key, result: JobResult | None) -> str:
        return result.path if result is not None else f"jobs/{key[0]}/{key[1]}.yaml"

    def _judged(self, key: Key, run: Entry, result: JobResult | None) -> list[str] | None:
        path = self.project.repository.root / Path(self._path(key, result))
        judged = self.project.judge(path, run.declared.encode(), {run.cluster: Ask()})
        model = judged.models.get(run.cluster)
        return None if model is None else list(_digests(self.project, model, run))

    def save(self) -> None:
        """Keep what was found out; a cache that cannot be written is worked without."""
        if not self._changed:
            return
        last = list(self._all.items())[-(_CONTEXTS - 1) :]
        contexts = {**dict(last), self.context: self._known}
        digest = sha256(json.dumps(contexts).encode()).hexdigest()
        text = json.dumps({"digest": digest, "contexts": contexts})
        save_cached(self.file, text.encode())


def _digests(project: Project, model: Run, run: Entry) -> Digests:
    patterns = operational_env(project.policy.rules)
    model = _with_files(model, run.files)
    return training(model, patterns), operation(model, patterns)


def _with_files(model: Run, digests: Mapping[str, str]) -> Run:
    """The model with the files that the run was started with: their content has no other record."""

    def then(member: Member) -> Member:
        files = tuple(replace(file, digest=digests.get(file.source, "")) for file in member.files)
        return replace(member, files=files) if files else member

    others = then(model.others)
    first = others if model.first is model.others else then(model.first)
    return replace(model, first=first, others=others)


def _unchanged(project: Project, run: Entry, result: JobResult | None) -> Digests | None:
    """The digests where the declaration still says the same."""
    if result is None or result.source is None or result.node is None:
        return None
    model = result.models.get(run.cluster) if result.source.text == run.declared else None
    return None if model is None else _digests(project, model, run)
