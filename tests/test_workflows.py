"""What CI may do; and the scripts that it calls, run with a fake gh, kubectl and runwright."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from declarations import repository

ROOT = Path(__file__).resolve().parents[1]
CI = ROOT / "ci"
SCRIPTS = sorted(CI.rglob("*.sh"))
MARKER = "<!-- runwright-plan -->"

# The jobs that may do more than read, and what.
RIGHTS = {
    ("plan-comment", "comment"): {"actions": "read", "contents": "read", "pull-requests": "write"},
    ("publish", "publish"): {"contents": "write"},
    ("archive", "publish"): {"contents": "write"},
    ("images", "build"): {"contents": "read", "packages": "write"},
    ("images", "pin"): {"contents": "write", "pull-requests": "write"},
}


def workflows() -> dict[str, dict[Any, Any]]:
    found = sorted((ROOT / ".github/workflows").glob("*.yml"))
    return {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in found}


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name, workflow in workflows().items():
        for job, content in workflow["jobs"].items():
            yield name, job, content


def triggers(name: str) -> set[str]:
    # YAML 1.1 reads the key `on` as true.
    return set(workflows()[name][True])


# --- what a workflow may do ----------------------------------------------------------------------


def test_every_workflow_that_people_rely_on_is_there() -> None:
    wanted = {"archive", "check", "images", "plan", "plan-comment", "publish", "test"}
    assert set(workflows()) == wanted


def test_a_job_has_no_right_that_it_does_not_need() -> None:
    for name, job, content in jobs():
        assert content["permissions"] == RIGHTS.get((name, job), {"contents": "read"}), (name, job)
        # Only the compiler's own tests, which no other repository gets, take longer.
        assert content["timeout-minutes"] <= (90 if name == "test" else 30)


def test_what_a_pull_request_starts_has_no_secret_and_no_right_to_write() -> None:
    for name, workflow in workflows().items():
        if triggers(name) & {"pull_request", "merge_group", "pull_request_target"}:
            text = json.dumps(workflow, default=str)
            assert "secrets" not in text, name
            assert "github.token" not in text, name
            assert "pull_request_target" not in triggers(name)


def test_a_job_that_may_write_checks_out_nothing_of_a_pull_request() -> None:
    for name, job in RIGHTS:
        for step in workflows()[name]["jobs"][job]["steps"]:
            if "checkout@" in step.get("uses", ""):
                ref = step["with"].get("ref", "")
                assert ref in ("", "${{ github.event.repository.default_branch }}"), name
    assert triggers("plan-comment") == {"workflow_run"}
    assert triggers("publish") == {"push", "workflow_dispatch"}
    assert triggers("archive") == {"schedule", "workflow_dispatch"}


def test_the_job_that_sees_clusters_may_not_write_and_the_one_that_writes_sees_none() -> None:
    for name, job, content in jobs():
        secret = "secrets." in json.dumps(content)
        assert secret == ((name, job) == ("archive", "observe")), (name, job)
        if secret:
            assert content["permissions"] == {"contents": "read"}
            assert content["environment"] == "clusters"


def test_plan_sees_all_of_the_history_and_queues_are_planned() -> None:
    assert triggers("plan") == {"pull_request", "merge_group"}
    (content,) = workflows()["plan"]["jobs"].values()
    checkouts = {
        step["with"]["path"]: step["with"] for step in content["steps"] if "checkout" in str(step)
    }
    assert checkouts["pr"]["fetch-depth"] == 0
    assert "base.sha" in checkouts["base"]["ref"]
    scripts = [step["run"] for step in content["steps"] if "run" in step]
    assert scripts == ["sh base/ci/install.sh base", 'sh base/ci/plan.sh base pr "$BASE" plan']


def test_publishes_wait_for_one_another_and_none_is_cut_short() -> None:
    one = {"group": "publish", "cancel-in-progress": False}
    assert workflows()["publish"]["concurrency"] == one
    assert workflows()["archive"]["jobs"]["publish"]["concurrency"] == one
    for name, job in (("publish", "publish"), ("archive", "publish")):
        checkout = workflows()[name]["jobs"][job]["steps"][0]
        assert checkout["with"]["fetch-depth"] == 0


def test_an_artifact_is_asked_for_by_the_name_under_which_it_was_handed_over() -> None:
    for giver, taker in (("plan", "plan-comment"), ("archive", "archive")):
        names = {
            kind: [
                step["with"]["name"]
                for name, _, content in jobs()
                for step in content["steps"]
                if name == by and f"{kind}-artifact@" in step.get("uses", "")
            ]
            for kind, by in (("upload", giver), ("download", taker))
        }
        assert names["upload"] == names["download"] != []


def test_gitlab_gives_merge_requests_no_token_and_publishes_one_at_a_time() -> None:
    text = (CI / "gitlab/pipeline.yml").read_text("utf-8")
    pipeline = yaml.safe_load(text)
    assert pipeline["publish"]["resource_group"] == "publish"
    for name, job in pipeline.items():
        if not isinstance(job, dict) or "script" not in job:
            continue
        parent = job["extends"]
        if parent == ".merge-request":
            assert "TOKEN" not in json.dumps(job), name
            assert all(line.find("ci/") == -1 or "$COMPILER" in line for line in job["script"])
        else:
            assert job["rules"], name
        assert job.get("stage", pipeline[parent].get("stage")) in pipeline["stages"]
    assert pipeline[".runwright"]["variables"]["GIT_DEPTH"] == "0"


# --- the scripts ---------------------------------------------------------------------------------


class Machine:
    """A folder with programs of our making at the front of the path, and a shell."""

    def __init__(self, root: Path, shell: list[str]) -> None:
        self.root = root
        self.shell = shell
        self.bin = root / "bin"
        self.bin.mkdir()
        self.env = {
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(root),
            "LOG": str(root / "log"),
            "TMPDIR": str(root),
        }

    def program(self, path: str, script: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        file.chmod(0o755)

    def __call__(self, script: str, *words: str, **env: str) -> int:
        done = subprocess.run(
            [*self.shell, str(CI / script), *words],
            cwd=self.root,
            env={**self.env, **env},
            capture_output=True,
            text=True,
            check=False,
        )
        self.out, self.err = done.stdout, done.stderr
        return done.returncode

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def read(self, path: str) -> str:
        return (self.root / path).read_text("utf-8")

    @property
    def log(self) -> list[list[str]]:
        """The calls of our programs: words as they came in."""
        file = self.root / "log"
        return (
            [shlex.split(line) for line in file.read_text().splitlines()] if file.exists() else []
        )


# Writes its words into the log, each quoted.
LOGS = (
    'for word in "$(basename "$0")" "$@"; do printf "\'%s\' " "$word"; done >>"$LOG"; echo >>"$LOG"'
)


@pytest.fixture(params=[["dash"], ["busybox", "sh"], ["bash", "--posix"]], ids=lambda p: p[0])
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Machine:
    if shutil.which(request.param[0]) is None:
        pytest.skip(f"no {request.param[0]} here")
    return Machine(tmp_path, request.param)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_short_and_says_what_it_does(script: Path) -> None:
    lines = script.read_text("utf-8").splitlines()
    assert lines[0] == "#!/bin/sh"
    assert lines[1].startswith(f"# {script.name} ")
    assert "set -eu" in lines
    assert len(lines) < 60
    assert os.access(script, os.X_OK)


# plan.sh

PLAN = f"{LOGS}\nprintf '{MARKER}\\n### Plan\\n'; exit ${{STATUS:-0}}"


@pytest.mark.parametrize("status", ["0", "1", "2"])
def test_plan_is_made_by_the_compiler_of_the_base_and_handed_over(
    machine: Machine, status: str
) -> None:
    machine.program("base/.venv/bin/runwright", PLAN)
    machine.program("pr/.venv/bin/runwright", 'touch "$HOME/ran"')
    machine.write("summary", "before\n")
    env = {"STATUS": status, "NUMBER": "17", "GITHUB_STEP_SUMMARY": str(machine.root / "summary")}
    assert machine("plan.sh", "base", "pr", "abc123", "plan", **env) == int(status)
    assert not (machine.root / "ran").exists()
    words = "runwright --repo pr plan --base abc123 --head HEAD --markdown"
    assert machine.log == [words.split()]
    assert machine.read("plan/plan.md") == f"{MARKER}\n### Plan\n"
    assert machine.read("plan/number") == "17\n"
    assert machine.read("summary") == f"before\n{MARKER}\n### Plan\n"


# comment.sh

GH = f"""{LOGS}
case "$*" in
    *"/pulls/"*) echo "$PULL_HEAD" ;;
    *"--paginate"*) printf '%b' "$COMMENTS" ;;
    *"--method"*)
        for word in "$@"; do
            case $word in body=@*) cat "${{word#body=@}}" >"$HOME/said" ;; esac
        done ;;
