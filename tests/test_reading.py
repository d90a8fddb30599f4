"""Bytes to nodes: what is read, where it stands, and what is refused in which words."""

from __future__ import annotations

import hashlib
import tracemalloc

import pytest

from compiler.diagnostics import Finding, Place
from compiler.nodes import Mapping, Node, Scalar, Sequence, plain, walk
from compiler.source import LIMIT, Source, decode
from compiler.tree import DEPTH, NODES, read

CARRIER = """\
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
"""
VALUES = {
    "team": "nlp",
    "image": "llm-sft",
    "accelerators": "H100:8",
    "queue": "research",
    "max_duration": "24h",
    "checkpoint": {"claim": "checkpoints", "path": "/ckpt", "every": "30m", "keep": "3"},
}


def load(content: str | bytes, mapping: bool = True) -> tuple[Node | None, list[Finding]]:
    data = content.encode() if isinstance(content, str) else content
    source, findings = decode("jobs/a.yaml", data)
    if source is None:
        assert findings, "a file is refused without a reason"
        return None, findings
    assert not findings
    return read(source, mapping)


def tree(content: str | bytes) -> Mapping:
    root, findings = load(content)
    assert findings == []
    assert isinstance(root, Mapping)
    return root


def complaint(content: str | bytes) -> Finding:
    """The one finding of a file."""
    _, findings = load(content)
    assert len(findings) == 1, findings
    return findings[0]


def span(place: Place) -> tuple[int | None, ...]:
    return (place.line, place.column, place.end_line, place.end_column)


def at(finding: Finding) -> tuple[str, int | None, int | None]:
    return (finding.rule, finding.place.line, finding.place.column)


def authored(source: str, place: Place) -> str:
    """The text that a place covers."""
    lines = source.split("\n")
    assert place.line
    assert place.column
    assert place.end_line
    assert place.end_column
    if place.line == place.end_line:
        return lines[place.line - 1][place.column - 1 : place.end_column - 1]
    first, *middle = lines[place.line - 1 : place.end_line]
    return "\n".join([first[place.column - 1 :], *middle[:-1], middle[-1][: place.end_column - 1]])


# --- bytes ---------------------------------------------------------------------------------------


def test_the_digest_is_of_the_bytes_as_they_are() -> None:
    data = b"\xef\xbb\xbf" + CARRIER.replace("\n", "\r\n").encode()
    source, _ = decode("a.yaml", data)
    assert source is not None
    assert source.digest == hashlib.sha256(data).hexdigest()


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    root = tree(b"\xef\xbb\xbf" + CARRIER.encode())
    key = root.key("team")
    assert key is not None
    assert span(key.place) == (1, 1, 1, 5)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_wide_encodings_are_one_finding(encoding: str) -> None:
    assert at(complaint(CARRIER.encode(encoding))) == ("not-utf8", 1, 1)


@pytest.mark.parametrize(
    ("data", "line", "column", "named"),
    [
        (b"a: 1\nname: caf\xe9\n", 2, 10, "`é`"),
        ("é: ü\nb: x".encode() + b"\x80", 2, 5, "0x80"),
        (b"a: \xc0\xaf", 1, 4, "0xC0"),  # an overlong form
        (b"a: 1\r\nb: \xed\xa0\x80", 2, 4, "0xED"),  # a surrogate
        (b"a: 1\rb: 2\r\xf5", 3, 1, "0xF5"),
        ("a: 界".encode()[:-1], 1, 4, "0xE7"),  # cut off in the middle
    ],
)
def test_bytes_that_are_not_utf8_are_one_finding_with_the_place(
    data: bytes, line: int, column: int, named: str
) -> None:
    found = complaint(data)
    assert at(found) == ("not-utf8", line, column)
    assert f"line {line}, column {column}" in found.message
    assert named in found.message


def test_the_size_limit_is_exact() -> None:
    filler = b"#" * (LIMIT - len(CARRIER) - 1) + b"\n"
    assert plain(tree(CARRIER.encode() + filler)) == VALUES
    assert complaint(CARRIER.encode() + filler + b"\n").rule == "file-too-large"


