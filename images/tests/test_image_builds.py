"""Builds images with buildah, and trains in what came of it. Opt-in: minutes, and gigabytes.

RUNWRIGHT_BUILD_BASE names an image in buildah's storage that has `python`, to stand for the base of
the Dockerfiles, which may be in a registry that cannot be reached. RUNWRIGHT_BUILD_IMAGES names the
images to build (ddp-mini without it), RUNWRIGHT_BUILDAH what to give buildah before its command
(`--root DIR`), and RUNWRIGHT_BUILD_VOLUMES what to mount while it builds, such as pip's
configuration, of which then nothing stays in the image.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

IMAGES = Path(__file__).resolve().parents[1]
BASE = os.environ.get("RUNWRIGHT_BUILD_BASE")
GIVEN = shlex.split(os.environ.get("RUNWRIGHT_BUILDAH", ""))
VOLUMES = os.environ.get("RUNWRIGHT_BUILD_VOLUMES", "").split()

pytestmark = [
    pytest.mark.skipif(shutil.which("buildah") is None, reason="no buildah here"),
    pytest.mark.skipif(BASE is None, reason="RUNWRIGHT_BUILD_BASE names no image to build from"),
]


def buildah(*words: str) -> str:
    """What buildah prints; its own output of a failure is in the assertion."""
    done = subprocess.run(
        ["buildah", *GIVEN, *words], capture_output=True, text=True, check=False, cwd=IMAGES.parent
    )
    assert done.returncode == 0, done.stderr[-4000:] + done.stdout[-4000:]
    return done.stdout


@pytest.fixture(params=os.environ.get("RUNWRIGHT_BUILD_IMAGES", "ddp-mini").split())
def built(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """The name of an image, and a container of what was built of it."""
    name: str = request.param
    tag = f"localhost/runwright-test-{name}"
    assert BASE is not None
    volumes = [word for one in VOLUMES for word in ("--volume", one)]
    file = f"images/{name}/Dockerfile"
    isolated = ["--isolation", "chroot", "--build-arg", f"BASE={BASE}"]
    buildah("bud", *isolated, *volumes, "--file", file, "--tag", tag, "images")
    container = buildah("from", "--pull-never", tag).strip()
    yield name, container
    buildah("rm", container)
    buildah("rmi", tag)


def test_an_image_trains_its_tiny_profile_as_its_own_user(built: tuple[str, str]) -> None:
    name, container = built
    config = json.loads(buildah("inspect", "--type", "container", container))["OCIv1"]["config"]
    about = yaml.safe_load((IMAGES / name / "image.yaml").read_text("utf-8"))
    assert config["Cmd"] == about["entry"]
    assert config["User"] == "10001:10001"
    inside = ["run", "--isolation", "chroot", container, "--"]
    assert buildah(*inside, "id", "-u").strip() == "10001"
    run = {"RUN_NAME": "built-r1", "RUN_NUMBER": "1", "RUN_LINEAGE": "built-r1"}
    run |= {"SOURCE_COMMIT": "0" * 40, "CHECKPOINT_DIR": "/tmp/ckpt", "GLOO_SOCKET_IFNAME": "lo"}
    env = [f"{key}={value}" for key, value in run.items()]
    start = ["sh", "-c", 'mkdir -p /tmp/ckpt && exec env "$@"', "sh", *env]
    said = buildah(*inside, *start, *about["entry"], *about["tiny"])
    assert "step" in said
    complete = json.loads(buildah(*inside, "cat", "/tmp/ckpt/COMPLETE.json"))
    assert complete
    # A finished training is over at once, and says nothing of steps.
    assert "step" not in buildah(*inside, *start, *about["entry"], *about["tiny"])
