"""A text holds a character that does not come through kustomize.

## What it does
Reports DEL, C1 control characters (U+0080 to U+009F), U+FFFE and U+FFFF in any text that reaches
the Kubernetes objects, files of `files:` included.

## Why it is bad
kustomize passes each object on as JSON, where such characters stand as themselves, and reads that
as YAML, which refuses them, or turns U+0085 into a space. The process would get another text than
the one that was declared, or the build would stop.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {MARK: "a\\x85b"}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
env: {MARK: "a b"}
```

## References
- go.yaml.in/yaml: readerc.go yaml_parser_update_buffer
- YAML 1.2.2: section 5.1
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from compiler.diagnostics import Place, Severity
from compiler.model import Run
from compiler.nodes import Mapping, Node, Scalar, walk
from compiler.rules import Report, Route, Rule
from compiler.site import Site
from compiler.yamlout import LOST_BY_KUSTOMIZE

RULE = Rule(
    code="SRC117",
    severity=Severity.ERROR,
    stage="object",
    sources=("go.yaml.in/yaml: readerc.go yaml_parser_update_buffer", "YAML 1.2.2: section 5.1"),
)


def check(run: Run, site: Site, objects: Sequence[Any]) -> Iterator[Report]:
    """The texts that kustomize would not bring through."""
    # JSON has these characters as they are: one search tells that all is well.
    if not LOST_BY_KUSTOMIZE.search(json.dumps(objects, ensure_ascii=False)):
        return
    lost = {text for thing in objects for text in _texts(thing) if LOST_BY_KUSTOMIZE.search(text)}
    if not lost:
        return
    files = {file.source: file for member in run.members for file in member.files}
    for source, file in files.items():
        text = file.content.decode("utf-8", "replace")
        if text in lost:
            found = LOST_BY_KUSTOMIZE.search(text)
            assert found is not None
            before = text[: found.start()]
            line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
            lost.discard(text)
            yield Report(
                (),
                _message(text, f"the file {source}"),
                "take it out of the file",
                place=Place(source, line, column, line, column + 1),
            )
    for route, key, text in _declared(run):
        if any(text in other for other in lost) and LOST_BY_KUSTOMIZE.search(text):
            lost = {other for other in lost if text not in other}
            yield Report(route, _message(text, "this text"), "take the character out", key=key)
    for text in sorted(lost):
        yield Report((), _message(text, f"the text {text!r:.40}"), "take the character out")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():  # type: ignore[misc]
            yield str(key)  # type: ignore[misc]
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:  # type: ignore[misc]
            yield from _texts(item)


def _declared(run: Run) -> Iterator[tuple[Route, bool, str]]:
    roots: list[tuple[Route, Node | None]] = [((), run.origins.effective)]
    roots.append((("master",), run.origins.master))
    for start, root in roots:
        for route, node in walk(root) if root is not None else ():
            if isinstance(node, Scalar):
                yield (*start, *route), False, str(node)
            elif isinstance(node, Mapping):
                for key in node:
                    yield (*start, *route, str(key)), True, str(key)


def _message(text: str, what: str) -> str:
    found = LOST_BY_KUSTOMIZE.search(text)
    assert found is not None
    return f"{what} holds U+{ord(found[0]):04X}, which does not come through kustomize"