def test_the_size_limit_is_a_parameter() -> None:
    source, findings = decode("a.yaml", b"a: 1\n", limit=4)
    assert source is None
    assert [one.rule for one in findings] == ["file-too-large"]


@pytest.mark.parametrize(
    "character",
    [*map(chr, (0, 1, 8, 11, 12, 27, 31, 127, 128, 133, 159, 0x2028, 0x2029, 0xFFFE, 0xFFFF))],
)
def test_control_characters_are_one_finding_at_their_place(character: str) -> None:
    found = complaint(f"a: 1\nb: x{character}y\n")
    assert (*at(found), found.place.end_column) == ("control-character", 2, 5, 6)
    assert f"U+{ord(character):04X}" in found.message


@pytest.mark.parametrize("where", ['"x{}"', "'x{}'", "x # {}", "|\n  x{}"])
def test_control_characters_are_refused_wherever_they_stand(where: str) -> None:
    assert complaint(f"a: {where.format(chr(0x7F))}\n").rule == "control-character"


def test_control_characters_may_be_written_as_escapes() -> None:
    value = tree('a: "\\x7f\\0\\e\\N\\L\\x85"\n')["a"]
    assert value == "\x7f\x00\x1b\x85\u2028\x85"


def test_a_run_of_bad_characters_is_one_finding_and_many_runs_are_counted() -> None:
    assert "2 more right after it" in complaint("a: x\x07\x07\x07\n").message
    _, findings = load("a: \x07 b\n" * 50)
    assert len(findings) == 20
    assert "(30 more such places" in findings[-1].message


@pytest.mark.parametrize(
    "character",
    [chr(n) for n in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]
    + ["\u200b", "\u200e", "\u200f", "\u061c", "\ufeff", "\u2060", "\u00ad", "\U000e0041"],
)
def test_invisible_characters_are_one_finding_wherever_they_stand(character: str) -> None:
    for content in (f"a: x{character}y\n", f'a: "x{character}y"\n', f"a: x #{character}\n"):
        found = complaint(content)
        assert found.rule == "invisible-character"
        assert found.place.column == content.index(character) + 1
        assert f"U+{ord(character):04X}" in found.message


def test_joiners_belong_to_emoji_and_scripts_that_need_them() -> None:
    assert tree("a: 👩\u200d🔬\nb: می\u200cخواهم\n")["a"] == "👩\u200d🔬"
    assert complaint("a: n\u200dlp\n").rule == "invisible-character"


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        ("a: x\u00a0y\n", 1, 5),
        ("a: 1\n\u00a0b: 2\n", 2, 1),
        ("a:\n\u00a0\u00a0b: 2\n", 2, 1),  # meant as indentation
        ("a: 1\n\u3000b: 2\n", 2, 1),
        ("a: [x,\u00a0y]\n", 1, 7),
        ("a\u2003b: 1\n", 1, 2),
        ("a: x\n  y\u202fz\n", 2, 4),
        ("a: 1\n  \u00a0b: 2\n", 2, 3),  # not the syntax error that comes of it
        ("a: 1\n\u00a0\u00a0b: 2\n   c: 3\n", 2, 1),
    ],
)
def test_spaces_that_are_none_are_one_finding(content: str, line: int, column: int) -> None:
    assert at(complaint(content)) == ("invisible-character", line, column)


@pytest.mark.parametrize("value", ['"10\u00a0%"', "'a\u00a0b'", "x #\u00a0note", "你好\u3000世界"])
def test_spaces_that_are_none_may_be_quoted_or_commented(value: str) -> None:
    tree(f"a: {value}\n")


# --- line ends and places ------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_do_not_change_nodes_or_places(end: str) -> None:
    """A checkout on Windows (CR LF) or an old editor (CR) reads as the file with LF."""
    text = CARRIER + "args: |\n  one\n\n  two\n\nnote: >-\n  folded\n  text\nlong: 'a\n\n  b'\n"
    expected = [(route, plain(node), span(node.place)) for route, node in walk(tree(text))]
    other = tree(text.replace("\n", end))
    assert [(route, plain(node), span(node.place)) for route, node in walk(other)] == expected


