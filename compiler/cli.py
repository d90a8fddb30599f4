"""The command line: finds the verb, runs it, and turns what happens into an exit status.

0 is clean, 1 is findings or something missing outside, 2 is wrong use, 3 is a bug of ours, printed
as a report to paste. Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

import compiler
from compiler import reporters, verbs
from compiler.refusals import CompilerError
from compiler.terminal import speak_utf8, visible
from compiler.walk import modules

if TYPE_CHECKING:
    from datetime import datetime

    from compiler.repository import Repository

PROGRAM = "runwright"
DEFAULTS: dict[str, Any] = {
    "repo": None,
    "format": "text",
    "color": "auto",
    "at": None,
    "cluster": None,
    "strict": False,
}
# Failures of the machine, not of the program: no right, no room, a bad disk, too many files; and
# names that it cannot have, which the user gave.
_MACHINE = (
    errno.EACCES,
    errno.EPERM,
    errno.ENOSPC,
    errno.EROFS,
    errno.EDQUOT,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.EFBIG,
    errno.ENAMETOOLONG,
    errno.ELOOP,
)
_RFC3339 = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)


class Verb(Protocol):
    """What a module of `compiler.verbs` has."""

    NAME: str
    HELP: str

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the verb's own arguments."""
        ...

    def run(self, options: argparse.Namespace, repository: Any) -> int:
        """Do it; the exit status."""
        ...


class Parser(argparse.ArgumentParser):
    """A parser whose refusals are `CompilerError`s, with the nearest verb for a misspelt one."""

    def error(self, message: str) -> Any:
        raise CompilerError(message, f"`{self.prog} --help` lists what is possible")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        known = list(action.choices or ())
        if action.dest != "verb" or value in known:
            super()._check_value(action, value)
            return
        from compiler.suggestions import nearest

        near = nearest(str(value), known, 0.5)
        raise CompilerError(
            f"there is no verb `{visible(str(value))}`",
            f"write `{near}`" if near else "write one of: " + ", ".join(sorted(known)),
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status and never raises."""
    _open_streams()
    speak_utf8(sys.stdout)
    speak_utf8(sys.stderr)
    words = list(sys.argv[1:] if argv is None else argv)
    name = ""
    try:
        found = find_verbs()
        options = parser(found).parse_args(words, argparse.Namespace())
        for key, value in DEFAULTS.items():
            if not hasattr(options, key):
                setattr(options, key, value)
        name = options.verb
        repository = _repository(found[name], options)
        if repository is not None and getattr(found[name], "KNOWN_CLUSTER", True):
            _known_cluster(repository, options.cluster)
        status = found[name].run(options, repository)
        sys.stdout.flush()
        return status
    except SystemExit as ended:  # argparse, after --help and --version
        return ended.code if isinstance(ended.code, int) else 0
    except CompilerError as error:
        return _refuse(error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return _quiet()
    except OSError as error:
        if error.errno not in _MACHINE:
            return _bug(name)
        where = f"{error.filename}: " if error.filename is not None else ""
        _say(f"{where}{error.strerror}")
        return 1
    except Exception:  # noqa: BLE001 - the one place that turns our bugs into a report
        return _bug(name)


def _open_streams() -> None:
    """Give a program that was started with a closed stdout or stderr one that leads nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123


def find_verbs() -> dict[str, Verb]:
    """All verbs by name, in the order of their names."""
    found = [
        cast("Verb", import_module(f"{verbs.__name__}.{name}")) for name in modules(verbs.__path__)
    ]
    return {verb.NAME: verb for verb in sorted(found, key=lambda verb: verb.NAME)}


def formats() -> list[str]:
    """The names of the reporters, which are those of their files; text first."""
    return sorted(modules(reporters.__path__), key=lambda name: (name != "text", name))


def parser(found: dict[str, Verb]) -> Parser:
    """The parser of the whole command line; every verb takes the global flags too."""
    flags = _global_flags()
    top = Parser(
        prog=PROGRAM,
        description="Checks job declarations and compiles them to kustomize overlays.",
        epilog=f"`{PROGRAM} VERB --help` says more about a verb.",
        parents=[flags],
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"{PROGRAM} {compiler.__version__}")
    below = top.add_subparsers(
        title="verbs", dest="verb", metavar="VERB", required=True, parser_class=Parser
    )
    for name, verb in found.items():
        own = below.add_parser(
            name, help=verb.HELP, description=verb.HELP, parents=[flags], allow_abbrev=False
        )
        verb.arguments(own)
    return top


def _global_flags() -> Parser:
    # Without defaults: a flag before the verb would lose to the default of the one after it.
    flags = Parser(add_help=False, argument_default=argparse.SUPPRESS, allow_abbrev=False)
    group = flags.add_argument_group("global flags")
    group.add_argument(
        "--repo",
        metavar="DIR",
        help="the repository; default: the nearest folder upwards with [tool.compiler]",
    )
    group.add_argument("--format", choices=formats(), help="the form of the output; default: text")
    group.add_argument(
        "--color", choices=["auto", "always", "never"], help="colours; default: on a terminal"
    )
    group.add_argument(
        "--at",
        metavar="RFC3339",
        type=_moment,
        help="take this for the present time, such as 2026-12-31T12:00:00Z",
    )
    group.add_argument("--cluster", metavar="C", help="only this cluster")
    group.add_argument("--strict", action="store_true", help="warnings fail as errors do")
    return flags


def _moment(text: str) -> datetime:
    from datetime import datetime

    try:
        if not _RFC3339.fullmatch(text):
            raise ValueError
        return datetime.fromisoformat(text.upper())
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"`{visible(text)}` is not a time with its offset, such as 2026-12-31T12:00:00Z"
        ) from None


