"""An argument that the image needs is not given.

## What it does
Looks for the arguments that the image's schema requires in `args:` and in the command, and in the
`args` of the team's and the image's defaults.

## Why it is bad
The program ends at its command line, on every node, after the queue and the pull.

## Example
```sh
cat > images/tts.schema.json <<'END'
{"type": "object", "required": ["voices"],
 "properties": {"voices": {"type": "string"}, "rate": {"type": "integer", "default": 24000}}}
END
sed -i '/^  tts:/a\\    args_schema: images/tts.schema.json' images/lock.yaml
cat > jobs/example.yaml <<'END'
team: nlp
image: tts
command: [torchrun, -m, tts.train]
args: {rate: 22050}
accelerators: H100:8
queue: research
max_duration: 24h
END
```

## Use instead
```sh
cat > images/tts.schema.json <<'END'
{"type": "object", "required": ["voices"],
 "properties": {"voices": {"type": "string"}, "rate": {"type": "integer", "default": 24000}}}
END
sed -i '/^  tts:/a\\    args_schema: images/tts.schema.json' images/lock.yaml
cat > jobs/example.yaml <<'END'
team: nlp
image: tts
command: [torchrun, -m, tts.train]
args: {voices: /data/voices, rate: 22050}
accelerators: H100:8
queue: research
max_duration: 24h
END
```

## References
- BAAI-DCAI/Bunny#46
- mindverse/Second-Me#137
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.arguments.judging import reports
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH573",
    severity=Severity.ERROR,
    stage="run",
    sources=("BAAI-DCAI/Bunny#46", "mindverse/Second-Me#137"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The arguments that the image needs and nothing gives."""
    yield from reports("missing-argument", run, site)