def test_mixed_line_ends_are_counted_as_readers_count_them() -> None:
    root = tree("a: 1\rb: 2\r\nc: 3\n\r\nd: 4")
    assert [span(key.place)[0] for key in root] == [1, 2, 3, 5]  # type: ignore[attr-defined]


def test_a_source_gives_its_lines() -> None:
    source = Source("a.yaml", "one\r\ntwo\rthree\n", "")
    assert source.lines == ["one", "two", "three", ""]
    assert [source.line_at(n) for n in (0, 1, 3, 4, 5)] == ["", "one", "three", "", ""]


PLACES = """\
# comment
name: bare
quoted: "a \\" b"
'single': 'it''s'
é: "ü"   # columns are code points
😀: x
folded: one
  two
block: |
  text
  more

  end

chomped: >-
  x

list:
- a
- [b, "c"]
- {d: e}
map:
  deep:
    er: f

# after
anchored: &name g
alias: *name
empty:
last: {h: [i,
  j]}
"""


@pytest.mark.parametrize(
    ("route", "text"),
    [
        (("name",), "bare"),
        (("quoted",), '"a \\" b"'),
        (("single",), "'it''s'"),
        (("é",), '"ü"'),
        (("😀",), "x"),
        (("folded",), "one\n  two"),
        (("block",), "|\n  text\n  more\n\n  end"),
        (("chomped",), ">-\n  x"),
        (("list",), '- a\n- [b, "c"]\n- {d: e}'),
        (("list", 1), '[b, "c"]'),
        (("list", 1, 1), '"c"'),
        (("list", 2), "{d: e}"),
        (("list", 2, "d"), "e"),
        (("map",), "deep:\n    er: f"),
        (("map", "deep"), "er: f"),
        (("anchored",), "&name g"),
        (("alias",), "&name g"),  # the value stands where it is written
        (("empty",), ""),
        (("last",), "{h: [i,\n  j]}"),
        (("last", "h"), "[i,\n  j]"),
    ],
)
def test_a_place_covers_the_text_of_its_value(route: tuple[str | int, ...], text: str) -> None:
    node: Node = tree(PLACES)
    for step in route:
        node = node[step]  # type: ignore[index]
    assert authored(PLACES, node.place) == text
    assert node.place.path == "jobs/a.yaml"


def test_keys_have_places_and_styles() -> None:
    for key in tree(PLACES):
        assert isinstance(key, Scalar)
        shown = authored(PLACES, key.place)
        assert shown == (f"'{key}'" if key.style == "'" else key)


def test_a_block_at_the_end_of_the_file_ends_with_its_text() -> None:
    for text in (
        "a: |\n  x",
        "a: |\n  x\n",
        "a: |\n  x\n\n\n",
        "a: |\n  x\n  \n",
        "a: |  # n\n  x\n\n",
    ):
        assert span(tree(text)["a"].place)[2:] == (2, 4)
    assert span(tree("a: |\n\n\nb: x\n")["a"].place) == (1, 4, 1, 5)


def test_a_block_mapping_or_list_that_ends_with_an_alias_ends_there() -> None:
    root = tree("a: &x 1\nb:\n  c: *x\nd:\n  - &y 2\n  - *y\n\ne: 1\n")
    assert span(root["b"].place) == (3, 3, 3, 8)
    assert span(root["d"].place) == (5, 3, 6, 7)


def test_flow_and_block_are_told_apart() -> None:
    root = tree("a: {b: 1}\nc:\n  d: 1\ne: [1]\nf:\n- 1\n")
    assert [value.flow for value in root.values()] == [True, False, True, False]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "value", "style"),
    [
        ("1e-5", "1e-5", ""),
        ("010", "010", ""),
        ("on", "on", ""),
        ("2024-01-01", "2024-01-01", ""),
        ("1_000", "1_000", ""),
        ("~", "~", ""),
        ("", "", ""),
        ('""', "", '"'),
        ("'null'", "null", "'"),
        ('"\\u00e9\\t\\n"', "é\t\n", '"'),
        ("|-\n  x", "x", "|"),
        (">\n  x\n  y", "x y\n", ">"),
        ("http://x:80/a#b", "http://x:80/a#b", ""),
        ("$(HOME) \\d {{x}}", "$(HOME) \\d {{x}}", ""),
    ],
)
def test_scalars_keep_their_letters_and_style(text: str, value: str, style: str) -> None:
    node = tree(f"a: {text}\n")["a"]
    assert isinstance(node, Scalar)
    assert (str(node), node.style) == (value, style)


