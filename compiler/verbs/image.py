"""`image status` and `image pin`: which images are older than their folder, and their digests."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.images import Lock
    from compiler.repository import Repository

NAME = "image"
HELP = "say which images are older than their folder, or pin one in images/lock.yaml"
LOCK = "images/lock.yaml"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What to do, and with which image."""
    parser.add_argument("action", choices=["status", "pin"])
    parser.add_argument(
        "image", nargs="?", metavar="NAME|REF", help="pin: a name of the lock, or a reference"
    )
    parser.add_argument("--digest", help="pin: the digest, so that no registry is asked")
    parser.add_argument("--reference", help="pin: registry, name and tag that the digest is of")
    parser.add_argument("--name", help="pin: the name that jobs use; default: of the reference")
    parser.add_argument(
        "--check", action="store_true", help="status: fail where an image is older than its folder"
    )
    parser.add_argument(
        "--older",
        action="store_true",
        help="status: only the names of folders that no digest of the lock was built from",
    )


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Print or write it; raises CompilerError where nothing can be pinned."""
    from compiler.diagnostics import CompilerError

    policy = repository.policy()
    if LOCK in policy.broken or "images" in policy.broken:
        raise CompilerError(f"{LOCK} cannot be read", "run `runwright check` and mend it first")
    lock = policy.lock.value if policy.lock is not None else None
    if options.action == "status":
        return _status(options, repository, lock)
    if options.image is None:
        raise CompilerError("nothing to pin is named", "write a name of the lock, or a reference")
    return _pin(options, repository, lock)


def _status(options: argparse.Namespace, repository: Repository, lock: Lock | None) -> int:
    from compiler.imagesource import RUNTIME, git_of, source_hash

    root = repository.root
    git = git_of(root)
    entries = lock.images if lock is not None else {}
    folders = {path.parent.name for path in sorted(root.glob("images/*/image.yaml"))} - {RUNTIME}
    names = sorted(folders | set(entries))
    width = max(map(len, names), default=0)
    older = 0
    for name in names:
        entry = entries.get(name)
        source = source_hash(root, name, git) if name in folders else None
        if entry is None:
            state = "not in the lock"
        elif entry.example:
            state = "example: no such image exists"
        elif source is None:
            state = "from elsewhere"
        elif entry.source is None:
            state = "not known what it was built from"
        elif entry.source == source:
            state = "current"
        else:
            older += 1
            since = f" of commit {entry.commit[:12]}" if entry.commit else ""
            state = f"older than images/{name}/: built from that{since}"
        if not options.older:
            print(f"{name:{width}}  {state}")
        elif name in folders and state != "current":
            print(name)
    return 1 if options.check and older else 0


def _pin(options: argparse.Namespace, repository: Repository, lock: Lock | None) -> int:
    from compiler.diagnostics import CompilerError
    from compiler.lockfile import pinned
    from compiler.registry import digest_of
    from compiler.replacement import replace_file

    entries = lock.images if lock is not None else {}
    word: str = options.image
    known = word in entries or (repository.root / "images" / word / "image.yaml").is_file()
    name, reference = (word, options.reference) if known else (options.name, word)
    if reference is None:
        if word not in entries:
            raise CompilerError(
                f"{LOCK} has no {word} yet",
                "say what it was pushed as: --reference REGISTRY/NAME:TAG",
            )
        reference = entries[word].reference
    bare, tagged, within = _parts(reference)
    if name is None:
        same = [key for key, one in entries.items() if _parts(one.reference)[0] == bare]
        name = same[0] if len(same) == 1 else bare.rpartition("/")[2]
    digest = _digest(options.digest or within) or digest_of(tagged)
    fields: dict[str, str | None] = {"reference": tagged, "digest": digest, "example": None}
    fields |= _built_from(repository, name)
    path = repository.root / LOCK
    before = path.read_text("utf-8") if path.is_file() else ""
    after = pinned(before, _named(name), fields)
    if after == before:
        print(f"{name} is pinned to {digest} already")
        return 0
    replace_file(path, after.encode())
    print(f"{LOCK}: {name} is {digest}")
    return 0


def _built_from(repository: Repository, name: str) -> dict[str, str | None]:
    """Source and commit of a folder of this repository; nothing for an image from elsewhere."""
    from compiler.diagnostics import CompilerError
    from compiler.imagesource import RUNTIME, git_of, source_hash

    root = repository.root
    if not (root / "images" / name / "image.yaml").is_file():
        return {"source": None, "commit": None}
    git = git_of(root)
    if git is None:
        return {"source": source_hash(root, name, None), "commit": None}
    folders = [f"images/{name}", f"images/{RUNTIME}"]
    if git.run("status", "--porcelain", "--", *folders).strip():
        raise CompilerError(
            f"images/{name}/ or images/{RUNTIME}/ has changes that no commit holds",
            "commit them first: nobody could say what the digest was built from",
        )
    commit = git.text("log", "-1", "--format=%H", "--", *folders)
    return {"source": source_hash(root, name, git), "commit": commit or None}


def _parts(reference: str) -> tuple[str, str, str | None]:
    """A reference without tag and digest, with its tag, and its digest; raises CompilerError."""
    import re

    from compiler.diagnostics import CompilerError
    from compiler.names import DIGEST

    form = r"(?P<bare>[a-z0-9][\w.-]*(?::[0-9]+)?(?:/[\w.-]+)*)(?P<tag>:[\w][\w.-]{0,127})?"
    match = re.fullmatch(rf"{form}(?:@(?P<digest>{DIGEST}))?", reference, re.ASCII)
    if match is None:
        raise CompilerError(
            f"`{reference}` is neither a name of {LOCK} nor a reference",
            "write registry/name:tag, without https://",
        )
    return match["bare"], match["bare"] + (match["tag"] or ""), match["digest"]


def _digest(text: str | None) -> str | None:
    import re

    from compiler.diagnostics import CompilerError
    from compiler.names import DIGEST

    if text is not None and not re.fullmatch(DIGEST, text):
        raise CompilerError(f"`{text}` is no digest", "write sha256: and 64 hex digits")
    return text


def _named(name: str) -> str:
    import re

    from compiler.diagnostics import CompilerError

    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", name):
        raise CompilerError(
            f"`{name}` cannot be the name of an image", "choose one: --name, of a-z, 0-9 and -"
        )
    return name
