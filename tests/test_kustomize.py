"""kustomize found by version, and run on folders."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest

from compiler import kustomize
from compiler.diagnostics import Unavailable
from compiler.kustomize import NEWEST, OLDEST, BuildFailed, Kustomize, Version

ROOT = Path(__file__).resolve().parents[1]
AVAILABLE = kustomize.all_available(ROOT)

each_kustomize = pytest.mark.parametrize(
    "real",
    [pytest.param(k, id=k.name.replace(" ", "-"), marks=pytest.mark.kustomize) for k in AVAILABLE]
    or [pytest.param(None, marks=pytest.mark.skip(reason="no kustomize here"))],
)


def program(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def saying(folder: Path, name: str, version: str) -> Path:
    return program(folder, name, f"cat <<'END'\n{version}\nEND")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any kustomize: an empty `bin` on PATH, an empty cache."""
    system = os.environ["PATH"]
    (tmp_path / "bin").mkdir()
    tools = tmp_path / "system"
    tools.mkdir()
    for name in ("cat", "sleep", "sh", "env"):
        found = next(p for d in system.split(":") if (p := Path(d, name)).exists())
        (tools / name).symlink_to(found)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{tools}")
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KUSTOMIZE", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("v5.4.0", (5, 4, 0)),
        ("5.8.1", (5, 8, 1)),
        ("v5.10.0", (5, 10, 0)),
        ("{Version:kustomize/v5.5.0 GitCommit:abc BuildDate:2024-10-09T13:24:54Z}", (5, 5, 0)),
        ("{kustomize/v5.4.3  2024-07-19T16:40:33Z   }", (5, 4, 3)),
        ("v6.0.0", (6, 0, 0)),
    ],
)
def test_kustomize_tells_its_version_in_several_forms(
    machine: Path, said: str, version: tuple[int, int, int]
) -> None:
    path = saying(machine / "bin", "kustomize", said)
    found = kustomize.find()
    assert (found.command, found.version) == ((str(path),), version)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("v5.3.0", "kustomize 5.3.0 is older than 5.4"),
        ("{Version:kustomize/v4.5.7 GitCommit:abc}", "kustomize 4.5.7 is older than 5.4"),
        ("(devel)", "its version is not known; it says (devel)"),
        ("", "its version is not known; it says nothing"),
        ("v5.8", "its version is not known; it says v5.8"),
    ],
)
def test_a_kustomize_that_does_not_serve_is_named_with_the_reason(
    machine: Path, said: str, why: str
) -> None:
    path = saying(machine / "bin", "kustomize", said)
    with pytest.raises(Unavailable) as refused:
        kustomize.find()
    assert f"{path}: {why}" in str(refused.value)
    assert "make tools" in refused.value.help


def test_without_any_kustomize_the_message_says_so_and_what_to_do(machine: Path) -> None:
    with pytest.raises(Unavailable) as refused:
        kustomize.find()
    assert "there is neither kustomize nor kubectl" in str(refused.value)
    assert "make tools" in refused.value.help
    assert refused.value.status == 1


def test_a_program_that_fails_is_passed_over(machine: Path) -> None:
    program(machine / "bin", "kustomize", "echo no libc here >&2; exit 3")
    saying(machine / "bin", "kubectl", "Client Version: v1.31.0\nKustomize Version: v5.4.2")
    assert kustomize.find().command[1] == "kustomize"


def test_a_file_that_is_no_program_is_passed_over(machine: Path) -> None:
    broken = machine / "bin" / "kustomize"
    broken.write_bytes(b"\x7fELF nonsense")
    broken.chmod(0o755)
    with pytest.raises(Unavailable, match="cannot be started"):
        kustomize.find()


def test_a_program_that_hangs_is_passed_over(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kustomize, "_PROBE_SECONDS", 0.2)
    program(machine / "bin", "kustomize", "exec sleep 30")
    with pytest.raises(Unavailable, match="did not answer"):
        kustomize.find()


