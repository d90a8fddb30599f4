"""The run would use an image that is older than its folder.

## What it does
Compares what an image was built from, `source` in `images/lock.yaml`, with its folder and
`images/runtime/` as they are now. Tests, pages and `image.yaml` do not count. An image without
`source` and an example are left alone.

## Why it is bad
The code that a reviewer reads beside the job is not the code that runs. A mended mistake trains on,
and nothing says so.

## Example
```sh
mkdir -p images/tts
echo 'print("now")' > images/tts/train.py
echo 'entry: [torchrun, train.py]' > images/tts/image.yaml
sed -i '/^  tts:/,/example: true/s/example: true/source: sha256:0000/' images/lock.yaml
cat > jobs/example.yaml <<'END'
team: nlp
image: tts
accelerators: H100:8
queue: research
max_duration: 24h
END
```

## Use instead
```sh
mkdir -p images/tts
echo 'print("now")' > images/tts/train.py
echo 'entry: [torchrun, train.py]' > images/tts/image.yaml
cat > jobs/example.yaml <<'END'
team: nlp
image: tts
accelerators: H100:8
queue: research
max_duration: 24h
END
```

## References
- jwbron/egg#1763
- kernelci/kernelci-core#1500
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="OPS845",
    severity=Severity.WARNING,
    stage="run",
    sources=("jwbron/egg#1763", "kernelci/kernelci-core#1500"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The images of the run whose folder has changed since they were built."""
    for member in run.members:
        name = member.image.name
        if name is None or name not in site.changed_images or site.lock is None:
            continue
        yield Report(
            run.routes(member, "image"),
            f"the image {name} is older than images/{name}/: the run would use code of before",
            f"build it, and write its digest with `image pin {name}`",
            ((site.lock.place("images", name, "source"), "what it was built from"),),
        )