esac"""
TOLD = {"REPOSITORY": "a/b", "HEAD_SHA": "c0ffee", "PULL_HEAD": "c0ffee", "COMMENTS": ""}


def proposal(machine: Machine, number: str = "17\n", plan: str = f"{MARKER}\nr1 starts\n") -> None:
    machine.program("bin/gh", GH)
    machine.write("plan/plan.md", plan)
    machine.write("plan/number", number)


def writes(machine: Machine) -> list[list[str]]:
    return [words for words in machine.log if "--method" in words]


def test_the_first_plan_is_a_new_comment(machine: Machine) -> None:
    proposal(machine)
    assert machine("comment.sh", "plan", **TOLD) == 0, machine.err
    (words,) = writes(machine)
    assert words[1:5] == ["api", "--method", "POST", "repos/a/b/issues/17/comments"]
    assert machine.read("said") == f"{MARKER}\nr1 starts\n"


def test_a_later_plan_replaces_the_comment(machine: Machine) -> None:
    proposal(machine)
    assert machine("comment.sh", "plan", **{**TOLD, "COMMENTS": "901\\n902\\n"}) == 0, machine.err
    (words,) = writes(machine)
    assert words[1:5] == ["api", "--method", "PATCH", "repos/a/b/issues/comments/901"]


@pytest.mark.parametrize(
    "number",
    ["", "\n", "0", "017", "17a", "1 7", "17\n18\n", "-1", "../1", "1/files", "$(id)", "9" * 12],
)
def test_a_number_that_is_none_is_refused_before_anything_is_asked(
    machine: Machine, number: str
) -> None:
    proposal(machine, number=number)
    assert machine("comment.sh", "plan", **TOLD) == 1
    assert "holds no number" in machine.err
    assert machine.log == []


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (f"{MARKER}\n{'x' * 65_536}", "too long"),
        (f"{MARKER}\n{'😀' * 70_000}", "too long"),
        ("hello\n", "is no plan"),
        (f"hello {MARKER}\n", "is no plan"),
        ("", "is no plan"),
    ],
)
def test_what_is_no_plan_is_refused_before_anything_is_asked(
    machine: Machine, plan: str, said: str
) -> None:
    proposal(machine, plan=plan)
    assert machine("comment.sh", "plan", **TOLD) == 1
    assert said in machine.err
    assert machine.log == []


def test_a_plan_as_long_as_a_comment_may_be_is_taken(machine: Machine) -> None:
    text = f"{MARKER}\n"
    proposal(machine, plan=text + "é" * (65_536 - len(text)))
    assert machine("comment.sh", "plan", **TOLD) == 0, machine.err


@pytest.mark.parametrize("file", ["plan.md", "number"])
def test_a_link_in_the_artifact_is_not_followed(machine: Machine, file: str) -> None:
    proposal(machine)
    secret = machine.root / "secret"
    (machine.root / "plan" / file).rename(secret)
    (machine.root / "plan" / file).symlink_to(secret)
    assert machine("comment.sh", "plan", **TOLD) == 1
    assert "is no plain file" in machine.err
    assert machine.log == []


def test_a_plan_of_another_pull_request_is_not_said(machine: Machine) -> None:
    proposal(machine)
    assert machine("comment.sh", "plan", **{**TOLD, "PULL_HEAD": "deadbeef"}) == 1
    assert "pull request 17 is at deadbeef" in machine.err
    assert writes(machine) == []


# archive.sh

PROGRAM = f"""exec {shlex.quote(sys.executable)} -m compiler "$@" """
KUBECTL = f"""{LOGS}
case "$2 $4" in
    gone*) echo "connection refused" >&2; exit 1 ;;
    "half jobs.batch") echo "forbidden" >&2; exit 1 ;;
