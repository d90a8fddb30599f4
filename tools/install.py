"""Gets the programs that the compiler and its tests start; run by `make tools`, `make e2e-tools`.

    install.py [--if-missing] TOOL…      TOOL: kustomize, actionlint, …, or control-plane for all
                                         that the tests against a control plane start

A tool's version is what `tools/<part>/go.mod` pins (`tools/modules.py` writes those for a new
version). kustomize comes as the project's own release, checked against the digests below, or else,
and every other tool always, is built from source by Go, which checks each module against `go.sum`.
What is there already is left alone, and a build that is interrupted leaves nothing half done. With
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
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Tool(NamedTuple):
    """A program that Go builds.

    Attributes:
        package: The Go package of its main function.
        part: The folder of `tools/` with its go.mod.
        flags: The linker flags that tell the program its own version, which is filled in.
        needed: Whether the run fails where it cannot be had.
    """

    package: str
    part: str
    flags: str = ""
    needed: bool = True

    @property
    def module(self) -> str:
        return self.package.partition("/cmd")[0]


# Kubernetes must know its version: Kueue stops at a server whose version it cannot read.
KUBERNETES = " ".join(
    f"-X k8s.io/component-base/version.git{name}"
    for name in ("Version={version}", "Major={major}", "Minor={minor}")
)
KUSTOMIZE = "-X sigs.k8s.io/kustomize/api/provenance.version={version}"

TOOLS = {
    "kustomize": Tool("sigs.k8s.io/kustomize/kustomize/v5", "kustomize", KUSTOMIZE),
    "kustomize-oldest": Tool(
        "sigs.k8s.io/kustomize/kustomize/v5", "kustomize-oldest", KUSTOMIZE, needed=False
    ),
    "actionlint": Tool(
        "github.com/rhysd/actionlint/cmd/actionlint",
        "actionlint",
        "-X github.com/rhysd/actionlint.version={version}",
        needed=False,
    ),
    "etcd": Tool("go.etcd.io/etcd/server/v3", "etcd"),
    "kube-apiserver": Tool("k8s.io/kubernetes/cmd/kube-apiserver", "kubernetes", KUBERNETES),
    "kube-controller-manager": Tool(
        "k8s.io/kubernetes/cmd/kube-controller-manager", "kubernetes", KUBERNETES
    ),
    "training-operator": Tool(
        "github.com/kubeflow/training-operator/cmd/training-operator.v1", "training-operator"
    ),
    "kueue": Tool(
        "sigs.k8s.io/kueue/cmd/kueue",
        "kueue",
        "-X sigs.k8s.io/kueue/pkg/version.GitVersion={version}",
    ),
    "source-controller": Tool("github.com/fluxcd/source-controller", "source-controller"),
    "kustomize-controller": Tool("github.com/fluxcd/kustomize-controller", "kustomize-controller"),
    "argocd": Tool(
        "github.com/argoproj/argo-cd/v3/cmd",
        "argocd",
        "-X github.com/argoproj/argo-cd/v3/common.version={version}",
    ),
    "kwok": Tool("sigs.k8s.io/kwok/cmd/kwok", "kwok"),
    "kubeconform": Tool("github.com/yannh/kubeconform/cmd/kubeconform", "peers"),
    "kube-apiserver-newest": Tool(
        "k8s.io/kubernetes/cmd/kube-apiserver", "kubernetes-newest", KUBERNETES
    ),
    "kube-controller-manager-newest": Tool(
        "k8s.io/kubernetes/cmd/kube-controller-manager", "kubernetes-newest", KUBERNETES
    ),
}

GROUPS = {
    # What the tests against a control plane start, besides the kustomize of `make tools`.
    "control-plane": (
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "training-operator",
        "kueue",
        "source-controller",
        "kustomize-controller",
        "argocd",
        "redis-server",
        "kwok",
        "kubeconform",
    ),
    # What `make e2e-matrix` starts in place of some of them.
    "control-plane-newest": ("kube-apiserver-newest", "kube-controller-manager-newest"),
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


# A line of `go build -v` that names a package, and the seconds between two words on progress.
PACKAGE = re.compile(r"[\w.~+-]+(/[\w.~+-]+)*\n")
PAUSE = 20


def say(text: str) -> None:
    print(f"tools: {text}", file=sys.stderr, flush=True)


def pinned(tool: str) -> str:
    """The version of a tool in its `go.mod`, as `v5.8.1`."""
    module, part = TOOLS[tool].module, TOOLS[tool].part
    text = (ROOT / "tools" / part / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"^\s*(?:require )?{re.escape(module)} (v\S+)", text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"tools: tools/{part}/go.mod pins no version of {module}")
    return found[1]


def go_needed(tool: str) -> str:
    """The oldest Go that builds the tool, as `1.26`."""
    text = (ROOT / "tools" / TOOLS[tool].part / "go.mod").read_text(encoding="utf-8")
    return re.findall(r"^go (\d+\.\d+)", text, re.MULTILINE)[0]


def folder() -> Path:
    """The folder of all tools, in the compiler's cache."""
    return Path(os.environ.get("COMPILER_CACHE") or ROOT / ".cache" / "compiler") / "tools"


