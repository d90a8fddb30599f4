"""What a reviewer should know of a run before it starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher

from compiler.model import Run
from compiler.quantity import duration_text
from compiler.runs.declared import Key, Target
from compiler.runs.engine import Decision
from compiler.runs.entries import Ledger
from compiler.runs.fold import JobDecision

# A last checkpoint of several gigabytes over a network takes longer than what is below this.
SHORT_GRACE = 60
# Two declarations with this share of equal lines are one that was moved and touched up.
_ALIKE = 0.8

MEANINGS: Mapping[str, str] = {
    "unguarded": "nothing in its pods notices that this training is done or that an older run "
    "still writes",
    "no-checkpoint": "it saves nothing: whatever interrupts it sends it back to the start",
    "short-grace": "it gets little time to write a last checkpoint when it is stopped",
    "unpinned-image": "its image has no digest: other bytes may stand behind the name tomorrow",
    "example-image": "its image is an example of this repository and does not exist",
    "looks-like-rename": "it looks like a job that is removed here under another name: without "
    "`was:` it starts from zero",
    "other-volume": "its checkpoints are looked for on another volume than they were saved on",
    "unobserved": "nobody has seen how the run before it ended",
}


def risks(run: Run | None, target: Target | None, decision: Decision) -> list[tuple[str, str]]:
    """The risks of a run that starts or waits: each a fixed word, and what it means here."""
    found: dict[str, str] = {}
    if run is not None:
        checkpoint = run.checkpoint
        if target is not None and not target.guarded:
            found["unguarded"] = MEANINGS["unguarded"]
        if checkpoint is None:
            found["no-checkpoint"] = MEANINGS["no-checkpoint"]
        elif run.grace < SHORT_GRACE:
            found["short-grace"] = (
                f"{MEANINGS['short-grace']} (grace {duration_text(run.grace)}; "
                f"`stop: {{grace: 5m}}`)"
            )
        images = [member.image for member in run.members]
        if any(image.digest is None for image in images):
            found["unpinned-image"] = MEANINGS["unpinned-image"]
        if any(image.example for image in images):
            found["example-image"] = MEANINGS["example-image"]
    if any(note.startswith("unobserved") for note in decision.notes):
        found["unobserved"] = MEANINGS["unobserved"]
    return list(found.items())


def renames(
    decisions: Sequence[JobDecision],
    before: Mapping[Key, Ledger],
    texts: Mapping[Key, str],
) -> dict[tuple[Key, str], str]:
    """New jobs that look like one that is gone: (team and job, cluster) -> the old name.

    `texts` are today's declarations. A job is gone if it has runs and no declaration; it is the
    same if its last run has the same training, or if most of its lines are there again.
    """
    gone = {
        key: ledger
        for key, ledger in before.items()
        if ledger.runs and not any(name in texts for name in _names(key, ledger))
    }
    found: dict[tuple[Key, str], str] = {}
    for item in decisions:
        key = (item.team, item.job)
        known = before.get((item.team, item.book))
        if not (item.decision.starts or item.decision.action == "hold"):
            continue
        if item.target is None or (known is not None and known.runs):
            continue
        for (team, name), ledger in gone.items():
            if team == item.team and _same(item.target, ledger, texts.get(key, "")):
                found[key, item.cluster] = name
                break
    return found


def _names(key: Key, ledger: Ledger) -> Iterable[Key]:
    return (key, *((key[0], other) for other in ledger.also))


def _same(target: Target, ledger: Ledger, text: str) -> bool:
    last = ledger.runs[-1]
    if any(run.training == target.training for run in ledger.runs):
        return True
    lines = [[line for line in one.splitlines() if line.strip()] for one in (last.declared, text)]
    if not all(lines):
        return False
    return SequenceMatcher(None, *lines, autojunk=False).ratio() >= _ALIKE
