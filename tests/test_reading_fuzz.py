"""Reading survives anything, within bounds, and agrees with ruamel.yaml on what both accept."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import ruamel.yaml
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from yaml.cyaml import CParser

from compiler import tree
from compiler.diagnostics import Finding
from compiler.nodes import Mapping, Node, Scalar, Sequence, plain, walk
from compiler.source import LIMIT, MOST, decode
from compiler.tree import NODES, read

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared" / "cases"
CORPUS = sorted(
    path
    for folder in (ROOT / "jobs", ROOT / "policy", ROOT / "base", ROOT / "tests" / "cases", SHARED)
    for path in folder.rglob("*.yaml")
)

# Pieces that YAML gives a meaning to: joined at random they find what hand-made text does not.
PIECES = st.sampled_from(
    [
        *("a", "b", "a: ", "b: ", "- ", "\n", "\n  ", "\n    ", "\r\n", "\r", "  ", "\t", '"', "'"),
        *("[", "]", "{", "}", ",", ":", "? ", "#", " # x", "|\n  x\n", ">-\n  y\n", "|2\n"),
        *("&x ", "*x", "---\n", "...\n", "!t ", "!!str ", "<<: ", "%", "@", "`", "\\", "~", "é"),
        *("😀", "\u00a0", "\x7f"),
    ]
)
LINES = st.sampled_from(
    [
        *("a: 1", "b:", "  c: x", "  - d", "- e", "    f: 'g'", '    "h": i j', "  # n", ""),
        *("k: [l, {m: n}]", "o: &x {p: q}", "r: *x", "s: |", "  t", "   u", "v: >", "w: x"),
        *("  y", "z: {", "}", "]", "---"),
    ]
)


def load(data: bytes) -> tuple[Node | None, list[Finding]]:
    source, findings = decode("jobs/a.yaml", data)
    if source is None:
        return None, findings
    return read(source, mapping=False)


def sane(data: bytes) -> None:
    """Whatever the bytes: a tree or a reason, and places that lie in the file."""
    root, findings = load(data)
    assert root is not None or findings
    assert len(findings) <= 16 * MOST
    lines = data.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for one in findings:
        assert one.message.isprintable(), one
        assert one.help.isprintable(), one
        assert len(one.message) + len(one.help) < 600, one
        for place in (one.place, *(related.place for related in one.related)):
            if place.line is None:
                continue
            assert place.column is not None
            assert 1 <= place.line <= len(lines), one
            assert place.column >= 1, one
            assert place.end_line is not None
            assert place.end_column is not None
            assert (place.line, place.column) <= (place.end_line, place.end_column), one
    if root is not None:
        for _, node in walk(root):
            assert (node.line, node.column) <= (node.end_line, node.end_column), node
            # An empty value after a last line without an end stands, to libyaml, on the next one.
            assert 1 <= node.line <= node.end_line <= len(lines) + 1, node


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    sane(data)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=100))
def test_any_text_is_read_or_refused(text: str) -> None:
    sane(text.encode(errors="ignore"))


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join) | st.lists(LINES, max_size=20).map("\n".join))
def test_any_yaml_like_text_is_read_or_refused_and_agrees_with_ruamel(text: str) -> None:
    sane(text.encode())
    compare(text)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_declaration_with_one_change_is_read_or_refused(data: st.DataObject) -> None:
    """One cut, one insertion or one doubled stretch: the mistakes of real editing."""
    text = data.draw(st.sampled_from(CORPUS)).read_text()[:3000]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    middle = data.draw(st.one_of(PIECES, st.just(""), st.just(text[start:end] * 2)))
    changed = text[:start] + middle + text[end:]
    sane(changed.encode())
    compare(changed)


# --- bounds --------------------------------------------------------------------------------------

FULL = LIMIT - 10
ADVERSARIES = {
    "deep lists": "[" * FULL,
    "deep spaced lists": "[ " * (FULL // 2),
    "deep lists in lines": "[\n" * (FULL // 2),
    "deep mappings": "{a: " * (FULL // 4),
    "deep mixed": "[a: " * (FULL // 4),
    "deep block lists": "- " * (FULL // 2),
    "deep block mappings": "\n".join(" " * n + "a:" for n in range(700)),
    "deep explicit keys": "? " * (FULL // 2),
    "open mapping with many keys": "{a," * (FULL // 3),
    "flat flow": "{{{{{" + "a," * (FULL // 2 - 5),
    "many simple keys": "[" * 60 + "a," * (FULL // 2 - 60),
    "many list items": "- a\n" * (FULL // 4),
    "many lists": "- [a]\n" * (FULL // 6),
    "many equal keys": "k: v\n" * (FULL // 5),
    "many keys": "".join(f"k{n}: v\n" for n in range(20_000)),
    "many keys that are lists": "[a]: b\n" * (FULL // 7),
    "many merges": "a: &a {b: 1}\n" + "<<: *a\n" * (FULL // 8),
    "many tags": "- !t a\n" * (FULL // 7),
    "many anchors": "".join(f"- &a{n} x\n" for n in range(19_000)),
    "many anchored lists": "".join(f"- &a{n} [x]\n" for n in range(9_000)),
    "one anchor many times": "- &a x\n" * (FULL // 7),
    "many aliases": "- &a x\n" + "- *a\n" * (FULL // 5 - 7),
    "many wide aliases": "- &a [" + "x, " * 1000 + "]\n" + "- *a\n" * 19_000,
    "many aliases of nothing": "- *a\n" * (FULL // 5),
    "many recursive aliases": "&a [" + "*a , " * (FULL // 5 - 4) + "]",
    "nested anchors": "".join(" " * n + f"- &a{n}\n" for n in range(62)),
    "long anchor": "a: &" + "a" * FULL,
    "long alias": "a: *" + "a" * (FULL - 4),
    "long tag": "a: !" + "a" * FULL,
    "long directive": "%" + "a" * FULL,
    "long key": "a" * FULL + ": b",
    "long text without end": 'a: "' + "a" * FULL,
    "long escapes": 'a: "' + "\\x41" * (FULL // 4 - 4) + '"',
    "long word": "a" * FULL,
    "long line without colon": "a: 1\n" + "b c " * (FULL // 4 - 5),
    "newlines": "\n" * FULL,
    "newlines in quotes": "a: 'x" + "\n" * (FULL - 10) + "'",
    "newlines in bare text": "a: x" + "\n" * (FULL - 20) + "  y",
    "newlines in block": "a: |\n  x" + "\n" * (FULL - 10),
    "many blocks": "- |\n" * (FULL // 4),
    "many blocks with blank lines": "- |\n  x\n\n\n" * (FULL // 10),
    "lone carriage returns": "\r" * FULL,
    "tabs": "\t" * FULL,
    "tab lines": "\t\n" * (FULL // 2),
    "tab values": "a:\n" + "-\tx\n" * (FULL // 4 - 1),
    "comments": "# x\n" * (FULL // 4),
    "documents": "---\n" * (FULL // 4),
    "ends": "a: 1\n" + "...\n" * (FULL // 4 - 2),
    "no-break spaces": "- \u00a0x\n" * (FULL // 6),
    "invisible": "\u200bx" * (FULL // 4),
    "controls": "\x07x" * (FULL // 2),
    "colons": ": " * (FULL // 2),
    "second keys": "a: b: " + "c: " * (FULL // 3 - 3),
    "quotes": "'" * FULL,
    "brackets closed": "a: 1\n" + "]" * (FULL - 5),
    "backslashes": 'a: "' + "\\" * (FULL - 10),
    "key-like lines of spaces": " " * (FULL - 2) + ":",
    "dashes": "-" * FULL,
    "dashes before an error": "- " * 50 + "a: b: " + "- " * (FULL // 2 - 100),
    "unclosed after many lines": 'a: "' + "b\n" * (FULL // 2 - 10) + '" "',
    "bytes that are no text": None,
}


def content(name: str) -> bytes:
    text = ADVERSARIES[name]
    return b"\xff" * FULL if text is None else text.encode()


@pytest.mark.parametrize("name", ADVERSARIES)
def test_hostile_files_are_read_or_refused_after_a_bounded_number_of_events(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    class Counting:
        def __init__(self, text: str) -> None:
            self.parser: Any = CParser(text)

        def get_event(self) -> Any:
            nonlocal calls
            calls += 1
            return self.parser.get_event()

    monkeypatch.setattr(tree, "CParser", Counting)
    data = content(name)
    assert len(data) <= LIMIT
    sane(data)
    # Two events for each empty document, two for each list or mapping, one for each text.
    assert calls <= 2 * NODES + 10 or name == "documents"


def test_hostile_files_need_little_memory() -> None:
    """In a process of its own, all of them after one another stay below 300 MB."""
    program = (
        "from tests.peaks import peak\n"
        "from tests.test_reading_fuzz import ADVERSARIES, content, load\n"
        "before = peak()\n"
        "for name in ADVERSARIES: load(content(name))\n"
        "print(before, peak())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (120, 120)),
    )
    before, after = (int(part) for part in done.stdout.split())
    assert after - before < 100_000_000
    assert after < 300_000_000


# --- the oracle ----------------------------------------------------------------------------------
#
# Known differences, none of which `compare` can see:
# * ruamel refuses tabs between the parts of a line, and so do we, after libyaml has read them;
#   it takes them inside brackets, where we refuse them too.
# * ruamel refuses a `---` at the end of a file; an empty document is nothing here.
# * ruamel takes tags, merge keys, complex keys, doubled keys, lone surrogates as escapes, keys
#   without text, `:` beside brackets in more places, and files that hold nothing.
# * A text at the top level with the indicator `|` may start at column 1 for ruamel.
# * ruamel gives an empty value the place of the next token, here it stands behind its key.


def compare(text: str) -> bool:
    """Assert equality with ruamel.yaml where both accept the text; tells whether both did."""
    root, findings = load(text.encode())
    if root is None or findings or isinstance(root, Scalar):
        return False
    try:
        other = ruamel.yaml.YAML(typ="safe", pure=True).compose(text.removeprefix("\ufeff"))
    except (ruamel.yaml.error.YAMLError, ValueError):
        return False
    assert shape(root) == their_shape(other)
    return True


def shape(node: Node) -> Any:
    place = (node.line, node.column)
    if isinstance(node, Scalar):
        return (str(node), node.style, place if node or node.style else None)
    if isinstance(node, Mapping):
        return ([(shape(key), shape(value)) for key, value in node.items()], place)  # type: ignore[arg-type]
    assert isinstance(node, Sequence)
    return ([shape(item) for item in node], place)


def their_shape(node: Any) -> Any:
    place = (node.start_mark.line + 1, node.start_mark.column + 1)
    if node.id == "scalar":
        style = node.style or ""
        return (node.value, style, place if node.value or style else None)
    if node.id == "mapping":
        return ([(their_shape(key), their_shape(value)) for key, value in node.value], place)
    return ([their_shape(item) for item in node.value], place)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_real_files_read_as_ruamel_reads_them(path: Path) -> None:
    """Also with one `a: b` line before them, and with other line ends."""
    text = path.read_text()
    parts = [part for part in text.split("\n---") if part.strip()]
    for part in parts:
        content = part if len(parts) > 1 else text
        root, findings = load(content.encode())
        if root is None:  # a comment, or a manifest that is none
            assert findings
            continue
        assert findings or compare(content)
        assert findings or compare(content.replace("\n", "\r\n"))


VALUES = st.recursive(
    st.text(max_size=12)
    | st.sampled_from(["", "on", "1e-5", "a: b", "# x", "'", '"', "- x", "é "]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(st.text(max_size=6), VALUES, min_size=1, max_size=5),
    st.sampled_from([None, "'", '"', "|", ">"]),
    st.sampled_from([None, True, False]),
    st.sampled_from([20, 80, 10_000]),
    st.booleans(),
)
def test_what_pyyaml_writes_is_read_back_letter_for_letter(
    value: dict[str, Any], style: str | None, flow: bool | None, width: int, unicode: bool
) -> None:
    text = yaml.dump(
        value,
        Dumper=yaml.CSafeDumper,
        default_style=style,
        default_flow_style=flow,
        width=width,
        allow_unicode=unicode,
        sort_keys=False,
    )
    compare(text)
    root, findings = load(text.encode())
    if not unicode:
        assert findings == []
    if root is not None and not findings:
        assert plain(root) == value
