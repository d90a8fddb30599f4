"""Whatever stands in a file of the repository: findings with a place, or a job; never an accident.

All of it goes through the whole compiler, from bytes to the objects of a run.
"""

from __future__ import annotations

import copy
import json
import os
import re
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from declarations import TODAY, repository
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from peaks import peak

from compiler import yamlout
from compiler.diagnostics import Finding
from compiler.project import JobResult, Project
from compiler.replacement import replace_file
from compiler.repository import Repository
from compiler.results import summarised
from compiler.rules import of_stage
from compiler.source import LIMIT, MOST

ROOT = Path(__file__).resolve().parents[1]
JOBS = ("jobs/llm-sft.yaml", "jobs/vision/segmenter.yaml", "jobs/speech/asr-eval.yaml")
OTHERS = (
    *("policy/clusters/west.yaml", "policy/teams/nlp.yaml", "policy/rules.yaml"),
    *("policy/waivers/wav2vec.yaml", "images/lock.yaml", "images/llm-sft/image.yaml"),
    *("base/job/job.yaml", "base/pytorchjob/job.yaml"),
)
CARRIER = "team: nlp\nimage: ddp-mini\naccelerators: H100:8\nqueue: research\nmax_duration: 24h\n"

fuzzing = settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example repository, with its jobs."""
    return repository(tmp_path_factory.mktemp("fuzz") / "repository", jobs=True)


@pytest.fixture(scope="module")
def project(root: Path) -> Project:
    return Project(Repository(root), at=TODAY)


def judged(project: Project, name: str, data: bytes) -> JobResult:
    """The outcome for a declaration, its objects printed; all that is said of it is sound."""
    root = project.repository.root
    result = project.judge(root / name, data)
    sound(root, result.findings, {name: data})
    for made in result.runs:
        yamlout.dump_all(made.objects)
    return result


def sound(root: Path, findings: Iterable[Finding], changed: dict[str, bytes]) -> None:
    """Each finding says what is wrong and what to do, at places that are there."""
    counts: Counter[str] = Counter()
    for finding in findings:
        counts[finding.rule] += 1
        assert finding.message.strip(), finding
        assert finding.help.strip(), finding
        assert (finding.message + finding.help).isprintable(), finding
        assert len(finding.message) + len(finding.help) < 1000, finding
        for place in (finding.place, *(related.place for related in finding.related)):
            data = changed.get(place.path)
            if data is None:
                data = (root / place.path).read_bytes()
            lines = re.split(rb"\r\n|\r|\n", data)
            assert place.line is not None, finding
            assert place.column is not None
            assert 1 <= place.line <= len(lines), finding
            assert (place.line, place.column) <= (place.end_line, place.end_column), finding
    # A rule may speak of a file and of what it leads to; none fills the screen.
    assert all(count <= 4 * MOST for count in counts.values()), counts


# --- bytes ---------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        *(b"a: 1\n", b"env:\n", b"  A: b\n", b"- x\n", b"- ", b": ", b"\n", b"  ", b"\t", b"\r\n"),
        *(b"[", b"]", b"{", b"}", b'"', b"'", b"|\n", b">-\n", b"&x ", b"*x", b"---\n", b"...\n"),
        *(
            b"!t ",
            b"<<: ",
            b"# c\n",
            b"team: nlp\n",
            b"num_nodes: ",
            b"pod: {spec: ",
            b"\xff",
            b"\x00",
        ),
        *("é😀\u202e\u00a0".encode(), b"$(A)", b"~", b"null\n", b"%YAML 1.1\n", b"9" * 40),
    ]
)
BYTES = st.binary(max_size=120) | st.lists(PIECES, max_size=25).map(b"".join)


@settings(fuzzing, max_examples=250)
@given(BYTES, st.booleans())
def test_any_bytes_as_a_declaration(project: Project, data: bytes, after: bool) -> None:
    judged(project, JOBS[0], CARRIER.encode() + data if after else data)


@pytest.fixture
def around(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Judges the examples with another content of a policy, image or base file."""
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))

    def look(name: str, data: bytes) -> None:
        path = root / name
        kept = path.read_bytes()
        path.write_bytes(data)
        try:
            project = Project(Repository(root), at=TODAY)
            findings = [*project.policy.findings, *project.base_findings]
            results = [project.judge(root / job) for job in JOBS]
            for result in results:
                findings += result.findings
                for made in result.runs:
                    yamlout.dump_all(made.objects)
            for rule in of_stage("repository"):
                assert rule.check is not None
                findings += rule.check([summarised(result) for result in results], project)
            sound(root, findings, {name: data})
            # No run and no word would be a job that silently goes away.
            assert findings or all(result.runs for result in results)
        finally:
            path.write_bytes(kept)

    return look


