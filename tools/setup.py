"""Makes `.venv` from the lock file; run by `make setup` with the system's Python.

Does nothing while the lock, the project's metadata and the Python stay what they were.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
LOCK = ROOT / "requirements" / "dev.lock"
STAMP = VENV / "lock.sha256"

NO_VENV = """\
This Python cannot make a virtual environment: its ensurepip module is missing.
On Debian and Ubuntu: apt-get install python3-venv
Or name another Python: make setup PYTHON=/path/to/python3.11"""


def fingerprint() -> str:
    """What the environment was made from, as one hash."""
    inputs = hashlib.sha256(f"{sys.version}\n{ROOT}\n".encode())
    for path in (LOCK, ROOT / "pyproject.toml", Path(__file__)):
        inputs.update(path.read_bytes())
    return inputs.hexdigest()


def ready(wanted: str) -> bool:
    return PYTHON.exists() and STAMP.exists() and STAMP.read_text(encoding="ascii") == wanted


def pip(*arguments: str) -> None:
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*command, "install", *arguments], check=True, cwd=ROOT)


def main() -> int:
    # What an older Python is told, this file tells it.
    if sys.version_info < (3, 11):
        found = ".".join(map(str, sys.version_info[:3]))
        print(
            f"Python 3.11 or newer is needed, and {sys.executable} is {found}.\n"
            "Name another one: make setup PYTHON=python3.12",
            file=sys.stderr,
        )
        return 1
    wanted = fingerprint()
    if ready(wanted):
        return 0
    if not PYTHON.exists() or subprocess.call(
        [str(PYTHON), "-c", "import pip"], stderr=subprocess.DEVNULL
    ):
        try:
            import ensurepip  # noqa: F401
        except ImportError:
            print(NO_VENV, file=sys.stderr)
            return 1
        print("setup: making .venv", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    STAMP.unlink(missing_ok=True)
    print("setup: installing the locked packages into .venv", file=sys.stderr)
    pip("--require-hashes", "-r", str(LOCK))
    pip("--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    STAMP.write_text(wanted, encoding="ascii")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as failure:
        print(f"setup: {failure.cmd[0]} failed; see above", file=sys.stderr)
        sys.exit(1)
