"""Every reader takes what the printer writes for what it was given, kubectl and kustomize too."""

import io
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from compiler.yamlout import LOST_BY_KUSTOMIZE, dump, dump_all

Reader = Callable[[str], Any]

# Any text; text made of what trips readers up; and scripts, of which many end up as blocks.
TRICKY = st.text(
    st.sampled_from(
        "ab0 \t\n\r\"'\\#:-?,[]{}&*!|>%@`$()=<~\x00\x1b\x7f\x85\xa0\u2028\u2029\ufeff😀"
    )
)
LINE = st.sampled_from(
    [
        "",
        "#!/bin/sh",
        "# note",
        "  if x:",
        "\ty",
        "---",
        "...",
        "- a",
        "a: b",
        "é 🚀 模",
        "'\"\\",
        "z ",
    ]
)
SCRIPT = st.lists(LINE, min_size=1, max_size=6).map("\n".join)
TEXT = st.one_of(st.text(), TRICKY, SCRIPT, SCRIPT.map("{}\n".format))
KEY = st.one_of(
    st.text(max_size=60), st.sampled_from(["y", "no", "On", "null", "1", "<<", "=", "a.b/c", "1e3"])
)
INTEGER = st.integers(min_value=-(2**63), max_value=2**63 - 1)
DOCUMENT = st.recursive(
    st.one_of(TEXT, INTEGER, st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEY, inner, max_size=4)),
    max_leaves=30,
)

# Of each of these one reader of YAML at least makes something else when it is printed plainly.
TRAPS: dict[str, Any] = {
    "words": ["on", "off", "y", "n", "NO", "yes", "true", "null", "~", "", "=", "<<"],
    "numbers": ["1e-5", "1e5", "10", "010", "08", "0o10", "1_000", "12:30", ".inf", "0x1f"],
    "dates": ["2024-01-01", "2024-01-01T00:00:00Z"],
    "long": ["x" * 120, "word " * 24 + "end", "w " * 3_000, "é" * 2_000],
    "scripts": ["set -e\nrun\n", "trailing space \nrun\n", "a\n\n  b\n\tc", "# note\nrun", "\n"],
    "breaks": ["a\rb", "a\r\nb\r\n", "a\u2028b\u2029c", "\ufeffa", "a\xa0b", "\x00\x1b[0m"],
    "dollars": ["$HOME", "${HOME}", "$(NAME)", "$$(NAME)", "$$$", "$(", "\\$"],
    "emoji": ["🚀", "👩\u200d🔬", "e\u0301", "\U0010ffff", "\U0001fffe"],
    "integers": [0, 8, -1, 1_000_000, 123456789, 2**53 + 1, 2**63 - 1, -(2**63)],
    "others": [True, False, None, {}, [], [[]], [{}], {"a": {}}],
    "annotations": {"sidecar.istio.io/inject": "false", "example.org/n": "1"},
    "keys": {"on": 1, "y": 2, "true": 3, "null": 4, "1e3": 5, "010": 6, "~": 7, "": 8, "a: b": 9},
    "merge": {"<<": "text", "=": "text"},
}
LOST = {"breaks": ["a\x7fb", "a\x85b", "a\x80b", "a\x9fb", "a\ufffeb", "a\uffffb"]}


def by_pyyaml(text: str) -> Any:
    return yaml.load(text, yaml.SafeLoader)


def by_libyaml(text: str) -> Any:
    return yaml.load(text, yaml.CSafeLoader)


def by_ruamel(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(io.StringIO(text))


def by_ruamel_round_trip(text: str) -> Any:
    """Return what ruamel's editing mode reads, as plain data."""
    return json.loads(json.dumps(YAML(typ="rt").load(io.StringIO(text))))


PYTHON_READERS = [by_pyyaml, by_libyaml, by_ruamel, by_ruamel_round_trip]


@pytest.mark.parametrize("read", PYTHON_READERS)
def test_python_readers_return_the_traps_unchanged(read: Reader) -> None:
    assert read(dump({"spec": TRAPS, "lost": LOST})) == {"spec": TRAPS, "lost": LOST}


@pytest.mark.parametrize("read", PYTHON_READERS)
@settings(max_examples=150, deadline=None)
@given(text=TEXT)
def test_python_readers_return_any_text_unchanged(read: Reader, text: str) -> None:
    document = {"a": text, "b": [text, {"c": text, "d": [[text]]}]}
    assert read(dump(document)) == document


@pytest.mark.parametrize("read", PYTHON_READERS)
@settings(max_examples=100, deadline=None)
@given(document=DOCUMENT)
def test_python_readers_return_any_document_unchanged(read: Reader, document: Any) -> None:
    read_back = read(dump(document))
    assert read_back == document
    # `True == 1` in Python, so that the types need a look of their own.
    assert json.dumps(read_back) == json.dumps(document)


@settings(max_examples=100, deadline=None)
@given(documents=st.lists(st.dictionaries(KEY, TEXT, max_size=3), max_size=4))
def test_several_documents_are_read_back_apart(documents: list[dict[str, str]]) -> None:
    assert list(yaml.load_all(dump_all(documents), yaml.CSafeLoader)) == documents


@settings(max_examples=200, deadline=None)
@given(document=DOCUMENT)
def test_lines_end_in_lf_and_hide_nothing(document: Any) -> None:
    printed = dump(document)
    assert printed.endswith("\n")
    lines = printed.split("\n")
    # No other line break than LF, for Python's eye, which knows eight more.
    assert "\n".join(printed.splitlines()) == "\n".join(lines[:-1])
    assert all(line == line.rstrip() for line in lines)


# --- kubectl, on the file as it is written -------------------------------------------------------


def resource(spec: Any) -> dict[str, Any]:
    """Return a custom resource: kubectl and kustomize pass its spec on without knowing it."""
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "job", "annotations": {"sidecar.istio.io/inject": "false"}},
        "spec": spec,
    }