@pytest.mark.parametrize("name", OTHERS)
@settings(fuzzing, max_examples=12)
@given(BYTES, st.booleans())
def test_any_bytes_as_a_file_around_the_declarations(
    around: Callable[..., None], name: str, data: bytes, after: bool
) -> None:
    around(name, (ROOT / name).read_bytes() + data if after else data)


# --- mutations -----------------------------------------------------------------------------------

SCALARS = st.sampled_from(
    [
        *(None, True, False, 0, 1, -1, 2.0, 10**30, float("inf"), "", " ", "x", "a b", "a\nb"),
        *("é模😀", "a" * 300, "\x85", "\u202e", "1Gi", "24h", "010", "$(X)", "$X", "../x", "/x"),
        *("/dev/shm", "2024-01-01", "west", "pytorch", "H100:8", "x/y", "x:1", "*", "yes", "\x00"),
    ]
)
VALUES = st.recursive(
    SCALARS | st.text(max_size=8) | st.integers() | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=4) | st.sampled_from(["name", "min", "x"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(["", "x", "a b", "é", "name", "min", "<<", "on"]) | st.text(max_size=6)


def routes(node: Any, route: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield route
    if isinstance(node, dict):
        for key, value in node.items():
            yield from routes(value, (*route, key))
    elif isinstance(node, list):
        for index, item in enumerate(node):
            yield from routes(item, (*route, index))


@st.composite
def mutants(draw: st.DrawFn, names: tuple[str, ...]) -> tuple[str, bytes]:
    """A file of the example, one to three of its values or keys changed, deleted or doubled."""
    name = draw(st.sampled_from(names))
    tree = yaml.safe_load((ROOT / name).read_text("utf-8"))
    for _ in range(draw(st.integers(1, 3))):
        tree = copy.deepcopy(tree)
        route = draw(st.sampled_from([route for route in routes(tree) if route] or [()]))
        if not route:
            tree = draw(VALUES)
            continue
        parent = tree
        for step in route[:-1]:
            parent = parent[step]
        change = draw(st.sampled_from(["set", "set", "set", "delete", "rename", "wrap", "add"]))
        if change == "delete":
            del parent[route[-1]]
        elif change == "rename" and isinstance(parent, dict):
            parent[draw(NAMES)] = parent.pop(route[-1])
        elif change == "wrap":
            old = parent[route[-1]]
            parent[route[-1]] = draw(st.sampled_from([[old], {"x": old}, [old, old]]))
        elif change == "add" and isinstance(parent, dict):
            parent[draw(NAMES)] = draw(VALUES)
        else:
            parent[route[-1]] = draw(VALUES)
    text = yaml.dump(tree, Dumper=yaml.SafeDumper, allow_unicode=True, sort_keys=False)
    lines = text.split("\n")
    if draw(st.integers(0, 3)) == 0:
        line = draw(st.integers(0, len(lines) - 1))
        lines[line:line] = [lines[draw(st.integers(0, len(lines) - 1))]]
    return name, "\n".join(lines).encode("utf-8", "replace")


@settings(fuzzing, max_examples=300)
@given(mutants(tuple(str(p.relative_to(ROOT)) for p in sorted((ROOT / "jobs").rglob("*.yaml")))))
def test_a_changed_declaration(project: Project, mutant: tuple[str, bytes]) -> None:
    name, data = mutant
    result = judged(project, name, data)
    # One that is neither refused nor run is one that stands for no cluster.
    assert result.findings or result.runs or not result.clusters


@settings(fuzzing, max_examples=80)
@given(mutants(OTHERS))
def test_a_changed_file_around_the_declarations(
    around: Callable[..., None], mutant: tuple[str, bytes]
) -> None:
    around(*mutant)


# --- texts ---------------------------------------------------------------------------------------

# Every character but surrogates, which no UTF-8 holds; those of YAML and of shells more often.
LETTERS = st.characters(exclude_categories=["Cs"]) | st.sampled_from("\n\t '\"\\#:-{}[]|>%@$`é😀")
TEXTS = st.text(LETTERS, max_size=30)
PASSES = ("text-lost-by-kustomize", "text-with-nul")


def given_to_the_process(result: JobResult) -> tuple[dict[str, str], list[str], dict[str, str]]:
    """Environment, arguments and annotations, from what a reader makes of the printed object."""
    (made,) = result.runs
    job = yaml.load(yamlout.dump(made.objects[0]), yaml.CSafeLoader)
    template = job["spec"]["template"]
    container = template["spec"]["containers"][0]
    env = {item["name"]: item.get("value") for item in container["env"]}
    return env, container.get("args", []), template["metadata"]["annotations"]


@settings(fuzzing, max_examples=200)
@given(st.lists(TEXTS.filter(lambda text: "$" not in text), min_size=1, max_size=6))
def test_any_text_reaches_the_object_letter_for_letter(project: Project, texts: list[str]) -> None:
    written = [yamlout.dump(text).rstrip("\n") for text in texts]
    fields = {
        "env": "".join(f"  T{n}: {text}\n" for n, text in enumerate(written)),
        "annotations": "".join(f"  example.com/a{n}: {text}\n" for n, text in enumerate(written)),
        "args": "".join(f"  - {text}\n" for text in written),
    }
    text = CARRIER + "".join(f"{key}:\n{lines}" for key, lines in fields.items())
    result = judged(project, JOBS[0], text.encode())
    if not result.runs:
        assert {item.rule for item in result.findings} <= {*PASSES, "command-in-one-word"}
        return
    env, args, annotations = given_to_the_process(result)
    assert [env[f"T{n}"] for n in range(len(texts))] == texts
    assert args == texts
    assert [annotations[f"example.com/a{n}"] for n in range(len(texts))] == texts


DOLLARS = st.text(st.sampled_from("$$$((()AB{} "), max_size=12)


@settings(fuzzing, max_examples=200)
@given(st.lists(DOLLARS, min_size=1, max_size=4))
def test_dollars_keep_the_meaning_that_kubernetes_gives_them(
    project: Project, texts: list[str]
) -> None:
    """Not one is added or lost; a reference that nothing answers is refused, and no other text."""
    lines = "".join(f"  - {yamlout.dump(text)}" for text in texts)
    result = judged(project, JOBS[0], f"{CARRIER}env: {{A: a, AB: b}}\nargs:\n{lines}".encode())
    unknown = any(
        name not in ("A", "AB")
        for text in texts
        for name in re.findall(r"\$\$|\$\(([-._A-Za-z][-._A-Za-z0-9]*)\)", text)
        if name
    )
    rules = {item.rule for item in result.findings}
    assert ("unknown-reference" in rules) == unknown
    assert rules <= {"unknown-reference", "unexpanded-shell-variable", "command-in-one-word"}
    if result.runs:
        assert given_to_the_process(result)[1] == texts


@settings(fuzzing, max_examples=100)
@given(
    st.dictionaries(
        st.sampled_from("ABCDE"), st.lists(st.sampled_from("ABCDE"), max_size=3), min_size=1
    )
)
def test_variables_stand_after_those_that_they_refer_to_or_are_refused(
    project: Project, wanted: dict[str, list[str]]
) -> None:
    lines = "".join(
        f"  {name}: '{''.join(f'$({other})' for other in others)}.'\n"
        for name, others in wanted.items()
    )
    result = judged(project, JOBS[0], f"{CARRIER}env:\n{lines}".encode())
    if result.runs:
        order = list(given_to_the_process(result)[0])
        for name, others in wanted.items():
            assert all(order.index(other) < order.index(name) for other in others)
    else:
        rules = {item.rule for item in result.findings}
        assert rules <= {"circular-variables", "unknown-reference"}


# --- bounds --------------------------------------------------------------------------------------


def many(line: str, count: int) -> str:
    return "".join(line.replace("N", str(number)) for number in range(count))


# As many mistakes, names or references as fit into one file.
HOSTILE = {
    "unknown keys": many("kN: v\n", 9000),
    "unknown keys of a field": "retry:\n" + many("  kN: v\n", 9000),
    "wrong values": "env:\n" + many("  KN: [x]\n", 6000),
    "wrong names": "env:\n" + many('  "N x": x\n', 9000),
    "empty values": "env:\n" + many("  KN:\n", 9000),
    "a long chain": "env:\n" + "".join(f"  K{n}: $(K{n + 1})\n" for n in range(8000)),
    "a long circle": "env:\n" + "".join(f"  K{n}: $(K{(n + 1) % 8000})\n" for n in range(8000)),
    "many references": "env:\n"
    + "".join(f"  K{n}: x{''.join(f'$(K{m})' for m in range(n + 1, 240))}\n" for n in range(240)),
    "unknown references": "env:\n" + many("  KN: $(XN)\n", 9000),
    "unknown references in args": "args:\n" + many("  - $(XN)\n", 15000),
    "unknown references in one text": 'args: ["' + many("$(XN)", 25000) + '"]\n',
    "shell variables": "args:\n" + many("  - $XN\n", 15000),
    "sidecars": "sidecars:\n" + many("- {name: sN, image: gpu-exporter, ports: {pN: 80}}\n", 1900),
    "mounts of nothing": "mounts:\n" + many("  /data/N: {}\n", 6000),
    "nested mounts": "mounts:\n"
    + "".join(f"  /{'a/' * n}b: {{claim: datasets, read_only: true}}\n" for n in range(450)),
    "missing files": "files:\n" + many("  /etc/N: configs/nlp/xN\n", 6000),
    "files": "files:\n" + many("  /etc/N: configs/nlp/llm-train.yaml\n", 4000),
    "reserved labels": "labels:\n" + many("  runwright/aN: b\n", 9000),
    "ports": "ports:\n" + many("  pN: 80\n", 9000),
    "placements": "placement: [" + many("aN, ", 15000) + "]\n",
    "clusters": "cluster: [" + many("aN, ", 15000) + "]\n",
    "waivers": "waive:\n" + many("- {rule: aN, reason: b, until: 2099-01-01}\n", 2400),
    "dollars": 'args: ["' + "$(" * 100_000 + '"]\n',
    "a long command": 'command: "' + "a " * 100_000 + '"\n',
    "launchers": 'command: [bash, -c, "' + "torchrun --nproc_per_node=4 x; " * 7500 + '"]\n',
    "quotes in a script": 'command: [bash, -c, "' + "\\\"'` $( " * 20_000 + '"]\n',
    "here documents": "command:\n- bash\n- -c\n- |\n" + "  cat <<E\n" * 15_000,
    "brackets in a script": "command:\n- bash\n- -c\n- |\n  " + "((" * 100_000 + "\n",
    "flags": "args:\n" + "- --nproc_per_node=4\n" * 10_000,
    "unknown pod fields": "pod:\n  spec:\n" + many("    kN: v\n", 9000),
    "wrong pod values": "pod: {spec: {containers: [{name: pytorch, env: ["
    + "[x], " * 9000
    + "]}]}}\n",
    "deep pod": "pod: " + "{a: " * 60 + "x" + "}" * 60 + "\n",
    "a long path": 'mounts:\n  ? "/' + "a/" * 100_000 + '"\n  : {claim: datasets}\n',
    "a long number": "num_nodes: " + "1" * 200_000 + "\n",
    "a long size": "memory: " + "1" * 200_000 + "Gi\n",
    "a long exponent": "memory: 1e" + "9" * 200_000 + "\n",
    "a long day": "expires: " + "1" * 200_000 + "\n",
    "a long secret": "secrets: {A: " + "a." * 100_000 + "/b}\n",
    "a long duration": "stop: {grace: " + "1h" * 100_000 + "}\n",
}


def judge_all() -> None:
    """All hostile files in turn; prints the findings by rule, and the memory taken, in bytes."""
    project = Project(Repository(ROOT), at=TODAY)
    counts: dict[str, dict[str, int]] = {}
    for name, text in HOSTILE.items():
        data = (CARRIER + text).encode()
        assert len(data) <= LIMIT, name
        counts[name] = Counter(f.rule for f in judged(project, JOBS[0], data).findings)
    print(json.dumps([counts, peak()]))


def test_files_full_of_one_mistake_are_some_findings_in_little_memory() -> None:
    """In a process of its own, with a limit of processor time that is far above what they need."""
    done = subprocess.run(
        [sys.executable, "-c", "import test_fuzz; test_fuzz.judge_all()"],
        cwd=ROOT / "tests",
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (120, 120)),
    )
    counts, memory = json.loads(done.stdout)
    assert list(counts) == list(HOSTILE)
    for name, rules in counts.items():
        assert max(rules.values(), default=0) <= MOST + 1, (name, rules)
    assert memory < 300_000_000


# --- files that are written ----------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["fsync", "replace", "chmod"])
def test_a_file_is_the_old_one_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"old\n")

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os if broken == "fsync" else Path, broken, fail)
        with pytest.raises(OSError, match="No space left"):
            replace_file(path, b"new\n")
    assert path.read_bytes() == b"old\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.yaml"]
    replace_file(path, b"new\n")
    assert path.read_bytes() == b"new\n"


