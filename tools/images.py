"""Makes `.venv-images`, where the tests of the images run, from images/requirements.lock.

Torch and its libraries are gigabytes, so it is an environment of its own: the compiler never sees
it. Does nothing while the lock and the Python stay what they were. Run by `make images-setup`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv-images"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
LOCK = ROOT / "images" / "requirements.lock"
STAMP = VENV / "lock.sha256"
# torch, its libraries, and what they are unpacked from.
NEEDED = 12 * 10**9


def fingerprint() -> str:
    """What the environment was made from, as one hash."""
    inputs = hashlib.sha256(f"{sys.version}\n{ROOT}\n".encode())
    for path in (LOCK, Path(__file__)):
        inputs.update(path.read_bytes())
    return inputs.hexdigest()


def ready(wanted: str) -> bool:
    return PYTHON.exists() and STAMP.exists() and STAMP.read_text(encoding="ascii") == wanted


def uv(*arguments: str) -> None:
    """Run the uv of the environment that this runs in."""
    # Without bytecode every start of a test would compile torch anew.
    environment = {**os.environ, "UV_COMPILE_BYTECODE": "1"}
    command = [sys.executable, "-m", "uv", *arguments]
    subprocess.run(command, check=True, cwd=ROOT, env=environment)


def main() -> int:
    wanted = fingerprint()
    if ready(wanted):
        return 0
    free = shutil.disk_usage(ROOT).free
    if free < NEEDED:
        print(
            f"images: the environment of the images takes about {NEEDED / 1e9:.0f} GB while it is "
            f"made, and {ROOT} has room for {free / 1e9:.1f} GB",
            file=sys.stderr,
        )
        return 1
    print("images: making .venv-images (torch: some minutes, 4 GB)", file=sys.stderr)
    STAMP.unlink(missing_ok=True)
    uv("venv", "--quiet", "--clear", "--python", sys.executable, str(VENV))
    # The lock leaves out a package that torch names and a CPU does not need, so what is in it is
    # installed as it stands.
    uv("pip", "sync", "--quiet", "--require-hashes", "--python", str(PYTHON), str(LOCK))
    subprocess.run([str(PYTHON), "-c", "import torch"], check=True)
    STAMP.write_text(wanted, encoding="ascii")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as failure:
        print(f"images: {failure.cmd[0]} failed; see above", file=sys.stderr)
        sys.exit(1)