# --- documents -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        CARRIER,
        CARRIER + "---\n",
        CARRIER + "---\n# done\n---\n",
        CARRIER + "...\n",
        CARRIER + "...\n# done\n",
        "---\n" + CARRIER,
        "---\n# note\n---\n" + CARRIER,
        "\n\n# note\n" + CARRIER + "# end",
        CARRIER.rstrip("\n"),
        CARRIER.replace("\n", "\r"),
        CARRIER.replace("\n", "\r\n"),
    ],
)
def test_one_document_with_comments_and_markers_around_it_is_fine(content: str) -> None:
    assert plain(tree(content)) == VALUES


@pytest.mark.parametrize(
    ("content", "rule", "line", "column"),
    [
        ("", "empty-file", 1, 1),
        ("# nothing\n", "empty-file", 1, 1),
        ("\n\n  \n", "empty-file", 1, 1),
        ("---\n", "empty-file", 1, 1),
        ("---\n---\n---\n", "empty-file", 1, 1),
        ("...\n", "syntax-error", 1, 1),
        (CARRIER + "...\nnum_nodes: 4\n", "several-documents", 8, 1),
        (CARRIER + "---\n" + CARRIER, "several-documents", 7, 1),
        (CARRIER + "---\n" + CARRIER + "---\n" + CARRIER, "several-documents", 7, 1),
        (CARRIER + "---\n\ttabs, and more that nobody reads\n", "syntax-error", 8, 1),
        (CARRIER + "...\n%YAML 1.1\n---\na: 1\n", "several-documents", 9, 1),
        ("%YAML 1.1\n---\n" + CARRIER, "yaml-directive", 1, 1),
        ("# first\n%YAML 1.2\n---\n" + CARRIER, "yaml-directive", 2, 1),
        ("%YAML 3.0\n---\n" + CARRIER, "yaml-directive", 1, 1),
        ("%TAG ! tag:x,2000:\n---\n" + CARRIER, "yaml-directive", 1, 1),
        ("%OTHER x\n---\n" + CARRIER, "yaml-directive", 1, 1),
        ("%team: nlp\n", "yaml-directive", 1, 1),
        ("- a\n", "top-level-not-mapping", 1, 1),
        ("[]\n", "top-level-not-mapping", 1, 1),
        ("just text\n", "top-level-not-mapping", 1, 1),
        ("---\nnull\n", "top-level-not-mapping", 2, 1),
        ('""\n', "top-level-not-mapping", 1, 1),
    ],
)
def test_other_files_are_one_finding(content: str, rule: str, line: int, column: int) -> None:
    assert at(complaint(content)) == (rule, line, column)


def test_each_directive_is_a_mistake_of_its_own() -> None:
    root, findings = load("%YAML 1.1\n%TAG ! x\n---\na: 1\n")
    assert [at(one) for one in findings] == [("yaml-directive", 1, 1), ("yaml-directive", 2, 1)]
    assert root == {"a": "1"}


def test_the_first_of_several_documents_is_still_read() -> None:
    root, findings = load(CARRIER + "---\nb: {{{\n")
    assert root == VALUES
    assert [one.rule for one in findings] == ["several-documents"]


@pytest.mark.parametrize(("content", "kind"), [("- a\n", Sequence), ("text\n", Scalar)])
def test_files_of_other_shape_can_be_asked_for(content: str, kind: type) -> None:
    root, findings = load(content, mapping=False)
    assert findings == []
    assert isinstance(root, kind)


# --- keys ----------------------------------------------------------------------------------------