# --- what else can have the name of a file -------------------------------------------------------


def link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


@pytest.mark.parametrize(
    ("name", "make", "rule"),
    [
        ("jobs/a.yaml", lambda path: link(path, "a.yaml"), "not-a-declaration"),
        ("jobs/a.yaml", lambda path: link(path, "nothing.yaml"), "not-a-declaration"),
        ("jobs/a.yaml", lambda path: link(path, "/etc/hostname"), "link-out-of-repository"),
        ("jobs/nlp/a.yaml", lambda path: link(path, "../../../x"), "link-out-of-repository"),
        ("jobs/a", lambda path: link(path, "a"), "not-a-declaration"),
        ("jobs/other", lambda path: link(path, "/etc"), "link-out-of-repository"),
        ("jobs/a.yaml", os.mkfifo, "not-a-declaration"),
        ("jobs/a.json", lambda path: path.write_text("{}"), "not-a-declaration"),
        ("jobs/.#llm-sft.yaml", lambda path: link(path, "kim@host.1:2"), "not-a-declaration"),
        ("jobs/a.YAML", lambda path: path.write_text(CARRIER), "not-a-declaration"),
        ("jobs/a.yaml", lambda path: path.write_bytes(b"#" * (LIMIT + 1)), "file-too-large"),
        ("jobs/LLM-sft.yaml", lambda path: path.write_text(CARRIER), "names-alike"),
        ("jobs/caf\u00e9.yaml", lambda path: path.write_text(CARRIER), "bad-name"),
        ("policy/teams/a.yaml", lambda path: link(path, "/etc/hostname"), "link-out-of-repository"),
        ("policy/rules.yml", lambda path: path.write_text("a: b\n"), "unread-policy-file"),
        ("policy/teams/nlp.yml", lambda path: path.write_text("a: b\n"), "unread-policy-file"),
        ("policy/teams/NLP.yaml", lambda path: path.write_text("a: b\n"), "unknown-key"),
    ],
)
def test_what_is_no_plain_file_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    make: Callable[[Path], Any],
    rule: str,
) -> None:
    """From the command line, with the snippets that are printed of such files."""
    from compiler.cli import main

    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    root = repository(tmp_path / "repository", jobs=True)
    make(root / name)
    for form in ("text", "github"):
        assert main(["check", "--repo", str(root), "--format", form]) == 1
        assert rule in capsys.readouterr().out
    for verb in ("fmt", "fix"):
        assert main([verb, "--repo", str(root)]) in (0, 1)


