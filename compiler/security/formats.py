"""Credentials that are known by their form, wherever they stand.

The forms are those of detect-secrets (Yelp), which follows what the issuers print into their
tokens, and a few of services that training runs use and it does not know. Nothing is ever
verified: that would send the secret over the network. The library takes half a second to load, so
it is loaded only for a text that holds one of `_SIGNS`, which is nearly none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from msgspec import Struct

from compiler.security.naming import literal

# The library's forms: a part that every secret of the form holds, or where there is none, a quick
# form that lets through at least the same.
_SIGNS = (
    "AKIA", "ASIA", "ABIA", "ACCA", "A3T", "AccountKey=", "ghp_", "gho_", "ghu_", "ghs_", "ghr_",
    "glpat-", "gldt-", "glft-", "glsoat-", "glrt-", "GR1348941", "glcbt-", "glimt-", "glptt-",
    "glagent-", "gloas-", "eyJ", "_authToken", "T3BlbkFJ", "PRIVATE KEY", "PuTTY-User-Key",
    "pypi-AgE", "SG.", "sq0csp-", "k_live_",
)  # fmt: skip
_QUICK = (
    re.compile(r"[xX][oO][xX][a-zA-Z]-"),
    re.compile(r"[hH][oO][oO][kK][sS]\.[sS][lL]"),
    re.compile(r"://[^\s/@]{0,256}:[^\s/@]{1,256}@"),
    re.compile(r"AC[a-z0-9]{32}"),
    re.compile(r"SK[a-z0-9]{32}"),
    re.compile(r":(?<=[0-9]{8}:)[0-9A-Za-z_-]{35}"),
    re.compile(r"\.(?<=[\w-]{24}\.)[\w-]{6}\.[\w-]{27}"),
    re.compile(r"[aA][wW][sS].{0,80}['\"][0-9A-Za-z/+]{40}['\"]"),
)
_OWN = (
    ("Hugging Face token", "hf_", re.compile(r"\bhf_[A-Za-z0-9]{30,}\b")),
    ("GitHub token", "github_pat_", re.compile(r"\bgithub_pat_[A-Za-z0-9_]{40,}")),
    ("Google API key", "AIza", re.compile(r"\bAIza[A-Za-z0-9_-]{35}")),
    ("NVIDIA API key", "nvapi-", re.compile(r"\bnvapi-[A-Za-z0-9_-]{40,}")),
    ("Docker Hub token", "dckr_pat_", re.compile(r"\bdckr_pat_[A-Za-z0-9_-]{20,}")),
    ("Databricks token", "dapi", re.compile(r"\bdapi[a-f0-9]{32}\b")),
    ("Anthropic API key", "sk-ant-", re.compile(r"\bsk-ant-[A-Za-z0-9_-]{30,}")),
    ("private key", "ENCRYPTED", re.compile(r"BEGIN (?:[A-Z]+ )?ENCRYPTED PRIVATE KEY")),
    (
        "authorization header",
        "uthorization:",
        re.compile(r"[Aa]uthorization: *(?:[Bb]earer|[Bb]asic|[Tt]oken) +([^\s\"'$]{8,})"),
    ),
    (
        "Weights & Biases key",
        "wandb",
        re.compile(r"wandb {1,9}login {1,9}(?:\S{1,64} {1,9}){0,4}?([0-9a-f]{40})\b"),
    ),
)
_IN_ADDRESS = "password in an address"
# No token of any of the forms is shorter.
_SHORTEST = 16
_THEIRS = {
    "aws": ("AWSKeyDetector", "AWS access key"),
    "azure_storage_key": ("AzureStorageKeyDetector", "Azure storage key"),
    "discord": ("DiscordBotTokenDetector", "Discord token"),
    "github_token": ("GitHubTokenDetector", "GitHub token"),
    "gitlab_token": ("GitLabTokenDetector", "GitLab token"),
    "jwt": ("JwtTokenDetector", "JSON web token"),
    "npm": ("NpmDetector", "npm token"),
    "openai": ("OpenAIDetector", "OpenAI API key"),
    "private_key": ("PrivateKeyDetector", "private key"),
    "pypi_token": ("PypiTokenDetector", "PyPI token"),
    "sendgrid": ("SendGridDetector", "SendGrid API key"),
    "slack": ("SlackDetector", "Slack token"),
    "square_oauth": ("SquareOAuthDetector", "Square token"),
    "stripe": ("StripeDetector", "Stripe API key"),
    "telegram_token": ("TelegramBotTokenDetector", "Telegram token"),
    "twilio": ("TwilioKeyDetector", "Twilio key"),
    # Last, for what is known by another form as well is better called by that.
    "basic_auth": ("BasicAuthDetector", _IN_ADDRESS),
}
_KEY_END = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|\Z")


class Known(Struct, frozen=True):
    """A credential in a text: what it is, and where it begins and ends."""

    what: str
    start: int
    end: int


def suspicious(text: str) -> bool:
    """Whether a text may hold a credential of a known form; quick, and never wrong about no."""
    return any(sign in text for _, sign, _ in _OWN) or foreign(text)


def foreign(text: str) -> bool:
    """Whether a text may hold one of the library's forms."""
    return any(sign in text for sign in _SIGNS) or any(form.search(text) for form in _QUICK)


