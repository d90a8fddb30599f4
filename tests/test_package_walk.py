"""The life of a job in a repository that `init` made, with Runwright installed from its wheel.

A person works in one clone and runs git; everything else is done by the repository's own `ci/*.sh`,
in clones as a CI system has them. Nothing here can reach the source tree.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

import compiler
from compiler.kustomize import find

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = next(path for path in sys.path if path.endswith("site-packages"))
TUNE = """\
description: SFT on support dialogues
image: trainer
args: {learning_rate: 2e-5}
accelerators: H100:8
queue: training
max_duration: 24h
mounts:
  /data: {claim: datasets, read_only: true}
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
"""
KUBECTL = """\
#!/bin/sh
# As a cluster with Jobs and without Kueue answers.
if [ "$3" = api-resources ]; then
    printf '%s\\n' jobs.batch pods
elif [ "$4" = jobs.batch ]; then
    cat "$CLUSTER"
else
    echo '{"apiVersion": "v1", "kind": "List", "metadata": {}, "items": []}'
fi
"""


class Site:
    """A remote, a person's clone, and the clones of CI; the compiler is in one environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mine, self.base = folder / "mine", folder / "base"
        kustomize = find(ROOT)
        assert kustomize is not None, "make tools"
        (folder / "bin").mkdir()
        kubectl = folder / "bin" / "kubectl"
        kubectl.write_text(KUBECTL, "utf-8")
        kubectl.chmod(0o755)
        who = {f"GIT_{role}_NAME": "kim" for role in ("AUTHOR", "COMMITTER")}
        mail = {f"GIT_{role}_EMAIL": "kim@example.com" for role in ("AUTHOR", "COMMITTER")}
        kept = {"HOME": str(folder), "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "COLUMNS": "100"}
        wheels = folder / "wheels"
        pip = {"NO_DEPS": "1", "NO_INDEX": "1", "IGNORE_INSTALLED": "1", "FIND_LINKS": str(wheels)}
        self.environment = {
            **kept,
            **who,
            **mail,
            **{f"PIP_{name}": value for name, value in pip.items()},
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "PYTHON": sys.executable,
            # What the wheel depends on. The source tree is on no path of it.
            "PYTHONPATH": PACKAGES,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_EDITOR": "true",
            "KUSTOMIZE": kustomize.command[0],
            "CLUSTER": str(folder / "cluster.json"),
        }
        self.cluster([])

    def run(self, *words: str, where: Path | None = None, status: int = 0) -> str:
        """What a program prints; it must end with this status."""
        done = subprocess.run(
            words,
            cwd=where or self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == status, f"{words} ended with {done.returncode}:\n{done.stdout}"
        return done.stdout

    def git(self, *words: str) -> str:
        """Git in the person's clone."""
        return self.run("git", *words, where=self.mine).strip()

    def runwright(self, *words: str, status: int = 0) -> str:
        """Runwright in the person's clone."""
        program = self.base / ".venv/bin/runwright"
        return self.run(str(program), *words, where=self.mine, status=status)

    def cluster(self, items: list[dict[str, Any]]) -> None:
        """Let the cluster have these objects."""
        whole = {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}
        (self.folder / "cluster.json").write_text(json.dumps(whole), "utf-8")

    def write(self, path: str, text: str) -> None:
        """Write a file of the person's clone."""
        file = self.mine / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def pull_request(self, message: str, *, blocked: bool = False) -> str:
        """Propose what is in the person's clone; returns the comment with the plan."""
        self.git("switch", "-qc", "change")
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        self.git("push", "-qf", "origin", "change")
        self.run("git", "pull", "-q", where=self.base)
        tree = self.folder / "pr"
        if not tree.exists():
            self.run("git", "clone", "-q", str(self.folder / "remote.git"), "pr")
        self.run("git", "fetch", "-q", where=tree)
        self.run("git", "checkout", "-q", "origin/change", where=tree)
        program = str(self.base / ".venv/bin/runwright")
        self.run(program, "--repo", "pr", "check")
        into = self.run("git", "rev-parse", "origin/main", where=tree).strip()
        out = self.folder / "plan"
        ci = str(self.base / "ci/plan.sh")
        self.run("sh", ci, "base", "pr", into, str(out), status=1 if blocked else 0)
        return (out / "plan.md").read_text("utf-8")

    def merge(self, *observed: str) -> str:
        """Merge what was proposed, and let the workflow publish; returns what it prints."""
        self.git("switch", "-q", "main")
        self.git("merge", "-q", "--no-ff", "-m", "Merge", "change")
        self.git("branch", "-qD", "change")
        self.git("push", "-q")
        return self.publish(*observed)

    def publish(self, *observed: str) -> str:
        """The workflow on the main branch, with observations."""
        self.run("git", "pull", "-q", where=self.base)
        said = self.run("sh", str(self.base / "ci/publish.sh"), "base", *observed)
        self.git("pull", "-q")
        return said

    def states(self, job: str = "tune") -> list[str]:
        """The runs of a ledger, in short."""
        path = self.mine / f"overlays/ledger/research/{job}.yaml"
        return [
            " ".join(str(run.get(name, "-")) for name in ("name", "state", "outcome"))
            for run in yaml.safe_load(path.read_text("utf-8"))["runs"]
        ]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """An `init` repository on a remote, with the compiler that it names installed by its script."""
    wheels = tmp_path / "wheels"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    (wheel,) = wheels.glob("runwright-*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "unpacked")
    made = Site(tmp_path)
    # Before there is a repository, there is nothing that could install it.
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path / 'unpacked')!r}]; "
        f"from compiler.cli import main; sys.exit(main(['init', {str(made.mine)!r}]))"
    )
    made.run(sys.executable, "-S", "-c", code)
    made.run("git", "init", "-q", "--bare", "-b", "main", "remote.git")
    for line in ("init -q -b main", "remote add origin ../remote.git", "add -A"):
        made.git(*line.split())
    made.git("commit", "-qm", "Begin")
    made.git("push", "-q", "-u", "origin", "main")
    made.git("remote", "set-head", "origin", "main")
    made.run("git", "clone", "-q", "remote.git", "base")
    made.run("sh", "base/ci/install.sh", "base")
    return made