@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: path.mkdir(), lambda path: link(path, "x")]
)
def test_a_mounted_file_that_is_none_is_told(project: Project, make: Callable[[Path], Any]) -> None:
    path = project.repository.root / "configs" / "x"
    make(path)
    try:
        text = CARRIER + "files: {/etc/x: configs/x}\n"
        result = judged(project, JOBS[0], text.encode())
        assert [item.rule for item in result.findings] == ["missing-file"]
    finally:
        path.rmdir() if path.is_dir() else path.unlink()


@pytest.mark.parametrize(
    "take",
    [
        *(
            "jobs",
            "policy",
            "images",
            "base",
            "policy/teams",
            "policy/clusters",
            "images/lock.yaml",
        ),
        *("base/job", "base/job/job.yaml", "base/job/kustomization.yaml", "policy/rules.yaml"),
    ],
)
def test_a_repository_without_a_part_is_judged_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, take: str
) -> None:
    from compiler.check import check

    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    root = repository(tmp_path / "repository", jobs=True)
    (root / take).rename(tmp_path / "taken")
    checked = check(Project(Repository(root), at=TODAY), processes=1)
    sound(root, [item for item in checked.findings if (root / item.place.path).is_file()], {})
    assert checked.findings or take in ("jobs", "policy/rules.yaml")
    # A file in the place of a folder, or the other way round.
    if (tmp_path / "taken").is_dir():
        (root / take).write_text("x: y\n")
    else:
        (root / take).mkdir()
    check(Project(Repository(root), at=TODAY), processes=1)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"context": 1}', b"\xff\xfe", b'{"jobs": 3}', b"[" * 100_000],
)
def test_a_broken_memory_is_a_check_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    from compiler.cli import main

    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    root = repository(tmp_path / "repository", jobs=True)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "check.json").write_bytes(content)
    assert main(["check", "--repo", str(root)]) == 0