def test_a_doubled_key_is_one_finding_with_both_places_and_the_rest_is_read() -> None:
    lines = [f"key{n}: {n}" for n in range(40)]
    root, findings = load("\n".join(["memory: 1Gi", *lines, "memory: 2Gi", "after: x"]))
    (found,) = findings
    assert at(found) == ("duplicate-key", 42, 1)
    assert [span(related.place) for related in found.related] == [(1, 1, 1, 7)]
    assert isinstance(root, Mapping)
    assert (root["memory"], root["after"], len(root)) == ("1Gi", "x", 42)


@pytest.mark.parametrize(
    ("content", "places"),
    [
        ("env:\n  A: 1\n  B: 2\n  A: 3\n", [(4, 3)]),
        ("a: 1\n'a': 2\n\"a\": 3\n", [(2, 1), (3, 1)]),
        ("a: {b: 1, b: 2}\nc: [{d: 1, d: 2}]\n", [(1, 11), (2, 12)]),
        ("a: 1\na: {b: 1, b: 2}\n", [(2, 4 + 7), (2, 1)]),
        ('"é": 1\n"\\xe9": 2\n', [(2, 1)]),
        ('"": 1\n"": 2\n', [(2, 1)]),
    ],
)
def test_each_doubled_key_is_one_finding(content: str, places: list[tuple[int, int]]) -> None:
    _, findings = load(content)
    assert [at(one) for one in findings] == [("duplicate-key", *place) for place in places]


@pytest.mark.parametrize(
    "content",
    [
        "y: 1\non: 2\n",
        "1: a\n01: b\n",
        "A: 1\na: 2\n",
        "true: 1\nTrue: 2\n",
        "a: {b: 1}\nc: {b: 1}\n",
    ],
)
def test_keys_are_the_same_only_letter_for_letter(content: str) -> None:
    assert len(tree(content)) == 2


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        ("? [a, b]\n: c\n", 1, 3),
        ("{a: b}: c\n", 1, 1),
        ("a:\n  [x]: y\n", 2, 3),
        ("image: {{ image }}\n", 1, 9),
        ("args: [{{ a }}]\n", 1, 9),
        ("a: &x b\n*x : c\n", 2, 1),
        ("a: &x {b: 1}\n? *x\n: c\n", 2, 3),
        (": x\n", 1, 1),
        ("a: 1\n: x\n", 2, 1),
        ("?\n: x\n", 1, 2),
        ("a: {? : x}\n", 1, 7),
    ],
)
def test_keys_that_are_no_text_are_one_finding(content: str, line: int, column: int) -> None:
    found = complaint(content)
    assert at(found) == ("unsupported-key", line, column)


def test_a_key_left_over_from_a_template_is_named_so() -> None:
    assert "template" in complaint("image: {{ image }}\n").help


def test_a_mapping_with_a_key_that_is_no_text_is_not_judged_further() -> None:
    root, _ = load("image: {{ image }}\n")
    assert root is None


def test_an_explicit_key_and_an_empty_quoted_key_are_text() -> None:
    assert plain(tree('? a\n: b\n"": c\n')) == {"a": "b", "": "c"}


def test_a_merge_is_one_finding_and_done_for_the_sake_of_the_rest() -> None:
    root, findings = load("a: &a {x: 1, y: 2}\nb: &b {z: 3}\nc:\n  <<: [*a, *b]\n  x: own\n")
    assert [at(one) for one in findings] == [("merge-key", 4, 3)]
    assert root is not None
    assert plain(root)["c"] == {"x": "own", "y": "2", "z": "3"}


def test_a_quoted_merge_key_is_text() -> None:
    assert plain(tree('"<<": {a: 1}\n')) == {"<<": {"a": "1"}}


