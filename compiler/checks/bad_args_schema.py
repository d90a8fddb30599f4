"""The schema of an image's arguments cannot be used.

## What it does
Reports an `args_schema` that is missing, outside of the repository, no JSON Schema (2020-12), too
long (256 KiB), too deep or too wide, that refers to itself or to anything outside of its file, or
whose `x-runwright` says something that is not known.

## Why it is bad
No job of the image is checked against its arguments, and nobody would notice. A schema that is
fetched from elsewhere would let whoever keeps it decide what passes.

## Example
```sh
sed -i 's/"type": "integer"/"type": "int"/' images/llm-sft/args.schema.json
```

## Use instead
```sh
sed -i 's/"type": "integer"/"type": "number"/' images/llm-sft/args.schema.json
```

## References
- JSON Schema 2020-12, Core, 8.2.3.1: a reference may name any address
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.arguments.schemafile import schema_file
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site

RULE = Rule(
    code="LCH576",
    severity=Severity.ERROR,
    stage="run",
    sources=("json-schema: draft 2020-12, Core, 8.2.3.1",),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The schemas of the run's images that are of no use, each where it is named."""
    for member in run.members:
        found = schema_file(member.image.name, site)
        if found is not None and found.wrong is not None:
            message, remedy = found.wrong
            message = f"the schema of the image {member.image.name} cannot be used: {message}"
            yield Report((), message, remedy, place=found.place)
