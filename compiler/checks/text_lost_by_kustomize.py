"""A text does not come through kustomize.

## What it does
Reports DEL, C1 control characters (U+0080 to U+009F), U+FFFE and U+FFFF in any text that reaches
the Kubernetes objects, files of `files:` included; and text of several lines that starts with a
tab, outside of files.

## Why it is bad
kustomize passes each object on as JSON, where such characters stand as themselves, and reads that
as YAML, which refuses them, or turns U+0085 into a space. The process would get another text than
the one that was declared, or the build would stop. Text of several lines becomes a literal block on
the way, and no reader takes a tab for the indentation of its first line.

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

import re
from collections.abc import Iterator

from compiler.diagnostics import Place, Severity
from compiler.model import File, Run
from compiler.nodes import Mapping, Node, Scalar, walk
from compiler.rules import Report, Route, Rule
from compiler.site import Site
from compiler.wording import texts
from compiler.yamlout import LOST_BY_KUSTOMIZE, LOST_IN_PATCH

RULE = Rule(
    code="SRC117",
    severity=Severity.ERROR,
    stage="run",
    sources=("go.yaml.in/yaml: readerc.go yaml_parser_update_buffer", "YAML 1.2.2: section 5.1"),
)


# These tell people something, and reach no object.
_APART = frozenset({"description", "owner", "contact", "waive"})


def check(run: Run, site: Site) -> Iterator[Report]:
    """The texts that kustomize would not bring through."""
    seen: set[str] = set()
    for member in run.members:
        for file in member.files:
            if file.source not in seen:
                seen.add(file.source)
                yield from _in_file(file)
    for start, root in (((), run.origins.effective), (("master",), run.origins.master)):
        if root is None:
            continue
        # One look at all text tells that all is well, as it nearly always is.
        whole = "\n".join(texts(root))
        if whole.isascii() and "\x7f" not in whole and "\t" not in whole:
            continue
        for route, key, text in _lost(root):
            if route[0] not in _APART and text not in seen:
                seen.add(text)
                where = (*start, *route)
                yield Report(where, _message(text, "this text"), "take the character out", key=key)


def _in_file(file: File) -> Iterator[Report]:
    try:
        text = file.content.decode()
    except UnicodeDecodeError:
        return
    # With a control character of ASCII the file goes into the object as base64.
    found = None if _BASE64.search(text) else LOST_BY_KUSTOMIZE.search(text)
    if found is not None:
        before = text[: found.start()]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        yield Report(
            (),
            _message(text, f"the file {file.source}"),
            "take it out of the file",
            place=Place(file.source, line, column, line, column + 1),
        )


_BASE64 = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def _lost(root: Node) -> Iterator[tuple[Route, bool, str]]:
    """Each text that would be lost: its route, and whether it is the key there."""
    for route, node in walk(root):
        if isinstance(node, Scalar) and LOST_IN_PATCH.search(node):
            yield route, False, str(node)
        elif isinstance(node, Mapping):
            for key in node:
                if LOST_IN_PATCH.search(key):
                    yield (*route, str(key)), True, str(key)


def _message(text: str, what: str) -> str:
    found = LOST_IN_PATCH.search(text)
    assert found is not None
    if found[0] == "\t":
        return f"{what} starts with a tab and has several lines, which kustomize cannot read back"
    return f"{what} holds U+{ord(found[0]):04X}, which does not come through kustomize"