def by_kubectl(manifest: str) -> Any:
    """Return the object as kubectl reads the file, without a cluster and without kustomize."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not on PATH")
    run = subprocess.run(
        [kubectl, "annotate", "--local", "--filename=-", "--output=json", "seen=yes"],
        input=manifest.encode(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr.decode()
    read = json.loads(run.stdout)
    assert read["metadata"]["annotations"].pop("seen") == "yes"
    return read


def test_kubectl_returns_the_traps_unchanged() -> None:
    document = resource({**TRAPS, "lost": LOST})
    assert by_kubectl(dump(document)) == document


@settings(max_examples=15, deadline=None)
@given(texts=st.lists(TEXT, min_size=20, max_size=200))
def test_kubectl_returns_any_text_unchanged(texts: list[str]) -> None:
    document = resource({"args": texts, "env": [{"name": "A", "value": text} for text in texts]})
    assert by_kubectl(dump(document)) == document


@settings(max_examples=15, deadline=None)
@given(documents=st.lists(DOCUMENT, min_size=10, max_size=50))
def test_kubectl_returns_any_document_unchanged(documents: list[Any]) -> None:
    document = resource({"items": documents})
    read = by_kubectl(dump(document))
    assert read == document
    assert json.dumps(read["spec"], sort_keys=True) == json.dumps(document["spec"], sort_keys=True)


def test_kubectl_reads_the_longest_key_that_is_printed() -> None:
    document = resource({"x" * 1024: 1, " " * 1022: {"y" * 1024: {"é" * 511: "a"}}})
    assert by_kubectl(dump(document)) == document


# --- kustomize -----------------------------------------------------------------------------------


class BuildError(Exception):
    """kustomize refused the manifest; the message is its own."""


class BuiltLoader(yaml.CSafeLoader):
    """Reads what kustomize prints: it leaves `=` and `<<` bare, which PyYAML takes for no text."""


for _tag in ("value", "merge"):
    BuiltLoader.add_constructor(f"tag:yaml.org,2002:{_tag}", BuiltLoader.construct_yaml_str)


def by_libyaml_as_built(text: str) -> Any:
    return yaml.load(text, BuiltLoader)


@pytest.fixture(scope="module", params=["kustomize build", "kubectl kustomize"])
def kustomize(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Return a function that builds one manifest and returns the YAML that kustomize prints."""
    program, verb = request.param.split()
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not on PATH")
    folder: Path = tmp_path_factory.mktemp("overlay")

    def build(manifest: str) -> str:
        (folder / "job.yaml").write_bytes(manifest.encode())
        (folder / "kustomization.yaml").write_text(dump({"resources": ["job.yaml"]}))
        run = subprocess.run(
            [found, verb, str(folder)], capture_output=True, check=False, timeout=60
        )
        if run.returncode != 0:
            raise BuildError(run.stderr.decode())
        return run.stdout.decode()

    return build


def kept(value: Any) -> Any:
    """Return the document without what kustomize loses however it is written: some characters, and
    the key `<<`, which Kubernetes allows nowhere.
    """
    match value:
        case str():
            return LOST_BY_KUSTOMIZE.sub("", value)
        case list():
            return [kept(item) for item in value]
        case dict():
            return {kept(key): kept(item) for key, item in value.items() if kept(key) != "<<"}
        case _:
            return value


def test_kustomize_returns_the_traps_unchanged(kustomize: Reader) -> None:
    document = kept(resource(TRAPS))
    built = kustomize(dump(document))
    assert by_libyaml_as_built(built) == document
    assert by_kubectl(built) == document


@settings(max_examples=10, deadline=None)
@given(texts=st.lists(TEXT, min_size=20, max_size=200))
def test_kustomize_returns_any_text_unchanged(kustomize: Reader, texts: list[str]) -> None:
    document = kept(resource({"args": texts, "env": [{"name": "A", "value": t} for t in texts]}))
    built = kustomize(dump(document))
    assert by_libyaml_as_built(built) == document
    assert by_kubectl(built) == document


@settings(max_examples=10, deadline=None)
@given(documents=st.lists(DOCUMENT, min_size=10, max_size=50))
def test_kustomize_returns_any_document_unchanged(kustomize: Reader, documents: list[Any]) -> None:
    document = kept(resource({"items": documents}))
    assert by_kubectl(kustomize(dump(document))) == document


@pytest.mark.parametrize("text", LOST["breaks"])
def test_characters_said_to_be_lost_by_kustomize_are_lost(kustomize: Reader, text: str) -> None:
    assert LOST_BY_KUSTOMIZE.search(text)
    manifest = dump(resource({"text": text}))
    if "\x85" in text:
        assert by_kubectl(kustomize(manifest))["spec"]["text"] != text
    else:
        with pytest.raises(BuildError, match="control characters are not allowed"):
            kustomize(manifest)
