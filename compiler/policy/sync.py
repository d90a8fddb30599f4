"""`sync:` of a cluster's file: what makes the published tree true there, and from where."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

from compiler.fields import Fields, Form, Label, Reads, RelativePath, Subdomain, described, matching
from compiler.scalars import fault, letters

# Flux takes these schemes alone. No password, and over https no user either: policy is no place for
# a token.
_GIT_URL = r"(https?://[^/@\s?#]+|ssh://([A-Za-z0-9._-]+@)?[^/@:\s?#]+(:[0-9]+)?)/[^@\s?#]+"
_GIT_URL_HELP = "write https://HOST/PATH or ssh://git@HOST/PATH; credentials stand in a Secret"
_form = matching(_GIT_URL, "the URL of a git repository", _GIT_URL_HELP, longest=1024)


def _git_url(value: object) -> str:
    """The URL; one with credentials in it is refused without being shown."""
    word = letters(value, "the URL of a git repository")
    if re.search(r"://[^/]*:[^/]*@|https?://[^/]*@|[?&][a-z_]*(token|secret|password)=", word):
        raise fault("bad-name", "the URL holds credentials", _GIT_URL_HELP)
    return _form(value)


GitUrl = Annotated[
    str,
    Reads(
        _git_url,
        Form(_GIT_URL, longest=1024, examples=["https://git.example.com/ml/training.git"]),
    ),
]
# What git allows (git check-ref-format) and nobody needs to quote.
_BRANCH = r"(?![\s\S]*(\.\.|//|\.lock$|\.$|/$|/\.))[A-Za-z0-9][A-Za-z0-9._/-]*"
Branch = Annotated[
    str,
    Reads(
        matching(_BRANCH, "a branch", "write a branch such as main or deploy/west", longest=244),
        Form(_BRANCH, longest=244, examples=["main"]),
    ),
]
_SERVER = r"https://[^/@\s?#]+(/[^@\s?#]*)?"
Server = Annotated[
    str,
    Reads(
        matching(
            _SERVER,
            "the URL of an API server",
            "write it as Argo CD lists it (argocd cluster list), such as https://HOST:6443",
            longest=1024,
        ),
        Form(_SERVER, longest=1024, examples=["https://west.example.com:6443"]),
    ),
]


class FluxSync(Fields):
    """Flux on the cluster follows the published branch."""

    url: GitUrl = Field(description="The git repository, as Flux reaches it.")
    branch: Branch | None = described(
        "The branch that publish writes; default: `publish.branch` of pyproject.toml, else main."
    )
    path: RelativePath | None = described(
        "The folder of this repository within the git repository; default: its root."
    )
    secret: Subdomain | None = described(
        "The Secret with credentials for the repository, in Flux's namespace; default: none."
    )
    namespace: Label | None = described("Flux's namespace; default flux-system.")


class ArgoCdSync(Fields):
    """Argo CD, on the cluster or on another, follows the published branch."""

    url: GitUrl = Field(
        description="The git repository, as Argo CD knows it, which finds credentials by it."
    )
    branch: Branch | None = described(
        "The branch that publish writes; default: `publish.branch` of pyproject.toml, else main."
    )
    path: RelativePath | None = described(
        "The folder of this repository within the git repository; default: its root."
    )
    namespace: Label | None = described("Argo CD's namespace; default argocd.")
    server: Server | None = described(
        "The cluster's API server, as Argo CD lists it; default: the cluster that Argo CD is on."
    )


class Sync(Fields):
    """What makes the published tree true on the cluster: one of these."""

    flux: FluxSync | None = described("Flux.")
    argo_cd: ArgoCdSync | None = described("Argo CD.")

    @property
    def named(self) -> dict[str, FluxSync | ArgoCdSync]:
        """The syncers that are named, by their keys; several are a finding (`two-syncers`)."""
        every = {"flux": self.flux, "argo_cd": self.argo_cd}
        return {name: setting for name, setting in every.items() if setting is not None}