def _repository(verb: Verb, options: argparse.Namespace) -> Repository | None:
    if not getattr(verb, "NEEDS_REPOSITORY", True):
        return None
    from pathlib import Path

    from compiler.repository import Repository

    named = options.repo
    return Repository.find(Path.cwd() if named is None else Path(named), explicit=named is not None)


def _known_cluster(repository: Repository, name: str | None) -> None:
    """Refuse a cluster that policy does not have: nothing would be found, and look clean."""
    if name is None:
        return
    files = (repository.root / "policy" / "clusters").glob("*.y*ml")
    known = sorted(path.stem for path in files)
    if name not in known:
        from compiler.suggestions import choose

        raise CompilerError(f"there is no cluster `{visible(name)}`", choose(name, known, ""))


def _say(text: str) -> None:
    print(f"{PROGRAM}: {visible(text)}", file=sys.stderr)


def _refuse(error: CompilerError) -> int:
    _say(str(error))
    if error.help:
        print(f"  help: {visible(error.help)}", file=sys.stderr)
    return error.status


def _quiet() -> int:
    """Leave without a word; the interpreter's own flush at its end must not complain either."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def _bug(verb: str) -> int:
    """Print what is needed to find the bug, and nothing about the machine or the user."""
    import platform
    import traceback

    _, error, trace = sys.exc_info()
    assert error is not None
    lines = [
        f"  {_shortened(frame.filename)}:{frame.lineno} in {frame.name}"
        for frame in traceback.extract_tb(trace)
    ]
    message = visible(str(error))
    report = [
        "this is a bug in the program, not in your files. Please report these lines:",
        "",
        f"{PROGRAM} {compiler.__version__}, Python {platform.python_version()} on {sys.platform}",
        f"verb: {verb or 'none'}",
        *lines,
        f"{type(error).__name__}: {message[:300]}",
    ]
    print(f"{PROGRAM}: " + "\n".join(report), file=sys.stderr)
    return 3


def _shortened(path: str) -> str:
    """A source file without the folders above its package, which may name a person."""
    from pathlib import Path

    file, home = Path(path), Path(compiler.__file__).parent.parent
    return file.relative_to(home).as_posix() if file.is_relative_to(home) else file.name