# --- tags, anchors and aliases -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "tag", "value"),
    [
        ("a: !!str 1\n", "!!str", "1"),
        ("a: !env FOO\n", "!env", "FOO"),
        ("a: ! x\n", "!", "x"),
        ("a: !<tag:x,2000:y> x\n", "!<tag:x,2000:y>", "x"),
        ("a: &b !!int 3\n", "!!int", "3"),
        ("a: !!python/object/apply:os.system [ls]\n", "!!python/object/apply:os.system", ["ls"]),
        ("a: !!map {b: 1}\n", "!!map", {"b": "1"}),
    ],
)
def test_a_tag_is_one_finding_and_left_out(content: str, tag: str, value: object) -> None:
    root, findings = load(content)
    (found,) = findings
    assert found.rule == "yaml-tag"
    assert authored(content, found.place) == tag
    assert root is not None
    assert plain(root) == {"a": value}


@pytest.mark.parametrize("value", ["!foo!bar x", "!<x", "!!", "[!!str]"])
def test_a_broken_tag_is_one_finding_of_the_same_rule(value: str) -> None:
    assert complaint(f"a: {value}\n").rule == "yaml-tag"


def test_aliases_repeat_their_value() -> None:
    root = tree("a: &x {b: [1, 2]}\nc: *x\nd: [*x, &x 5, *x]\n")
    assert plain(root) == {
        "a": {"b": ["1", "2"]},
        "c": {"b": ["1", "2"]},
        "d": [{"b": ["1", "2"]}, "5", "5"],
    }
    assert root["c"] is root["a"]


@pytest.mark.parametrize(
    ("content", "column"),
    [("a: &x [*x]\n", 8), ("a: &x {b: *x}\n", 11), ("&x a: {b: &y [{c: [*y]}]}\n", 20)],
)
def test_an_alias_inside_its_own_value_is_one_finding(content: str, column: int) -> None:
    root, findings = load(content)
    assert root is None
    assert [at(one) for one in findings] == [("recursive-alias", 1, column)]
    assert findings[0].related


def test_an_alias_of_nothing_is_one_finding() -> None:
    assert at(complaint("a: *x\nb: &x 1\n")) == ("syntax-error", 1, 4)
    assert at(complaint("a: &x 1\n---\n*x\n")) == ("several-documents", 2, 1)
    assert at(complaint("a: *glob text\n")) == ("syntax-error", 1, 10)


def bomb(levels: int, width: int = 10) -> str:
    lines = ["a0: &a0 [" + ", ".join("x" * width) + "]"]
    for n in range(1, levels):
        lines.append(f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * width) + "]")
    return "\n".join(lines) + "\n"


def test_an_alias_bomb_is_one_finding_in_little_memory() -> None:
    tracemalloc.start()
    try:
        found = complaint(bomb(60))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (found.rule, found.place.line) == ("too-many-nodes", 5)
    assert peak < 5_000_000


def test_aliases_count_as_what_they_stand_for() -> None:
    """200 values, repeated 98 times, stay below the limit; repeated 101 times they pass it."""
    lines = "a: &a [" + "x, " * 199 + "]\nb: ["
    assert load(lines + "*a, " * 98 + "]\n")[1] == []
    assert complaint(lines + "*a, " * 101 + "]\n").rule == "too-many-nodes"


def test_a_bomb_of_merges_is_bounded() -> None:
    lines = ["a0: &a0 {" + ", ".join(f"k{n}: v" for n in range(10)) + "}"]
    lines += [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], b{n}: *a{n - 1}}}" for n in range(1, 40)]
    _, findings = load("\n".join(lines))
    assert "too-many-nodes" in {one.rule for one in findings}
    assert len(findings) <= 21


# --- bounds --------------------------------------------------------------------------------------


def test_the_depth_limit_is_exact() -> None:
    levels = DEPTH - 1
    tree("a: " + "[" * levels + "]" * levels)
    assert at(complaint("a: " + "[" * DEPTH + "]" * DEPTH)) == ("too-deep", 1, 3 + DEPTH)
    assert complaint("\n".join("  " * n + "a:" for n in range(DEPTH + 2))).rule == "too-deep"


def test_the_depth_limit_counts_aliases_as_what_they_stand_for() -> None:
    half = DEPTH // 2
    start = "a: &a " + "[" * half + "]" * half + "\nb: "
    tree(start + "[" * (half - 1) + "*a" + "]" * (half - 1))
    assert complaint(start + "[" * half + "*a" + "]" * half).rule == "too-deep"


