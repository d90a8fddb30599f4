"""A script ends with 0 whatever its training ends with.

## What it does
Reports what hides the exit code of a training in the script of a shell: `|| true` or another
command that cannot fail, a pipe into `tee` or another filter without `pipefail`, `&` with nothing
that waits, a last `echo` or `exit 0` without `set -e`. A script with branches, functions or traps,
or that looks at `$?`, is left alone.

## Why it is bad
A run whose command ends with 0 is complete: it counts as succeeded, is not tried again, and takes
up its last checkpoint no more. One that failed in its first minute looks the same. A training
behind `&` is killed as soon as the script has come to its end, because its container ends then.

## Example
```yaml
team: nlp
image: llm-sft
command: [bash, -c, "torchrun train.py --model /models/base-8b | tee /logs/train.log"]
accelerators: H100:8
queue: research
max_duration: 24h
mounts:
  /logs: {claim: logs}
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
command: [bash, -o, pipefail, -c, "torchrun train.py --model /models/base-8b | tee /logs/train.log"]
accelerators: H100:8
queue: research
max_duration: 24h
mounts:
  /logs: {claim: logs}
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- mapbox/ecs-conex#9
- neuro-inc/ml-recipe-bone-age#11
- GoogleCloudPlatform/container-engine-accelerators#608
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.launch import main, script
from compiler.model import Run
from compiler.programs import training
from compiler.rules import Report, Rule
from compiler.scriptend import Hidden, hidden
from compiler.shell import program
from compiler.site import Site

RULE = Rule(
    code="LCH551",
    severity=Severity.WARNING,
    stage="run",
    sources=(
        "mapbox/ecs-conex#9",
        "neuro-inc/ml-recipe-bone-age#11",
        "GoogleCloudPlatform/container-engine-accelerators#608",
    ),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The script, once for all members that share it."""
    told: set[object] = set()
    for member in run.members:
        container = training(run, member, site)
        found = script(container)
        launch = main(container)
        if found is None or launch is None or launch.launcher == "other" or not launch.scripted:
            continue
        word, index = found
        if word.route in told:
            continue
        words = [each.text for each in container.words]
        lost = hidden(words, index, launch.word.text)
        if lost is not None:
            told.add(word.route)
            message, remedy = _said(lost, bash="bash" in map(program, words[:index]))
            yield Report(word.route, message, remedy, word.related, place=word.place)


def _said(lost: Hidden, bash: bool) -> tuple[str, str]:
    if lost.how == "background":
        return (
            f"`&` leaves {lost.program} behind: the script ends with 0, and its container with it",
            "take `&` away",
        )
    if lost.how == "or":
        return (
            f"with `{lost.text}` the script ends with 0 also where {lost.program} fails",
            f"take `{lost.text}` away: a run that ends with 0 is complete, and not tried again",
        )
    if lost.how == "pipe":
        return (
            f"with `{lost.text}` the script ends with 0 also where {lost.program} fails",
            "write `set -o pipefail;` at its beginning"
            + ("" if bash else ", and take bash for it"),
        )
    return (
        f"the script ends with `{lost.text}`, and so with 0 also where {lost.program} fails",
        "write `set -e;` at its beginning: a run that ends with 0 is complete, and not tried again",
    )
