"""Asking a registry which digest a reference stands for, by a program that can."""

from __future__ import annotations

import re
import shutil
import subprocess

from compiler.diagnostics import CompilerError, Unavailable
from compiler.names import DIGEST

SECONDS = 120
# In this order; each prints the digest of the manifest (of the index, for several platforms).
PROGRAMS: dict[str, tuple[str, ...]] = {
    "crane": ("digest", "REF"),
    "skopeo": ("inspect", "--no-tags", "--format", "{{.Digest}}", "docker://REF"),
    "docker": ("buildx", "imagetools", "inspect", "--format", "{{.Manifest.Digest}}", "REF"),
}
BY_HAND = "name it yourself: --digest sha256:..."
# Advice about the program, where what matters stands before it.
_ADVICE = re.compile(r"\s*(?:Run '|See '|Usage:|For more help|$)")


def digest_of(reference: str) -> str:
    """The digest that a registry has for a reference; the network is used.

    Raises Unavailable where no program is there that could ask, and CompilerError where the
    registry refuses.
    """
    said = ""
    for name, words in PROGRAMS.items():
        program = shutil.which(name)
        if program is None:
            continue
        command = [program, *(word.replace("REF", reference) for word in words)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=SECONDS,
                stdin=subprocess.DEVNULL, errors="replace",
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise CompilerError(f"{name} had no answer after {SECONDS} seconds", BY_HAND) from None
        except OSError as error:
            said = f"{name}: {error.strerror}"
            continue
        found = done.stdout.strip()
        if done.returncode == 0 and re.fullmatch(DIGEST, found):
            return found
        said = f"{name}: {complaint(done.stderr or found, name) or f'status {done.returncode}'}"
    if said:
        raise CompilerError(f"the digest of {reference} could not be found: {said}", BY_HAND)
    names = ", ".join(PROGRAMS)
    raise Unavailable(f"no program here can ask a registry ({names})", BY_HAND)


def complaint(text: str, program: str) -> str:
    """What a program complains of: its last line that is no advice; '' where it says nothing."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if not _ADVICE.match(line)] or lines
    return telling[-1].removeprefix(f"{program}: ")[:300] if telling else ""