def test_the_limit_of_values_is_exact() -> None:
    tree("a: [" + "x, " * (NODES - 3) + "]\n")
    assert complaint("a: [" + "x, " * (NODES - 2) + "]\n").rule == "too-many-nodes"


# --- syntax errors -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "line", "column", "message", "help"),
    [
        ("team:nlp\nimage: x\n", 1, 5, "space is missing after the colon", "`team: nlp`"),
        ("image: x\nteam:nlp\n", 2, 5, "space is missing after the colon", "`team: nlp`"),
        ("env:\n  A: b\n  C:d\n", 3, 4, "space is missing after the colon", "`C: d`"),
        ("env:\n  A:b\n  C: d\n", 2, 4, "space is missing after the colon", "`A: b`"),
        ('"a":b\nc: d\n', 1, 4, "space is missing after the colon", '`"a": b`'),
        ("a: b: c\n", 1, 4, "needs quotes", '`"b: c"`'),
        ('a: say "x": c\n', 1, 4, "needs quotes", "`'say \"x\": c'`"),
        ("a: foo: bar # why\nb: c\n", 1, 4, "`foo: bar`", '`"foo: bar"`'),
        ("a: 1\n b: 2\n", 2, 2, "deeper than line 1", "as deep as line 1"),
        ("a:\n  b: 1\n\n  # x\n   c: 2\n", 5, 4, "deeper than line 2", "as deep as line 2"),
        ("a:\n    b: 1\n  c: 2\n", 3, 3, "indented by 2", "as deep as"),
        ("  a: 1\nb: 2\n", 2, 1, "to the left", "by 2"),
        ("a:\n  - x\n - y\n", 3, 2, "list item", "as deep as the items"),
        ("a: x\n- y\n", 2, 1, "list item", "below its key"),
        ("a:\n- x\n  y: z\n", 2, 1, "`- x` is not `key: value`", "colon and a space"),
        ("a: - x\n", 1, 4, "same line", "line of its own"),
        ("a:\n- x\n-y\n", 3, 1, "space is missing after the dash", "`- y`"),
        ("a: 1\nb\nc: 2\n", 2, 1, "`b` is not `key: value`", "colon and a space"),
        ("a: 1\nb = 2\n", 2, 1, "`b = 2` is not", "`b: 2`"),
        ("foo bar\nbaz: x\n", 1, 1, "`foo bar` is not", "colon and a space"),
        ('a: "foo\nb: c\n', 1, 4, 'quote `"`', "close it"),
        ("a: 'foo\nb: c\n", 1, 4, "quote `'`", "twice"),
        ('a: "foo\nb: "bar"\n', 1, 4, "closed only on line 2", "where its text ends"),
        ('a: "foo\n---\nb: 1\n', 1, 4, 'quote `"`', "close it"),
        ("a: 'it's'\n", 1, 8, "after the closing quote", "twice"),
        ('a: "x" y\n', 1, 8, "after the closing quote", "one pair"),
        ("a: [1, 2\n", 1, 4, "bracket `[`", "`]`"),
        ("a: [1, 2\nb: c\n", 1, 4, "bracket `[`", "`]`"),
        ("a: {x: 1\nb: c\n", 1, 4, "bracket `{`", "`}`"),
        ('a: [\n  "x"\n  "y"\n]\n', 3, 3, "comma or `]` is missing", "write one"),
        ("a: {", 1, 4, "bracket `{`", "`}`"),
        ("a: [b, {c: d,\n", 1, 8, "bracket `{`", "`}`"),
        ("a: [b", 1, 4, "bracket `[`", "`]`"),
        ("a: {b: 1 c: 2}\n", 1, 10, "a comma is missing before `c: 2`", "write `1, c: 2`"),
        ("a: {b: 1 [c]}\n", 1, 10, "comma or `}` is missing", "quotes"),
        ("a: [1]]\n", 1, 7, "no bracket is open", "delete it"),
        ("a: 1\n]\n", 2, 1, "no bracket is open", "delete it"),
        ("a" * 2000 + ": b\n", 1, 1, "1,024 characters", "colon and a space"),
        ("a: {b: c}/d\n", 1, 10, "after the closing bracket", "quotes"),
        ("a: [b,, c]\n", 1, 7, "value is missing before `,`", "write the value"),
        ("a: [1, }\n", 1, 8, "value is missing before `}`", "write the value"),
        ("}\n", 1, 1, "cannot start with `}`", "quotes"),
        ("a: @foo\n", 1, 4, "cannot start with `@`", '`"@foo"`'),
        ("a: `x`\n", 1, 4, "cannot start with", '"`x`"'),
        ("a: %d\n", 1, 4, "cannot start with `%`", '`"%d"`'),
        ("a: *.py\n", 1, 4, "cannot start with `*`", '`"*.py"`'),
        ("a: * * * * *\n", 1, 4, "cannot start with `*`", '`"* * * * *"`'),
        ("a: & b\n", 1, 4, "cannot start with `&`", '`"& b"`'),
        ("a: ? b\n", 1, 4, "cannot start with `?`", '`"? b"`'),
        ("a: &x *y\n", 1, 7, "after an anchor", "quotes"),
        ('a: "C:\\Windows"\n', 1, 7, "`\\W`", "\\\\"),
        ('a: "\\xZZ"\n', 1, 5, "`\\x`", "\\\\"),
        ('a: "\\ud83d\\ude00"\n', 1, 5, "`\\u`", "\\\\"),
        ("a: | foo\n  bar\n", 1, 6, "next line", "quotes"),
        ("a: >-foo\n", 1, 6, "next line", "quotes"),
        ("a: |\n    x\n  y\n", 3, 3, "indented by 2", "deeper than its key"),
        ("a:\n\tb: 1\n", 2, 1, "tab", "two spaces"),
        ("a:\n  b: 1\n\tc: 1\n", 3, 1, "tab", "two spaces"),
        ("a: |\n  x\n\ty\n", 3, 1, "tab", "two spaces"),
    ],
)
def test_a_syntax_error_is_one_finding_in_words_that_say_what_to_write(
    content: str, line: int, column: int, message: str, help: str
) -> None:
    found = complaint(content)
    assert at(found) == ("syntax-error", line, column)
    assert message in found.message
    assert help in found.help
    assert found.help


