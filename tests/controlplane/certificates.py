"""Certificates of servers that trust nothing else, made by OpenSSL."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

# The rotator inside of the operator and of Kueue makes new ones for what ends within 90 days.
DAYS = "365"


def issue(folder: Path, authority: str, names: Sequence[str]) -> None:
    """Write `ca.crt`, `ca.key`, `tls.crt` and `tls.key` into a folder, as PEM.

    `names` are the server's, as `DNS:host` or `IP:address`. The authority carries its own name as
    a DNS name too: open-policy-agent/cert-controller looks for it there, else issues anew.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # The same reader takes the authority's key in the form of PKCS 1 alone.
    _openssl(folder, "genrsa", "-traditional", "-out", "ca.key", "2048")
    _openssl(
        folder,
        *("req", "-x509", "-new", "-key", "ca.key", "-days", DAYS, "-out", "ca.crt"),
        *("-subj", f"/O={authority}/CN={authority}"),
        *("-addext", f"subjectAltName=DNS:{authority}"),
        *("-addext", "keyUsage=critical,digitalSignature,keyEncipherment,keyCertSign"),
    )
    _openssl(folder, "genrsa", "-out", "tls.key", "2048")
    _openssl(
        folder,
        *("req", "-new", "-key", "tls.key", "-out", "tls.csr", "-subj", f"/CN={names[0][4:64]}"),
    )
    (folder / "tls.ext").write_text(
        f"subjectAltName={','.join(names)}\n"
        "keyUsage=critical,digitalSignature,keyEncipherment\n"
        "extendedKeyUsage=serverAuth\n",
        encoding="utf-8",
    )
    _openssl(
        folder,
        *("x509", "-req", "-in", "tls.csr", "-CA", "ca.crt", "-CAkey", "ca.key"),
        *("-CAcreateserial", "-days", DAYS, "-extfile", "tls.ext", "-out", "tls.crt"),
    )


def _openssl(folder: Path, *words: str) -> None:
    done = subprocess.run(
        ["openssl", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"openssl {words[0]}: {done.stderr.strip()}")
