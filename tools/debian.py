"""redis-server for the tests of Argo CD: this machine's own, or Debian's, unpacked into the cache.

Nothing is installed on the machine: apt-get fetches the packages, and checks them against the
signed lists of its sources; they are unpacked, and a script of two lines starts the program with
their libraries.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = """#!/bin/sh
here=$(dirname "$0")
LD_LIBRARY_PATH="$(echo "$here"/usr/lib/*-linux-gnu*)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \\
exec "$here/usr/bin/redis-server" "$@"
"""


def say(text: str) -> None:
    print(f"tools: {text}", file=sys.stderr, flush=True)


def find(folder: Path) -> Path | None:
    """The redis-server to start: the one on the PATH, or else the unpacked one.

    Args:
        folder: Where the tools are, each in a folder with its version.
    """
    if there := shutil.which("redis-server"):
        return Path(there)
    return next(iter(sorted(folder.glob("redis-server-*/redis-server"), reverse=True)), None)


def wanted(plan: str) -> dict[str, str]:
    """Package: version, from what `apt-get --simulate install` says that it would do."""
    return dict(re.findall(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) ", plan, re.MULTILINE))


def install(folder: Path) -> bool:
    """Whether there is a redis-server afterwards; a word on why not."""
    if find(folder):
        return True
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        say("there is no redis-server, and no apt-get to fetch it with; install Redis 6 or newer")
        return False
    plan = subprocess.run(
        ["apt-get", "--simulate", "--no-install-recommends", "install", "redis-server"],
        env={**os.environ, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    packages = wanted(plan.stdout)
    if plan.returncode or "redis-server" not in packages:
        sys.stderr.write(plan.stderr)
        say("apt-get knows no package redis-server; `apt-get update`, as root, may help")
        return False
    version = packages["redis-server"]
    say(f"fetching redis-server {version} with apt-get")
    with tempfile.TemporaryDirectory() as scratch:
        exact = [f"{name}={number}" for name, number in packages.items()]
        fetched = subprocess.run(
            ["apt-get", "-o", "APT::Sandbox::User=root", "download", *exact],
            cwd=scratch,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if fetched.returncode:
            say("the packages of redis-server cannot be fetched; see above")
            return False
        tree = Path(scratch, "tree")
        for package in sorted(Path(scratch).glob("*.deb")):
            subprocess.run(["dpkg-deb", "--extract", package, tree], check=True)
        script = tree / "redis-server"
        script.write_text(SCRIPT, encoding="utf-8")
        script.chmod(0o755)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".") as beside:
            draft = Path(beside, "tree")
            shutil.move(tree, draft)
            draft.replace(folder / f"redis-server-{re.sub('[^0-9a-z.]+', '-', version)}")
    say(f"redis-server {version} unpacked")
    return True
