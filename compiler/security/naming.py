"""Names that credentials go by, and values that are credentials rather than references to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

# A name or text without any of these names no credential.
_WORDS = ("passw", "passphrase", "pwd", "secret", "token", "key", "credential", "bearer")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PASSWORDS = frozenset({"password", "passwd", "passphrase", "passwords", "pwd", "userpassword"})
_SECRETS = frozenset(
    {"secret", "secrets", "credential", "credentials", "apikey", "accesskey", "secretkey"}
)
_TOKENS = frozenset({"token", "authtoken", "accesstoken", "apitoken", "bearer"})
# `..._KEY` is mostly a column of a data set; after these it is not.
_KEYS = frozenset((
    "access", "account", "api", "auth", "authentication", "encryption", "license", "master",
    "private", "secret", "service", "signing", "ssh", "storage",
))  # fmt: skip
# What a tokenizer, a data set or a model calls a token.
_OF_TEXT = frozenset((
    "additional", "assistant", "audio", "begin", "blank", "bos", "chunk", "class", "cls",
    "content", "context", "decoder", "doc", "document", "draft", "end", "eod", "eoh", "eom",
    "eop", "eos", "eot", "extra", "fim", "filler", "first", "forced", "ignore", "image", "inst",
    "instruction", "last", "latent", "mask", "max", "message", "min", "new", "next", "num",
    "observation", "of", "pad", "padding", "patch", "per", "placeholder", "prefix", "prompt",
    "query", "reg", "replace", "response", "reward", "role", "scale", "sentence", "sep",
    "separator", "single", "special", "start", "step", "stop", "suffix", "system", "tag",
    "target", "task", "text", "think", "time", "tool", "total", "trigger", "unk", "unknown",
    "user", "video", "vision", "vocab", "vocabulary", "word",
))  # fmt: skip
_REFERENCE = re.compile(
    r"\$|\{\{|%\(|[<\[{(].*[>\]})]\Z"  # a variable, a template, a placeholder
    r"|(?:file|env|vault|secret|ssm|awssm|gcpsm|arn|https?|s3|gs|op)://?[^\s@]*\Z"  # held elsewhere
    r"|(?:~|\.{1,2})?/[\w.@-]+(?:/[\w.@-]*)*\Z"  # a path
    r"|[*x.#_-]{3,}\Z",
    re.IGNORECASE | re.DOTALL,
)
_PROSE = re.compile(r"[\s.(\[]")
_NOTHING = frozenset((
    "true", "false", "yes", "no", "on", "off", "none", "null", "nil", "undefined", "default",
    "auto", "disabled", "enabled", "required", "optional", "empty", "dummy", "fake", "unused",
    "unset", "redacted", "removed", "placeholder", "anonymous", "changeme", "change-me",
    "change_me", "not-needed", "no-key", "no-key-required", "todo",
))  # fmt: skip


def naming(text: str) -> bool:
    """Whether a text may name a credential; quick, and never wrong about no."""
    lowered = text.lower()
    return any(word in lowered for word in _WORDS)


@lru_cache(maxsize=8192)
def credential(name: str) -> str:
    """What a variable or option of this name holds: `password`, `secret`, `token` or "".

    The end of the name decides: `HF_TOKEN` and `--wandb.api-key` are credentials, `HF_TOKEN_PATH`,
    `PAD_TOKEN` and `label_key` are not.
    """
    if not naming(name):
        return ""
    parts = [part.lower() for part in _PARTS.findall(name)]
    while parts and parts[-1].isdigit():
        parts.pop()
    last = parts[-1] if parts else ""
    before = parts[-2] if len(parts) > 1 else ""
    if last in _PASSWORDS:
        return "password"
    if last in _SECRETS or (last == "key" and before in _KEYS):
        return "secret"
    if last in _TOKENS and before not in _OF_TEXT:
        return "token"
    return ""


def literal(value: str, kind: str, sure: bool) -> bool:
    """Whether a value given to a credential of this kind is the credential itself.

    References to variables, paths, addresses, placeholders and words such as `none` are not. Where
    the name is not `sure` (it is in a file, or is `token` alone), the value must look the part.
    """
    value = value.strip()
    if not value or value.lower() in _NOTHING or _REFERENCE.match(value):
        return False
    if kind == "password" and sure:
        return True
    if value.isdigit() and len(value) < 6:
        return False
    if sure:
        return True
    digits = sum(letter.isdigit() for letter in value)
    return len(value) >= 8 and 0 < digits < len(value) and not _PROSE.search(value)


class Assigned(Struct, frozen=True):
    """A credential that a text gives to a name: the name, and where the value begins and ends."""

    name: str
    kind: str
    start: int
    end: int


_NAME = re.compile(
    r"""(?<!\$\{)(?<![\w.$-])(?:(?P<option>--?[A-Za-z][\w.-]*)(?:\ *=\ *|\ +(?!-))"""
    r"""|(?P<name>[A-Za-z_][\w.-]*)["']?\ *[=:](?![=:])\ *)"""
)
# As long as a line of settings may be; without an end to it a hostile file could take minutes.
_VALUE = re.compile(
    r""""(?P<double>[^"\n]{0,512})"|'(?P<single>[^'\n]{0,512})'"""
    r"""|(?P<bare>[^\s"'`,;&|()<>{}\[\]]{1,512})"""
)
_LONGEST_NAME = 128


@lru_cache(maxsize=4096)
def assigned(text: str) -> tuple[Assigned, ...]:
    """The credentials that the words of a command give to names: `--api-key=x`, `API_KEY=x run`."""
    return tuple(_assigned(text, command=True)) if naming(text) else ()


def assigned_in_file(text: str) -> Iterator[Assigned]:
    """The credentials that a file of settings or code gives to names.

    A file is full of names: only a quoted password counts whatever it is, all else must look like a
    credential.
    """
    return _assigned(text, command=False) if naming(text) else iter(())


def _assigned(text: str, command: bool) -> Iterator[Assigned]:
    for match in _NAME.finditer(text):
        name = (match["option"] or match["name"]).lstrip("-")
        kind = credential(name) if len(name) <= _LONGEST_NAME else ""
        value = _VALUE.match(text, match.end()) if kind else None
        if value is None or (match["option"] and not command):
            continue
        group = value.lastgroup or "bare"
        sure = surely(name) if command else kind == "password" and group != "bare"
        if literal(value[group], kind, sure):
            yield Assigned(name, kind, *value.span(group))


def surely(name: str) -> bool:
    """Whether a name can mean nothing but a credential: `token` alone can be any word of a text."""
    return credential(name) == "password" or len(_PARTS.findall(name)) > 1
