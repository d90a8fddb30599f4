"""`build`: every overlay proved with kustomize, from the cache where it was proved before."""

import os
import shutil
import threading
from pathlib import Path

import pytest
import yaml

from compiler import build as building
from compiler import kustomize, proof
from compiler.build import build
from compiler.buildcache import BuildCache
from compiler.check import check
from compiler.cli import main
from compiler.diagnostics import CompilerError, Unavailable
from compiler.overlay import same
from compiler.project import Project
from compiler.proof import Claim, Unfaithful, batches, difference, prove
from compiler.repository import Repository
from compiler.writer import MARKER

ROOT = Path(__file__).resolve().parents[1]
AVAILABLE = kustomize.all_available(ROOT)

pytestmark = [
    pytest.mark.kustomize,
    pytest.mark.skipif(not AVAILABLE, reason="no kustomize here"),
]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A copy of the example repository, with a cache of its own."""
    root = tmp_path / "repository"
    for name in ("base", "configs", "images", "jobs", "policy"):
        shutil.copytree(ROOT / name, root / name)
    (root / "pyproject.toml").write_text("[tool.compiler]\nexample = true\n")
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KUSTOMIZE", AVAILABLE[0].command[0])
    return Repository(root)


def built(repository, folder, paths=None, **options):
    return build(Project(Repository(repository.root), **options), folder, paths)


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != MARKER
    }


def edit(repository, name, old, new):
    path = repository.root / name
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def test_every_run_of_the_examples_builds_to_its_model_with_every_kustomize(repository, tmp_path):
    out = tmp_path / "out"
    done = built(repository, out)
    runs = [made for result in Project(repository).results() for made in result.runs]
    wanted = {
        (made.run.identity.cluster, one["kind"], one["metadata"]["name"]): one
        for made in runs
        if not made.run.stopped
        for one in made.objects
    }
    assert done.runs == sum(not made.run.stopped for made in runs)
    for real in AVAILABLE:
        found = {}
        for team in sorted(out.glob("overlays/*/*/sentinel.yaml")):
            for one in real.build(team.parent):
                if not one["metadata"]["name"].startswith("runwright-"):
                    cluster = team.parent.parent.name
                    found[(cluster, one["kind"], one["metadata"]["name"])] = one
        assert found.keys() == wanted.keys(), real.name
        for name, one in wanted.items():
            assert same(one, found[name]), (real.name, name, difference(one, found[name]))


def test_a_stopped_job_renders_no_run_and_its_team_keeps_its_sentinel(repository, tmp_path):
    jobs = repository.job_files()[0]
    for path in jobs:
        if path.parent.name == "nlp" or path.parent.name == "jobs":
            text = path.read_text("utf-8")
            if "state:" not in text:
                path.write_text(text.rstrip() + "\nstate: stopped\n", "utf-8")
    built(repository, tmp_path / "out")
    folder = tmp_path / "out/overlays/west/nlp"
    assert sorted(path.name for path in folder.iterdir()) == ["kustomization.yaml", "sentinel.yaml"]
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text("utf-8"))["resources"]
    assert listed == ["sentinel.yaml"]
    (sentinel,) = AVAILABLE[0].build(folder)
    assert sentinel["data"]["runs"] == ""


def test_each_job_is_judged_once(repository, tmp_path, monkeypatch):
    judged = []
    judge = Project.judge

    def counted(self, path, *more):
        judged.append(path.name)
        return judge(self, path, *more)

    monkeypatch.setattr(Project, "judge", counted)
    done = built(repository, tmp_path / "out")
    assert done.proved == done.runs > 5
    assert len(judged) == len(set(judged)) == len(done.checked.jobs)


def test_jobs_that_a_check_has_judged_are_rendered_all_the_same(repository, tmp_path):
    built(repository, tmp_path / "build alone")
    shutil.rmtree(tmp_path / "cache")
    check(Project(Repository(repository.root)))
    done = built(repository, tmp_path / "after a check")
    assert done.proved == done.runs
    assert contents(tmp_path / "build alone") == contents(tmp_path / "after a check")


def test_nothing_is_built_twice(repository, tmp_path, monkeypatch):
    first = built(repository, tmp_path / "out")
    assert first.proved == first.runs > 0
    before = contents(tmp_path / "out")
    monkeypatch.setattr(proof, "prove", lambda *_: pytest.fail("was built again"))
    for folder in ("out", "other"):
        again = built(repository, tmp_path / folder)
        assert (again.runs, again.proved) == (first.runs, 0)
        assert contents(tmp_path / folder) == before
    assert built(repository, tmp_path / "out").changed == 0


def test_a_changed_job_alone_is_built_anew(repository, tmp_path):
    built(repository, tmp_path / "out")
    before = contents(tmp_path / "out")
    edit(repository, "jobs/llm-sft.yaml", "2e-5", "3e-5")
    again = built(repository, tmp_path / "out")
    after = contents(tmp_path / "out")
    assert again.proved == 1
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed == {"overlays/west/nlp/llm-sft/r1/run.yaml"}


def test_formatting_and_comments_change_no_byte(repository, tmp_path):
    built(repository, tmp_path / "out")
    before = contents(tmp_path / "out")
    path = repository.root / "jobs/llm-sft.yaml"
    text = path.read_text("utf-8")
    header, _, body = text.partition("\nteam:")
    assert body
    path.write_text(f"# another comment\n{header}\nteam:{body}# the end\n".replace("\n", "\r\n"))
    again = built(repository, tmp_path / "out")
    assert contents(tmp_path / "out") == before
    assert again.proved == 0


def test_a_changed_annotation_of_the_base_changes_the_build_and_nothing_else(repository, tmp_path):
    built(repository, tmp_path / "out")
    before = {
        one["metadata"]["name"]: one
        for one in AVAILABLE[0].build(tmp_path / "out/overlays/west/vision")
    }
    snapshots = {path.name for path in (tmp_path / "out/overlays/west/base").iterdir()}
    edit(repository, "base/job/job.yaml", 'safe-to-evict: "false"', 'safe-to-evict: "maybe"')
    built(repository, tmp_path / "out")
    after = {
        one["metadata"]["name"]: one
        for one in AVAILABLE[0].build(tmp_path / "out/overlays/west/vision")
    }
    changed = {name: difference(one, after[name]) for name, one in before.items()}
    key = "/spec/template/metadata/annotations/cluster-autoscaler.kubernetes.io/safe-to-evict"
    jobs = {name for name, one in before.items() if one["kind"] == "Job"}
    assert jobs
    for name, what in changed.items():
        assert (what or "").startswith(key) == (name in jobs), (name, what)
    now = {path.name for path in (tmp_path / "out/overlays/west/base").iterdir()}
    assert len(now) == len(snapshots)
    assert len(now & snapshots) == len(snapshots) - 1


def test_a_job_with_errors_is_left_out_and_the_rest_is_built(repository, tmp_path):
    edit(repository, "jobs/llm-sft.yaml", "queue: research", "queue: nonsense")
    done = built(repository, tmp_path / "out")
    assert done.blocked == ["jobs/llm-sft.yaml"]
    assert done.runs > 5
    assert not (tmp_path / "out/overlays/west/nlp/llm-sft").exists()


def test_some_jobs_make_a_part_of_the_same_tree(repository, tmp_path):
    built(repository, tmp_path / "all")
    built(repository, tmp_path / "one", [repository.root / "jobs/llm-sft.yaml"])
    everything, part = contents(tmp_path / "all"), contents(tmp_path / "one")
    run = "overlays/west/nlp/llm-sft/r1/"
    assert {name for name in part if name.startswith(run)}
    for name, data in part.items():
        assert name in everything
        if "/nlp/" not in name or name.startswith(run):
            assert everything[name] == data
    listed = yaml.safe_load(part["overlays/west/nlp/kustomization.yaml"])["resources"]
    assert listed == ["sentinel.yaml", "llm-sft/r1"]


def test_one_cluster_is_all_of_it_and_nothing_of_the_other(repository, tmp_path):
    built(repository, tmp_path / "all")
    built(repository, tmp_path / "east", cluster="east")
    everything = contents(tmp_path / "all")
    assert contents(tmp_path / "east") == {
        name: data for name, data in everything.items() if name.startswith("overlays/east/")
    }


def test_the_same_input_makes_the_same_bytes_whatever_the_hash_seed(repository, tmp_path):
    import subprocess
    import sys

    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-m", "compiler", "--repo", repository.root, "build", "-o", seed],
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "PYTHONHASHSEED": seed,
                "COMPILER_CACHE": str(tmp_path / f"c{seed}"),
            },
            check=True,
            capture_output=True,
        )
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_an_overlay_that_is_not_its_model_is_our_fault_and_nothing_is_written(
    repository, tmp_path, monkeypatch, capsys
):
    built(repository, tmp_path / "out")
    before = contents(tmp_path / "out")
    edit(repository, "jobs/llm-sft.yaml", "2e-5", "3e-5")
    real = building.files

    def wrong(result, base):
        made = real(result, base)
        return {name: text.replace("3e-5", "30e-6") for name, text in made.items()}

    monkeypatch.setattr(building, "files", wrong)
    words = ["--repo", str(repository.root), "build", "-o", str(tmp_path / "out")]
    assert main(words) == 3
    said = capsys.readouterr().err
    assert "nlp/llm-sft, run 1 on west" in said
    assert "/args/" in said
    assert "30e-6" in said
    assert contents(tmp_path / "out") == before
    monkeypatch.setattr(building, "files", real)
    assert main(words) == 0


def test_without_kustomize_the_build_says_so_and_writes_nothing(
    repository, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("KUSTOMIZE", str(tmp_path / "nothing"))
    words = ["--repo", str(repository.root), "build", "-o", str(tmp_path / "out")]
    assert main(words) == 1
    assert "kustomize" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_of_somebody_else_is_refused_before_the_work(repository, tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    words = ["build", "--repo", str(repository.root), "-o", str(tmp_path / "mine"), "llm-sft"]
    assert main(words) == 2
    assert "holds notes.txt, and was not written by a build" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    assert not (tmp_path / "cache").exists()


def test_a_part_in_the_place_of_the_whole_says_how_much_is_gone(repository, tmp_path, capsys):
    whole = built(repository, tmp_path / "out")
    part = built(repository, tmp_path / "out", [repository.root / "jobs/llm-sft.yaml"])
    assert part.gone == whole.runs - part.runs > 5
    words = ["build", "--repo", str(repository.root), "-o", str(tmp_path / "out")]
    assert main(words) == 0
    assert "taken away" not in capsys.readouterr().err
    assert main([*words, "llm-sft"]) == 0
    assert f"{part.gone} runs of an earlier build taken away" in capsys.readouterr().err


def test_the_overlays_of_the_repository_are_never_the_output(repository, capsys):
    words = ["--repo", str(repository.root), "build", "-o", str(repository.root / "overlays")]
    assert main(words) == 2
    assert "publish alone" in capsys.readouterr().err


def test_the_exit_status_tells_of_errors(repository, tmp_path, capsys):
    words = ["--repo", str(repository.root), "build", "-o", str(tmp_path / "out")]
    assert main(words) == 0
    assert capsys.readouterr().out == ""
    edit(repository, "jobs/llm-sft.yaml", "queue: research", "queue: nonsense")
    assert main(words) == 1
    assert "1 job left out because of errors" in capsys.readouterr().err


def test_a_cache_that_cannot_be_used_is_done_without(repository, tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("a file where the folder should be")
    done = built(repository, tmp_path / "out")
    assert done.proved == done.runs > 0


@pytest.mark.parametrize("content", [b"", b"no database at all " * 300])
def test_a_damaged_cache_is_made_anew(tmp_path, content):
    (tmp_path / "builds.sqlite").write_bytes(content)
    cache = BuildCache(tmp_path)
    cache.keep({"a": [1]}, None)
    cache.prove(["k"])
    cache.close()
    again = BuildCache(tmp_path)
    assert again.rendered(["a", "b"]) == {"a": [1]}
    assert again.proved(["k", "l"]) == {"k"}
    again.close()


def test_what_is_no_longer_current_is_forgotten(tmp_path):
    cache = BuildCache(tmp_path)
    cache.keep({"old": 1, "kept": 2}, None)
    cache.keep({"new": 3}, ["kept", "new"])
    assert cache.rendered(["old", "kept", "new"]) == {"kept": 2, "new": 3}
    cache.close()
    assert cache.rendered(["new"]) == {}
    cache.keep({"x": 1}, None)


def claim(number, cluster="west", name=None, namespace="n"):
    one = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name or f"c{number}", "namespace": namespace},
        "data": {"k": str(number)},
    }
    folder = f"overlays/{cluster}/t/j{number}/r1"
    files = {
        f"{folder}/kustomization.yaml": b"resources: [one.yaml]\n",
        f"{folder}/one.yaml": yaml.safe_dump(one).encode(),
    }
    return Claim(f"j{number} on {cluster}", folder, cluster, files, [one])


def test_batches_hold_one_cluster_so_many_and_no_object_twice():
    claims = [claim(n, "west" if n % 3 else "east") for n in range(310)]
    claims += [claim(1000 + n, "west", "same") for n in range(3)]
    groups = list(batches(claims))
    assert sorted(c.folder for group in groups for c in group) == sorted(c.folder for c in claims)
    for group in groups:
        assert 0 < len(group) <= proof.BATCH
        assert len({c.cluster for c in group}) == 1
        keys = [proof.key(one) for c in group for one in c.objects]
        assert len(keys) == len(set(keys))


def test_the_same_object_of_two_runs_is_proved_in_two_batches():
    prove([claim(1, name="same"), claim(2, name="same"), claim(3)], AVAILABLE[0])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one["data"].update(k="other"), "/data/k: 'other' in the model, '2' from"),
        (lambda one: one["data"].update(l="x"), "/data/l: kustomize leaves out it"),
        (lambda one: one.update(data={}), "/data/k: kustomize adds it"),
        (lambda one: one["metadata"].update(name="other"), "ConfigMap other is missing"),
    ],
)
def test_the_first_difference_is_named_with_its_run(change, said):
    claims = [claim(1), claim(2), claim(3)]
    change(claims[1].objects[0])
    with pytest.raises(Unfaithful, match="the overlay of j2 on west") as caught:
        prove(claims, AVAILABLE[0])
    assert said in str(caught.value)
    assert caught.value.status == 3
    # The failure holds what was under way; a pool among it would be ended by any later thread that
    # collects garbage, which may be one that a pool is starting: nobody would ever go on.
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith("ThreadPoolExecutor")]


def test_an_overlay_that_does_not_build_is_found_among_its_batch():
    claims = [claim(1), claim(2), claim(3)]
    broken = dict(claims[1].files)
    broken["overlays/west/t/j2/r1/kustomization.yaml"] = b"resources: [nothing.yaml]\n"
    claims[1] = Claim(claims[1].name, claims[1].folder, "west", broken, claims[1].objects)
    with pytest.raises(Unfaithful, match=r"the overlay of j2 on west .*nothing\.yaml"):
        prove(claims, AVAILABLE[0])


def test_an_object_that_no_run_claims_is_found():
    one = claim(1)
    more = dict(one.files)
    more["overlays/west/t/j1/r1/kustomization.yaml"] = b"resources: [one.yaml, two.yaml]\n"
    more["overlays/west/t/j1/r1/two.yaml"] = yaml.safe_dump(claim(2).objects[0]).encode()
    with pytest.raises(Unfaithful, match="ConfigMap c2 is nobody's"):
        prove([Claim(one.name, one.folder, "west", more, one.objects)], AVAILABLE[0])


def test_nothing_is_left_behind_in_the_folders_for_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr(proof, "_scratch", lambda: str(tmp_path))
    prove([claim(1)], AVAILABLE[0])
    with pytest.raises(CompilerError):
        prove([Claim("x", "no/where", "west", {}, [])], AVAILABLE[0])
    assert list(tmp_path.iterdir()) == []


def test_progress_is_told_to_the_end():
    told = []
    prove([claim(n) for n in range(130)], AVAILABLE[0], told.append)
    assert told[-1] == 130
    assert told == sorted(told)


def test_a_kustomize_that_ends_too_early_is_not_our_fault(tmp_path):
    program = tmp_path / "kustomize"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    other = kustomize.Kustomize((str(tmp_path / "gone"),), kustomize.NEWEST)
    with pytest.raises(Unavailable, match="cannot be started"):
        prove([claim(1)], other)