def target(tool: str) -> Path:
    """Where the program goes: `<cache>/tools/<program>-<version>/<program>`."""
    program = tool.removesuffix("-oldest").removesuffix("-newest")
    return folder() / f"{program}-{pinned(tool).removeprefix('v')}" / program


def place(program: bytes | Path, at: Path) -> None:
    """Put the program at its place in one step, so that no half of one is ever started."""
    at.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=at.parent, delete=False) as file:
        draft = Path(file.name)
        try:
            file.write(program if isinstance(program, bytes) else program.read_bytes())
            file.flush()
            draft.chmod(0o755)
            draft.replace(at)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise


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


def flags(tool: str) -> str:
    """The linker flags: no debug information, and the program's own version."""
    version = pinned(tool)
    major, minor = version.removeprefix("v").split(".")[:2]
    own = TOOLS[tool].flags.format(version=version, major=major, minor=minor)
    return f"-s -w {own}".rstrip()


def compiled(command: list[str], name: str, at: Path, scratch: str) -> bool:
    """Run `go build -v`, with a word now and then on how far it is; whether it succeeded."""
    started = said = time.monotonic()
    packages = 0
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOTMPDIR": scratch}
    with subprocess.Popen(
        command, cwd=at, env=environment, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        assert process.stderr
        try:
            for line in process.stderr:
                # Go names each package that it compiles on a line of its own; the rest is trouble.
                if PACKAGE.fullmatch(line):
                    packages += 1
                elif not line.startswith("go: downloading "):
                    sys.stderr.write(line)
                if time.monotonic() - said > PAUSE:
                    said = time.monotonic()
                    say(f"{name}: {packages} packages compiled, {said - started:.0f} s")
        except BaseException:
            # Go ends its compilers upon this signal only; where a terminal has sent it to all of
            # them already, it does no harm.
            process.send_signal(signal.SIGINT)
            process.wait()
            raise
    return process.returncode == 0


def build(tool: str, at: Path) -> bool:
    """Build the tool with Go; False, with a word on why, where that cannot be done."""
    version = pinned(tool)
    go = shutil.which("go")
    if go is None:
        say(f"there is no Go to build {at.name} {version} with; {go_needed(tool)} or newer will do")
        return False
    say(f"building {at.name} {version} with Go; the first time takes minutes")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch, at.name)
        command = [go, "build", "-v", "-trimpath", "-mod=readonly", "-buildvcs=false"]
        command += ["-ldflags", flags(tool), "-o", str(program), TOOLS[tool].package]
        if not compiled(command, at.name, ROOT / "tools" / TOOLS[tool].part, scratch):
            say(f"the build of {at.name} {version} failed; see above")
            return False
        place(program, at)
    say(f"{at.name} built in {time.monotonic() - started:.0f} s")
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
    if tool == "redis-server":
        sys.path.insert(0, str(ROOT / "tools"))
        import debian

        return debian.install(folder())
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
        if not TOOLS[tool].needed:
            say(f"what needs {tool} is left out")
        return not TOOLS[tool].needed
    if found := usable():
        say(f"{found} serves in its place")
        return True
    say("install Go, or kustomize 5.4 or newer, or kubectl 1.31 or newer, which brings its own")
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description="Get the programs that the compiler starts.")
    known = sorted({*TOOLS, *GROUPS, "redis-server"})
    parser.add_argument("tools", nargs="+", choices=known, metavar="TOOL", help=", ".join(known))
    parser.add_argument("--if-missing", action="store_true")
    arguments = parser.parse_args()
    tools = [tool for named in arguments.tools for tool in GROUPS.get(named, (named,))]
    try:
        results = [install(tool, arguments.if_missing) for tool in tools]
    except KeyboardInterrupt:
        say("interrupted; what is built stays, and the next run goes on from there")
        return 130
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