@pytest.mark.parametrize(
    ("content", "column"),
    [
        ("a:\t1\n", 3),
        ("a: 1\t\n", 5),
        ("a: 1\t# note\n", 5),
        ("-\ta\n", 2),
        ("a: x\ty\n", 5),
        ('a: "x"\t\n', 7),
        ("a: [1,\t2]\n", 7),
        ("a: |\t\n  x\n", 5),
    ],
)
def test_a_tab_between_the_parts_of_a_line_is_one_finding(content: str, column: int) -> None:
    """kubectl takes it for a space; ruamel.yaml and PyYAML refuse most of these."""
    _, findings = load(content, mapping=False)
    assert [at(one) for one in findings] == [("syntax-error", 1, column)]
    assert "tab" in findings[0].message


def test_tabs_on_many_lines_are_one_finding() -> None:
    assert "(2 more lines have one)" in complaint("a:\t1\nb:\t2\tx\nc: 3\t\n").message


@pytest.mark.parametrize(
    "content",
    [
        'a: "x\ty"\n',
        "a: 'x\ty'\n",
        "a: |\n  x\ty\n",
        "a: 1 #\tx\n",
        "#\tx\na: 1\n",
        "a: | #\t\n  x\n",
    ],
)
def test_tabs_in_quotes_blocks_and_comments_are_fine(content: str) -> None:
    tree(content)


def test_no_message_is_too_long_or_breaks_its_line() -> None:
    for content in ("a: " + "b: " * 5000, "x" * 5000 + "\na: 1\n", 'a: "x" ' + "é" * 5000):
        found = complaint(content)
        assert len(found.message) + len(found.help) < 400
        assert found.message.isprintable()


def test_many_findings_of_one_kind_end_in_a_count() -> None:
    _, findings = load("a: 1\n" * 100)
    assert len(findings) == 20
    assert "(79 more such places" in findings[-1].message