@lru_cache(maxsize=1024)
def known(text: str) -> tuple[Known, ...]:
    """The credentials of a known form in a text, in their order, none within another."""
    return tuple(in_file(text))


def in_file(text: str) -> list[Known]:
    """The same of a text that may be long, and that nobody will ask about again."""
    apart: list[Known] = []
    for one in sorted(_found(text), key=lambda one: (one.start, -one.end)):
        if not apart or one.start >= apart[-1].end:
            apart.append(one)
    return apart


def _found(text: str) -> Iterator[Known]:
    for what, sign, form in _OWN:
        for match in form.finditer(text) if sign in text else ():
            yield _spread(text, what, *match.span(1 if form.groups else 0))
    if not foreign(text):
        return
    for offset, piece in _pieces(text):
        if foreign(piece):
            for what, start, end in _theirs(piece):
                yield _spread(text, what, offset + start, offset + end)


# None of the library's forms goes over a line end, and some of them take a time that grows with
# the square of a line's length.
_LINE, _OVERLAP = 2048, 256


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text with their offsets; a very long one in parts that overlap."""
    offset = 0
    for line in text.splitlines(keepends=True):
        for start in range(0, max(len(line) - _OVERLAP, 1), _LINE - _OVERLAP):
            yield offset + start, line[start : start + _LINE]
        offset += len(line)


def _theirs(text: str) -> Iterator[tuple[str, int, int]]:
    for what, detector in _detectors():
        for form in detector.denylist:
            for match in form.finditer(text):
                # What a form has in a group is the secret itself, or only the kind of token.
                group = max(range(form.groups + 1), key=lambda one: (one > 0) * _length(match, one))
                if _length(match, group) < _SHORTEST and what != _IN_ADDRESS:
                    group = 0
                if what == _IN_ADDRESS and not literal(match[group], "", sure=True):
                    continue
                if any(detector.analyze_string(match[0])):
                    yield what, *match.span(group)


def _length(match: re.Match[str], group: int) -> int:
    return len(match[group] or "")


def _spread(text: str, what: str, start: int, end: int) -> Known:
    """The span of a secret; a private key is known by its first line and ends with its last."""
    if what != "private key":
        return Known(what, start, end)
    match = _KEY_END.search(text, end)
    assert match is not None
    return Known(what, text.rfind("\n", 0, start) + 1, match.end())


@cache
def _detectors() -> tuple[tuple[str, Any], ...]:
    from importlib import import_module

    return tuple(
        (what, getattr(import_module(f"detect_secrets.plugins.{module}"), name)())
        for module, (name, what) in _THEIRS.items()
    )