def test_kubectl_serves_by_the_kustomize_inside_it(machine: Path) -> None:
    path = saying(machine / "bin", "kubectl", "Client Version: v1.32.4\nKustomize Version: v5.5.0")
    found = kustomize.find()
    assert found.command == (str(path), "kustomize")
    assert found.version == Version(5, 5, 0)
    assert found.name == "kubectl's kustomize 5.5.0"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            "Client Version: v1.30.2\nKustomize Version: v5.0.4-0.20230601165947-6ce0bf390ce3",
            "kubectl's kustomize 5.0.4 is older than 5.4",
        ),
        ("Client Version: v1.20.1", "names no kustomize"),
    ],
)
def test_an_old_kubectl_does_not_serve(machine: Path, said: str, why: str) -> None:
    saying(machine / "bin", "kubectl", said)
    with pytest.raises(Unavailable, match=re.escape(why)):
        kustomize.find()


def test_the_order_is_variable_then_path_then_own_then_kubectl(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = saying(machine / "elsewhere", "kustomize-5.6", "v5.6.0")
    on_path = saying(machine / "bin", "kustomize", "v5.4.1")
    older = saying(machine / "cache/tools/kustomize-5.9.0", "kustomize", "v5.9.0")
    own = saying(machine / "cache/tools/kustomize-5.10.0", "kustomize", "v5.10.0")
    kubectl = saying(machine / "bin", "kubectl", "Kustomize Version: v5.8.0")

    monkeypatch.setenv("KUSTOMIZE", str(chosen))
    assert kustomize.find().command == (str(chosen),)
    monkeypatch.delenv("KUSTOMIZE")
    assert kustomize.find().command == (str(on_path),)
    on_path.unlink()
    assert kustomize.find().command == (str(own),)
    own.unlink()
    assert kustomize.find().command == (str(older),)
    older.unlink()
    assert kustomize.find().command == (str(kubectl), "kustomize")


def test_an_old_kustomize_on_path_does_not_hide_a_newer_one_behind_it(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saying(machine / "bin", "kustomize", "v4.5.7")
    newer = saying(machine / "bin2", "kustomize", "v5.5.0")
    monkeypatch.setenv("PATH", os.environ["PATH"] + os.pathsep + str(machine / "bin2"))
    assert kustomize.find().command == (str(newer),)


@pytest.mark.parametrize("chosen", ["old/kustomize", "missing/kustomize"])
def test_what_the_variable_names_is_never_silently_replaced(
    machine: Path, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    saying(machine / "bin", "kustomize", "v5.8.1")
    saying(machine / "old", "kustomize", "v5.3.0")
    monkeypatch.setenv("KUSTOMIZE", str(machine / chosen))
    with pytest.raises(Unavailable) as refused:
        kustomize.find()
    assert chosen in str(refused.value)
    assert "$KUSTOMIZE" in refused.value.help


def test_the_version_is_asked_once_until_the_program_changes(machine: Path) -> None:
    path = program(
        machine / "bin", "kustomize", f"echo asked >> {machine}/log\ncat {machine}/version"
    )
    (machine / "version").write_text("v5.5.0\n")
    assert [kustomize.find().version for _ in range(3)] == [Version(5, 5, 0)] * 3
    assert (machine / "log").read_text() == "asked\n"

    (machine / "version").write_text("v5.6.0\n")
    os.utime(path, ns=(1, 1))
    assert kustomize.find().version == Version(5, 6, 0)
    assert (machine / "log").read_text() == "asked\nasked\n"


@pytest.mark.parametrize("content", ["", "[]", "{", '{"PATH": 3}', '{"PATH": {"version": "5"}}'])
def test_a_damaged_memory_of_versions_is_asked_again(machine: Path, content: str) -> None:
    path = saying(machine / "bin", "kustomize", "v5.5.0")
    (machine / "cache").mkdir()
    (machine / "cache/kustomize.json").write_text(content.replace("PATH", str(path)))
    assert kustomize.find().version == Version(5, 5, 0)
    kept = json.loads((machine / "cache/kustomize.json").read_text())
    assert kept[str(path)]["version"] == [5, 5, 0]


def test_an_unwritable_cache_is_done_without(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saying(machine / "bin", "kustomize", "v5.5.0")
    (machine / "file").write_text("not a folder")
    monkeypatch.setenv("COMPILER_CACHE", str(machine / "file"))
    assert kustomize.find().version == Version(5, 5, 0)


def test_the_cache_is_in_the_repository_where_none_is_named(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COMPILER_CACHE")
    own = saying(machine / "repo/.cache/compiler/tools/kustomize-5.8.1", "kustomize", "v5.8.1")
    assert kustomize.find(machine / "repo").command == (str(own),)


def test_all_available_gives_one_of_each_version_newest_first(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saying(machine / "bin", "kustomize", "v5.5.0")
    saying(machine / "bin", "kubectl", "Kustomize Version: v5.5.0")
    saying(machine / "cache/tools/kustomize-5.4.2", "kustomize", "v5.4.2")
    saying(machine / "cache/tools/kustomize-5.8.1", "kustomize", "v5.8.1")
    saying(machine / "cache/tools/kustomize-5.3.0", "kustomize", "v5.3.0")
    monkeypatch.setenv("KUSTOMIZE", "/nowhere/kustomize")
    versions = [str(found.version) for found in kustomize.all_available()]
    assert versions == ["5.8.1", "5.5.0", "5.4.2"]


def test_the_pinned_tools_are_the_ends_of_what_is_supported() -> None:
    def pin(tool: str) -> Version:
        text = (ROOT / "tools" / tool / "go.mod").read_text(encoding="utf-8")
        found = re.search(r"kustomize/kustomize/v5 v(\d+)\.(\d+)\.(\d+)", text)
        assert found
        return Version(*map(int, found.groups()))

    assert pin("kustomize") == NEWEST
    assert pin("kustomize-oldest")[:2] == OLDEST[:2]


def fake(machine: Path, script: str) -> Kustomize:
    return Kustomize((str(program(machine / "bin", "kustomize", script)),), Version(5, 8, 1))


def test_a_build_sees_neither_home_nor_settings_nor_the_network(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "KUSTOMIZE_PLUGIN_HOME", "KUBECONFIG", "AWS_SECRET"):
        monkeypatch.setenv(name, "/from/the/caller")
    real = fake(machine, 'echo "arguments: \\"$*\\""; env | sed "s/=/: \\"/; s/\\$/\\"/"')
    (machine / "system/sed").symlink_to("/bin/sed")
    (seen,) = real.build(machine)
    assert "/from/the/caller" not in seen.values()
    assert seen["GOMAXPROCS"] == "1"
    assert seen["HTTPS_PROXY"] == "http://127.0.0.1:9"
    assert seen["GIT_ALLOW_PROTOCOL"] == "none"
    assert seen["arguments"] == "build --load-restrictor LoadRestrictionsRootOnly ."


def test_a_refused_build_tells_the_last_line_without_this_machines_paths(machine: Path) -> None:
    real = fake(
        machine,
        'echo "# Warning: old field" >&2; echo "Error: no such file $PWD/a.yaml" >&2; exit 1',
    )
    with pytest.raises(BuildFailed) as failed:
        real.build(machine)
    assert str(failed.value) == "kustomize 5.8.1: no such file a.yaml"
    assert failed.value.directory == machine


def test_a_build_that_dies_without_a_word_is_reported_with_its_status(machine: Path) -> None:
    with pytest.raises(BuildFailed, match="ended with status 7"):
        fake(machine, "exit 7").build(machine)


@pytest.mark.parametrize(
    "output", [r"a: [", r"- text", r"? [a]\n: b", r"a: !!binary eA==", r"a: .inf", r"a: \0377"]
)
def test_output_that_is_no_list_of_objects_is_a_failed_build(machine: Path, output: str) -> None:
    with pytest.raises(BuildFailed, match=r"kustomize 5\.8\.1 printed"):
        fake(machine, f"printf '%b' '{output}\\n'").build(machine)


def test_a_missing_folder_is_a_failed_build(machine: Path) -> None:
    with pytest.raises(BuildFailed, match="there is no folder nowhere"):
        fake(machine, "exit 0").build(machine / "nowhere")


def test_a_kustomize_that_went_away_is_unavailable(machine: Path) -> None:
    gone = Kustomize((str(machine / "gone"),), Version(5, 8, 1))
    with pytest.raises(Unavailable, match="cannot be started"):
        gone.build(machine)


def test_a_build_that_hangs_is_ended_and_reported(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kustomize, "BUILD_SECONDS", 0.3)
    real = fake(machine, f"echo $$ > {machine}/pid; exec sleep 600")
    with pytest.raises(Unavailable, match="did not end within"):
        real.build(machine)
    assert not alive(int((machine / "pid").read_text()))


def test_a_large_build_does_not_block_on_its_pipes(machine: Path) -> None:
    line = "a" * 100
    real = fake(
        machine,
        f"i=0; while [ $i -lt 3000 ]; do echo 'k'$i': {line}'; echo {line} >&2; i=$((i+1)); done",
    )
    (built,) = real.build(machine)
    assert len(built) == 3000


def test_many_builds_come_in_the_order_asked_for(machine: Path) -> None:
    folders = [machine / f"f{i}" for i in range(9)]
    for folder in folders:
        folder.mkdir()
    # The first ones take longest.
    real = fake(machine, 'n=${PWD##*f}; sleep 0.$((9 - n)); echo "n: $n"')
    built = [objects[0]["n"] for objects in real.build_many(folders, 3)]
    assert built == list(range(9))


def test_many_builds_keep_to_the_number_of_processes(machine: Path) -> None:
    (machine / "running").mkdir()
    folders = [machine / f"f{i}" for i in range(8)]
    for folder in folders:
        folder.mkdir()
    for name in ("mkdir", "rmdir", "ls"):
        (machine / "system" / name).symlink_to(f"/bin/{name}")
    real = fake(
        machine,
        f'cd {machine}/running; mkdir $$; set -- *; sleep 0.1; rmdir $$; echo "most: $#"',
    )
    most = [objects[0]["most"] for objects in real.build_many(folders, 2)]
    assert 1 <= max(most) <= 2


def test_the_first_failure_of_many_ends_the_rest(machine: Path) -> None:
    folders = [machine / name for name in ("good", "bad", "slow")]
    for folder in folders:
        folder.mkdir()
    real = fake(
        machine,
        f"case $PWD in *bad) while [ ! -e {machine}/pid ]; do sleep 0.05; done\n"
        "echo Error: broken >&2; exit 1;;\n"
        f"*slow) echo $$ > {machine}/pid; exec sleep 600;; *) echo 'a: 1';; esac",
    )
    results = real.build_many(folders, 3)
    assert next(results) == [{"a": 1}]
    with pytest.raises(BuildFailed, match="broken") as failed:
        next(results)
    assert failed.value.directory == folders[1]
    assert not alive(int((machine / "pid").read_text()))


def test_a_caller_who_stops_early_leaves_no_program_running(machine: Path) -> None:
    folders = [machine / name for name in ("good", "slow")]
    for folder in folders:
        folder.mkdir()
    real = fake(
        machine,
        f"case $PWD in *slow) echo $$ > {machine}/pid; exec sleep 600;; esac\n"
        f"while [ ! -e {machine}/pid ]; do sleep 0.05; done; echo 'a: 1'",
    )
    results = real.build_many(folders, 2)
    next(results)
    results.close()
    assert not alive(int((machine / "pid").read_text()))


def alive(pid: int) -> bool:
    """Whether a process is still there after a moment in which it may end."""
    for _ in range(50):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.02)
    return True


TEXTS = {
    "float": "1e-5",
    "bool": "on",
    "letter": "y",
    "octal": "010",
    "broken-octal": "08",
    "date": "2024-01-01",
    "null": "null",
    "tilde": "~",
    "infinite": ".inf",
    "equals": "=",
    "merge": "<<",
    "sixty": "12:30:45",
    "script": "#!/bin/sh\nset -e\necho \"$HOME\" '$(NAME)'\n",
    "tabbed": "a\tb \n c",
    "unicode": "naïve – 模型 🚀",
    "empty": "",
}


def overlay(folder: Path, body: str, kustomization: str = "resources: [a.yaml]\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kustomization.yaml").write_text(kustomization, encoding="utf-8")
    (folder / "a.yaml").write_text(body, encoding="utf-8")
    return folder


@each_kustomize
def test_text_comes_back_letter_for_letter(real: Kustomize, tmp_path: Path) -> None:
    wanted = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": TEXTS,
        "numbers": [1, 0, -7, 16, 0.5, 9007199254740991],
        "rest": [True, False, None, {}, []],
    }
    assert real.build(overlay(tmp_path, json.dumps(wanted, ensure_ascii=False))) == [wanted]


@each_kustomize
def test_every_version_builds_the_same(real: Kustomize, tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    overlay(
        tmp_path / "base",
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: job}\n"
        "spec:\n  nprocPerNode: '8'\n  rate: 1e-5\n  list: [1, '1', on]\n",
    )
    folder = overlay(
        tmp_path / "run",
        "- op: replace\n  path: /metadata/name\n  value: llm-sft-r1\n",
        "resources: [../base]\npatches:\n- path: a.yaml\n  target: {kind: PyTorchJob}\n",
    )
    (built,) = real.build(folder)
    assert built == AVAILABLE[0].build(folder)[0]
    assert built["metadata"] == {"name": "llm-sft-r1"}
    assert built["spec"]["nprocPerNode"] == "8"


@each_kustomize
@pytest.mark.parametrize(
    "address", ["https://example.invalid/a.yaml", "https://example.invalid/a/b.git?ref=v1"]
)
def test_a_remote_base_is_not_fetched(real: Kustomize, tmp_path: Path, address: str) -> None:
    folder = overlay(tmp_path, "", f"resources: ['{address}']\n")
    with pytest.raises(BuildFailed, match=r"127\.0\.0\.1:9|git fetch|git init"):
        real.build(folder)


@each_kustomize
def test_a_file_outside_the_folder_is_refused(real: Kustomize, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n")
    folder = overlay(tmp_path / "run", "", "resources: [../secret.yaml]\n")
    with pytest.raises(BuildFailed) as failed:
        real.build(folder)
    assert "secret.yaml" in str(failed.value)


@each_kustomize
def test_a_failed_build_is_explained_on_one_line_without_frames(
    real: Kustomize, tmp_path: Path
) -> None:
    with pytest.raises(BuildFailed) as failed:
        real.build(overlay(tmp_path / "team/run", "", "resources: [missing.yaml, ../base]\n"))
    message = str(failed.value)
    assert message.startswith(f"{real.name}: accumulating resources")
    assert "'missing.yaml'" in message
    assert str(tmp_path) not in message
    assert "\n" not in message
    assert "run.go" not in message


@each_kustomize
def test_a_helm_chart_is_refused(real: Kustomize, tmp_path: Path) -> None:
    chart = "helmCharts:\n- name: x\n  repo: https://127.0.0.1:1\n"
    with pytest.raises(BuildFailed, match=r"must specify --enable-helm$"):
        real.build(overlay(tmp_path, "", chart))
