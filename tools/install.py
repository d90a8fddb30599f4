"""Gets the programs that the compiler and its tests start; run by `make tools`.

    install.py [--if-missing] TOOL…      TOOL: kustomize, kustomize-oldest, actionlint

A tool's version is what `tools/<tool>/go.mod` pins. kustomize comes as the project's own release,
checked against the digests below, or else, and every other tool always, is built from source by
Go, which checks each module against `go.sum`. What is there already is left alone. With
`--if-missing`, kustomize is fetched only where no usable one is found on this machine.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Tool: the Go package, and the linker flags that tell the program its own version.
TOOLS = {
    "kustomize": (
        "sigs.k8s.io/kustomize/kustomize/v5",
        "-X sigs.k8s.io/kustomize/api/provenance.version={}",
    ),
    "kustomize-oldest": (
        "sigs.k8s.io/kustomize/kustomize/v5",
        "-X sigs.k8s.io/kustomize/api/provenance.version={}",
    ),
    "actionlint": (
        "github.com/rhysd/actionlint/cmd/actionlint",
        "-X github.com/rhysd/actionlint.version={}",
    ),
}

RELEASE = (
    "https://github.com/kubernetes-sigs/kustomize/releases/download/"
    "kustomize%2F{version}/kustomize_{version}_{system}_{machine}.tar.gz"
)

# SHA-256 of the release archives. A download that differs is thrown away.
DIGESTS = {
    ("v5.8.1", "linux", "amd64"): (
        "029a7f0f4e1932c52a0476cf02a0fd855c0bb85694b82c338fc648dcb53a819d"
    ),
    ("v5.8.1", "linux", "arm64"): (
        "0953ea3e476f66d6ddfcd911d750f5167b9365aa9491b2326398e289fef2c142"
    ),
    ("v5.8.1", "darwin", "amd64"): (
        "ee7cf0c1e3592aa7bb66ba82b359933a95e7f2e0b36e5f53ed0a4535b017f2f8"
    ),
    ("v5.8.1", "darwin", "arm64"): (
        "8886f8a78474e608cc81234f729fda188a9767da23e28925802f00ece2bab288"
    ),
}


def say(text: str) -> None:
    print(f"tools: {text}", file=sys.stderr, flush=True)


def pinned(tool: str) -> str:
    """The version of a tool in its `go.mod`, as `v5.8.1`."""
    package = TOOLS[tool][0].removesuffix("/cmd/actionlint")
    text = (ROOT / "tools" / tool / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"^\s*(?:require )?{re.escape(package)} (v\S+)", text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"tools: tools/{tool}/go.mod pins no version of {package}")
    return found[1]


def target(tool: str) -> Path:
    """Where the program goes: `<cache>/tools/<program>-<version>/<program>`."""
    cache = Path(os.environ.get("COMPILER_CACHE") or ROOT / ".cache" / "compiler")
    program = tool.removesuffix("-oldest")
    return cache / "tools" / f"{program}-{pinned(tool).removeprefix('v')}" / program


def place(program: bytes | Path, at: Path) -> None:
    """Put the program at its place in one step, so that no half of one is ever started."""
    at.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=at.parent, delete=False) as file:
        file.write(program if isinstance(program, bytes) else program.read_bytes())
    Path(file.name).chmod(0o755)
    Path(file.name).replace(at)


def download(version: str) -> bytes | None:
    """The kustomize program of a release, or None with a word on why not."""
    system = platform.system().lower()
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    digest = DIGESTS.get((version, system, machine))
    if digest is None:
        return None
    address = RELEASE.format(version=version, system=system, machine=machine)
    try:
        with urllib.request.urlopen(address, timeout=20) as answer:
            archive = answer.read()
    except OSError as error:
        say(f"the release of kustomize {version} cannot be reached ({error})")
        return None
    if hashlib.sha256(archive).hexdigest() != digest:
        say(f"the release of kustomize {version} is not what was pinned; it is thrown away")
        return None
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        member = files.extractfile("kustomize")
        return member.read() if member else None


def build(tool: str, at: Path) -> bool:
    """Build the tool with Go; False, with a word on why, where that cannot be done."""
    go = shutil.which("go")
    if go is None:
        say(f"there is no Go to build {at.name} {pinned(tool)} with")
        return False
    package, flags = TOOLS[tool]
    version = pinned(tool)
    say(f"building {at.name} {version} with Go; the first time takes about a minute")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, at.name)
        flags = f"-s -w {flags.format(version)}"
        command = [go, "build", "-trimpath", "-mod=readonly", "-buildvcs=false"]
        done = subprocess.run(
            [*command, "-ldflags", flags, "-o", str(program), package],
            cwd=ROOT / "tools" / tool,
            env={**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"},
            check=False,
        )
        if done.returncode:
            say(f"the build of {at.name} {version} failed; see above")
            return False
        place(program, at)
    say(f"built in {time.monotonic() - started:.0f} s")
    return True


def usable() -> str | None:
    """The name of a kustomize that the compiler would use as things are, or None."""
    sys.path.insert(0, str(ROOT))
    from compiler.diagnostics import Unavailable
    from compiler.kustomize import find

    try:
        return find(root=ROOT).name
    except Unavailable:
        return None


def install(tool: str, if_missing: bool) -> bool:
    """Whether the tool, or one that serves in its place, is there afterwards."""
    at = target(tool)
    if at.exists():
        return True
    if tool == "kustomize":
        if if_missing and (found := usable()):
            say(f"{found} is there and serves")
            return True
        if program := download(pinned(tool)):
            place(program, at)
            say(f"kustomize {pinned(tool)} installed")
            return True
    if build(tool, at):
        return True
    if tool != "kustomize":
        say(f"what needs {tool} is left out")
        return True
    if found := usable():
        say(f"{found} serves in its place")
        return True
    say("install Go, or kustomize 5.4 or newer, or kubectl 1.31 or newer, which brings its own")
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description="Get the programs that the compiler starts.")
    parser.add_argument("tools", nargs="+", choices=sorted(TOOLS))
    parser.add_argument("--if-missing", action="store_true")
    arguments = parser.parse_args()
    results = [install(tool, arguments.if_missing) for tool in arguments.tools]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