def digest_of(kind: str) -> str:
    return f"sha256:{kind * 64}"


def finished(number: int, namespace: str = "training-research") -> dict[str, Any]:
    """The Job of a run, as a cluster shows it when it is done."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"tune-r{number}",
            "namespace": namespace,
            "uid": "1",
            "annotations": {"runwright/run": str(number)},
        },
        "status": {
            "startTime": "2026-03-01T06:00:00Z",
            "completionTime": "2026-03-01T08:00:00Z",
            "conditions": [{"type": "Complete", "status": "True"}],
        },
    }


@pytest.mark.slow
def test_a_company_walks_through_the_life_of_a_job(site: Site) -> None:
    python = str(site.base / ".venv/bin/python")
    where = site.run(python, "-c", "import compiler; print(compiler.__file__)").strip()
    assert Path(where).is_relative_to(site.base / ".venv")
    assert site.runwright("--version").split()[-1] == compiler.__version__

    # Before the first image of its own, nothing is published.
    said = site.run("sh", "base/ci/publish.sh", "base", status=2)
    assert "images/lock.yaml" in said
    assert "there is no such image" in said
    lock = (site.mine / "images/lock.yaml").read_text("utf-8")
    lock = re.sub(r"sha256:\w+", digest_of("a"), lock)
    lock = lock.replace("    example: true\n", "")
    site.write("images/lock.yaml", lock)
    assert "hello-r1" in site.pull_request("Pin our image")
    assert "research/hello-r1 on main" in site.merge()
    assert site.states("hello") == ["hello-r1 active unknown"]

    # A pull request, its check and its plan; merge and publish.
    site.write("jobs/research/tune.yaml", TUNE)
    plan = site.pull_request("Tune on support dialogues")
    assert plan.startswith("<!-- runwright-plan -->\n")
    assert "**STARTS 1**" in plan
    assert "- `research/tune-r1` on `main`, `8 × H100 on 1 node`" in plan
    assert "STARTS\n  research/tune-r1 on main" in site.merge()
    assert site.states() == ["tune-r1 active unknown"]
    assert "nothing to write" in site.publish()

    # An edit stops one run and starts another; words do neither.
    edited = TUNE.replace("2e-5", "1e-5")
    site.write("jobs/research/tune.yaml", edited)
    plan = site.pull_request("Halve the learning rate")
    assert "**STARTS 1, STOPS 1**" in plan
    assert "learning_rate=2e-5 → --learning_rate=1e-5" in plan
    site.merge()
    assert site.states() == ["tune-r1 ended unknown", "tune-r2 active unknown"]
    site.write("jobs/research/tune.yaml", f"# Ask kim.\n{edited}")
    assert "**No run starts or stops**" in site.pull_request("Say whom to ask")
    assert "nothing changes" in site.merge()

    # A revert resumes, and so does the revert of the revert.
    site.write("jobs/research/tune.yaml", f"# Ask kim.\n{edited.replace('1e-5', '2e-5')}")
    assert "**RESUMES 1, STOPS 1**" in site.pull_request("Go back")
    assert "from the checkpoints of r1" in site.merge()
    going_back = site.git("log", "--format=%h", "--grep=^Go back$")
    site.git("revert", "--no-edit", going_back)
    site.git("push", "-q")
    assert "from the checkpoints of r2" in site.publish()
    assert site.states()[2:] == ["tune-r3 ended unknown", "tune-r4 active unknown"]

    # The run ends by itself: archive sees it, publish writes it down.
    site.cluster([finished(4, "somewhere-else")])
    site.run("sh", "base/ci/archive.sh", "base", "observed", "main")
    assert "nothing to write" in site.publish("observed/main.json", "observed/none-*.json")
    site.cluster([finished(4)])
    site.run("sh", "base/ci/archive.sh", "base", "observed", "main")
    site.publish("observed/main.json")
    assert site.states()[3:] == ["tune-r4 ended succeeded"]
    table = site.runwright("runs", "tune")
    assert "2026-03-01 06:00Z  2026-03-01 08:00Z" in table

    # Away from what has succeeded, and back: it does not train again.
    site.git("revert", "--no-edit", site.git("log", "-1", "--format=%h", "--grep=^Revert"))
    site.git("push", "-q")
    assert "RESUMES\n  research/tune-r5 on main" in site.publish()
    site.git("revert", "--no-edit", site.git("log", "-1", "--format=%h", "--grep=^Re"))
    site.git("push", "-q")
    said = site.publish()
    assert "WILL NOT START\n  research/tune on main\n    r4 of this training has succeeded" in said
    assert site.states()[4:] == ["tune-r5 ended unknown"]

    # A publish commit reverted changes nothing in the end.
    before = site.git("rev-parse", "HEAD:overlays")
    site.git("revert", "--no-edit", "HEAD")
    site.git("push", "-q")
    assert "nothing changes" in site.publish()
    assert site.git("rev-parse", "HEAD:overlays") == before

    # Whoever wants it once more says so.
    site.runwright("bump", "tune")
    assert "- `research/tune-r6` on `main`" in site.pull_request("Train once more")
    site.merge()
    assert site.states()[5:] == ["tune-r6 active unknown"]

    # A rename with `was` keeps the run and its name.
    site.git("mv", "jobs/research/tune.yaml", "jobs/research/support-sft.yaml")
    text = (site.mine / "jobs/research/support-sft.yaml").read_text("utf-8")
    site.write("jobs/research/support-sft.yaml", f"was: tune\n{text}")
    assert "**No run starts or stops**" in site.pull_request("Say what the job is")
    site.merge()
    assert site.states()[5:] == ["tune-r6 active unknown"]

    # Stop now, and go on.
    stop = "policy/stops/storage.yaml"
    site.write(stop, "run: research/tune-r6\nreason: the volume is full\n")
    assert "**STOPS 1**" in site.pull_request("Stop it")
    site.merge()
    assert site.states()[5:] == ["tune-r6 ended unknown"]
    (site.mine / stop).unlink()
    assert "**RESUMES 1**" in site.pull_request("There is room again")
    site.merge()
    assert site.states()[6:] == ["support-sft-r7 active unknown"]
    assert "support-sft-r7" in (site.mine / "overlays/main/research/kustomization.yaml").read_text(
        "utf-8"
    ).replace("/r7", "-r7")
    # What stands there is what publish wrote.
    site.runwright("check")
    assert site.states("hello") == ["hello-r1 active unknown"]