esac
if [ "$3" = api-resources ]; then
    printf '%s\\n' pods jobs.batch $KINDS
else
    printf '{{"apiVersion": "v1", "kind": "List", "metadata": {{}}, "items": ['
    if [ "$4" = pytorchjobs.kubeflow.org ]; then cat "$HOME/job.json"; fi
    printf ']}}\\n'
fi"""
DONE = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "llm-r1", "namespace": "p-nlp", "uid": "1"},
    "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1}}},
    "status": {
        "startTime": "2026-03-01T06:00:00Z",
        "completionTime": "2026-03-01T08:00:00Z",
        "conditions": [{"type": "Succeeded", "status": "True"}],
    },
}


@pytest.fixture
def clusters(machine: Machine) -> Machine:
    root = repository(machine.root / "base")
    text = (root / "policy/clusters/west.yaml").read_text("utf-8")
    for name in ("gone", "half", "plain"):
        (root / f"policy/clusters/{name}.yaml").write_text(text, "utf-8")
    machine.program("base/.venv/bin/runwright", PROGRAM)
    machine.program("bin/kubectl", KUBECTL)
    machine.write("job.json", json.dumps(DONE))
    machine.env |= {"PYTHONPATH": str(ROOT), "KINDS": "pytorchjobs.kubeflow.org"}
    return machine


def test_archive_reads_every_cluster_and_asks_only_for_kinds_that_it_has(clusters: Machine) -> None:
    assert clusters("archive.sh", "base", "observed", "west", "plain") == 0, clusters.err
    for name in ("west", "plain"):
        seen = json.loads(clusters.read(f"observed/{name}.json"))
        assert (seen["cluster"], seen["complete"]) == (name, True)
        assert [run["outcome"] for run in seen["runs"]] == ["succeeded"]
    asked = [words[4] for words in clusters.log if words[1:4] == ["--context", "west", "get"]]
    assert asked == ["pytorchjobs.kubeflow.org", "jobs.batch", "pods", "pods"]
    assert all("--all-namespaces" in words for words in clusters.log if "get" in words)


@pytest.mark.parametrize("bad", ["gone", "half"])
def test_a_cluster_that_cannot_be_read_whole_is_left_out_and_named(
    clusters: Machine, bad: str
) -> None:
    assert clusters("archive.sh", "base", "observed", bad, "west") == 1
    assert f"archive: {bad} could not be read" in clusters.err
    assert sorted(path.name for path in (clusters.root / "observed").iterdir()) == ["west.json"]


def test_archive_asks_the_cluster_for_nothing_but_lists(clusters: Machine) -> None:
    clusters("archive.sh", "base", "observed", "west")
    assert {words[3] for words in clusters.log} == {"api-resources", "get"}


# publish.sh


def test_publish_takes_the_observations_that_are_there(machine: Machine) -> None:
    subprocess.run(["git", "init", "-q", str(machine.root / "base")], check=True)
    machine.program("base/.venv/bin/runwright", LOGS)
    machine.write("a b.json", "{}")
    machine.write("c.json", "{}")
    words = ["base", "observed/*.json", "a b.json", "c.json"]
    assert machine("publish.sh", *words) == 0, machine.err
    told = ["runwright", "--repo", "base", "publish", "--observed"]
    assert machine.log == [[*told, "a b.json", "--observed", "c.json"]]


def test_the_home_of_the_compiler_publishes_no_example(machine: Machine) -> None:
    subprocess.run(["git", "init", "-q", str(machine.root / "base")], check=True)
    machine.program("base/.venv/bin/runwright", LOGS)
    # By this file install.sh knows it, too; `init` writes none.
    assert (ROOT / "tools/setup.py").is_file()
    machine.write("base/tools/setup.py", "")
    assert machine("publish.sh", "base") == 0, machine.err
    assert machine.log == [["runwright", "--repo", "base", "publish", "--dry-run"]]


def test_publish_ends_as_the_compiler_does(machine: Machine) -> None:
    subprocess.run(["git", "init", "-q", str(machine.root / "base")], check=True)
    machine.program("base/.venv/bin/runwright", f"{LOGS}\nexit 1")
    assert machine("publish.sh", "base") == 1
    assert machine.log == [["runwright", "--repo", "base", "publish"]]


def test_the_token_is_told_to_git_and_written_nowhere(machine: Machine) -> None:
    subprocess.run(["git", "init", "-q", str(machine.root / "base")], check=True)
    ask = "printf 'protocol=https\\nhost=example.com\\n\\n' | git credential fill >\"$HOME/told\""
    machine.program("base/.venv/bin/runwright", f"{LOGS}\n{ask}")
    assert machine("publish.sh", "base", PUSH_TOKEN="s3cret", PUSH_USER="oauth2") == 0, machine.err
    told = machine.read("told").splitlines()
    assert {"username=oauth2", "password=s3cret"} <= set(told)
    assert "s3cret" not in str(machine.log)
    for file in (machine.root / "base/.git").rglob("*"):
        assert file.is_dir() or b"s3cret" not in file.read_bytes(), file


# install.sh

FILE = ["-r", "requirements.txt"]
VENV = f"""{LOGS}
mkdir -p .venv/bin
cp "$HOME/python" .venv/bin/python
cp "$HOME/python" .venv/bin/runwright"""


def test_a_company_repository_installs_what_it_pins(machine: Machine) -> None:
    machine.program("python", LOGS)
    machine.program("bin/a-python", VENV)
    machine.write("repo/requirements.txt", "runwright==1.2.3\n")
    assert machine("install.sh", "repo", PYTHON="a-python") == 0, machine.err
    assert machine.log == [
        ["a-python", "-m", "venv", ".venv"],
        [
            "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
            "requirements.txt",
        ],
        ["runwright", "--version"],
    ]


# gitlab/base.sh


def git(folder: Path, *words: str) -> str:
    names = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *names, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, "utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", name)
    return git(folder, "rev-parse", "HEAD")


@pytest.mark.parametrize("fork", [False, True])
def test_gitlab_compares_with_the_tip_of_the_target_branch(machine: Machine, fork: bool) -> None:
    target = machine.root / "target.git"
    (machine.root / "work").mkdir()
    work = machine.root / "work"
    git(work, "init", "-q", "-b", "main")
    commit(work, "a", "one")
    git(machine.root, "clone", "-q", "--bare", "work", "target.git")
    git(machine.root, "clone", "-q", "--bare", "work", "fork.git")
    git(machine.root, "clone", "-q", "fork.git" if fork else "target.git", "clone")
    commit(machine.root / "clone", "b", "the author's")
    # The target branch moves on.
    git(work, "remote", "add", "origin", str(target))
    tip = commit(work, "a", "two")
    git(work, "push", "-q", "origin", "main")
    env = {
        "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "2" if fork else "1",
        "CI_MERGE_REQUEST_PROJECT_ID": "1",
        "CI_MERGE_REQUEST_PROJECT_URL": str(machine.root / "target"),
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
    }
    command = f'cd clone && {shlex.join(machine.shell)} {CI}/gitlab/base.sh "$HOME/base"'
    for _ in range(2):
        subprocess.run(["sh", "-c", command], cwd=machine.root, env=machine.env | env, check=True)
        assert git(machine.root / "base", "rev-parse", "HEAD") == tip
        (machine.root / "base" / "left").write_text("by the last pipeline", "utf-8")
    assert not re.search("the author's", machine.read("base/a"))


# images.sh and pin.sh


def test_images_that_are_older_are_built_and_pushed_by_their_commit(machine: Machine) -> None:
    machine.program("base/.venv/bin/runwright", f"{LOGS}\nprintf 'one\\ntwo\\nbare\\n'")
    machine.program("bin/git", "echo 0123456789ab")
    digest = f"sha256:{'a' * 64}"
    machine.program("bin/docker", f'{LOGS}\ntest "$1" != buildx || echo {digest}\ncat >/dev/null')
    for name in ("one", "two"):
        machine.write(f"base/images/{name}/Dockerfile", "FROM scratch\n")
    machine.write("base/images/bare/image.yaml", "entry: [a]\n")
    assert machine("images.sh", "base", "registry.example.com/ml", "built") == 0, machine.err
    assert machine.read("built").splitlines() == [
        f"{name} registry.example.com/ml/{name}:0123456789ab {digest}" for name in ("one", "two")
    ]
    assert "images/bare/ has no Dockerfile" in machine.err
    assert [call[1] for call in machine.log if call[0] == "docker"] == [
        "build",
        "push",
        "buildx",
    ] * 2
    machine.program("bin/docker", "exit 1")
    assert machine("images.sh", "base", "registry.example.com/ml", "built") != 0


def test_digests_become_one_commit_on_a_branch_of_its_own(machine: Machine) -> None:
    git = ["git", "-C", str(machine.root / "base")]
    machine.write("base/images/lock.yaml", "images: {}\n")
    machine.program("base/.venv/bin/runwright", f'{LOGS}\necho "# $5" >>base/images/lock.yaml')
    machine.write("base/.gitignore", ".venv\n")
    subprocess.run([*git[:1], "init", "--quiet", "--bare", str(machine.root / "far")], check=True)
    for words in (["init", "--quiet"], ["add", "."], ["remote", "add", "origin", "../far"]):
        subprocess.run([*git, *words], check=True)
    me = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run([*git, *me, "commit", "--quiet", "-m", "all"], check=True)
    machine.write("empty", "")
    assert machine("pin.sh", "base", "empty") == 0
    assert machine.out == ""
    machine.write("built", "one registry/one:1 sha256:1\n--x $(touch${IFS}hacked) `touch hacked`\n")
    assert machine("pin.sh", "base", "built") == 0, machine.err
    assert machine.out == "changed\n"
    assert not (machine.root / "hacked").exists()
    shown = ["git", "-C", str(machine.root / "far"), "log", "-1", "--format=%s", "pin-images"]
    said = subprocess.run(shown, check=True, capture_output=True, text=True).stdout
    assert said == "Pin the images that were built\n"
