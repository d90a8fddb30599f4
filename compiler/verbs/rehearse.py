"""`rehearse JOB`: run the rendered job on this machine, lose a node, and say what would fail."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from compiler.repository import Repository

NAME = "rehearse"
HELP = "run a job's own code on this machine, small, with your rights; check and plan never do"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The job, how small, and what stands for what."""
    parser.add_argument("job", metavar="JOB", help="NAME, TEAM/NAME or a file")
    parser.add_argument(
        "--args",
        type=_words,
        default=[],
        metavar="TEXT",
        help='further arguments of the training, after all others: --args="--steps 40"',
    )
    parser.add_argument(
        "--nodes",
        type=_count,
        metavar="N",
        help="nodes, as groups of processes; default: at most 2",
    )
    parser.add_argument(
        "--processes", type=_count, metavar="N", help="processes of a node; default: at most 2"
    )
    parser.add_argument(
        "--timeout", type=_seconds, default=120.0, metavar="S", help="seconds for all of it; 120"
    )
    parser.add_argument("--python", metavar="PATH", help="the Python to use; default: .venv-images")
    parser.add_argument(
        "--folder", metavar="DIR", help="stands for the folder of an image that is not in images/"
    )
    parser.add_argument(
        "--mount",
        action="append",
        default=[],
        metavar="PATH=DIR",
        help="a folder of this machine that stands for a mount; it is used as it is",
    )
    parser.add_argument("-o", dest="output", metavar="DIR", help="keep logs, account and picture")


def run(options: argparse.Namespace, repository: Repository) -> int:
    """Rehearse; 0 where all went well, 1 where something would fail or could not be tried."""
    from pathlib import Path

    from compiler.diagnostics import Severity
    from compiler.jsontext import json_text
    from compiler.printing import plain_or_json, print_findings
    from compiler.project import Project
    from compiler.refusals import CompilerError
    from compiler.rehearsal.casting import Choice
    from compiler.rehearsal.playing import Wish, rehearse
    from compiler.rehearsal.records import keep
    from compiler.selection import select

    plain_or_json(NAME, options.format)
    folder = None if options.folder is None else _folder(options.folder)
    mounts = dict(_mount(text) for text in options.mount)
    output = None if options.output is None else Path(options.output)
    if output is not None and output.exists() and not output.is_dir():
        raise CompilerError(f"{options.output} is no folder", "name one for -o")
    project = Project(repository, at=options.at, cluster=options.cluster)
    result = project.judge(select(repository, options.job))
    findings = [*project.policy.findings, *project.base_findings, *result.findings]
    if findings:
        print_findings(findings, options, repository)
    if not result.runs or any(item.severity is Severity.ERROR for item in findings):
        _say("there is nothing to rehearse until the errors above are gone")
        return 1
    made, *others = result.runs
    known = {str(path) for member in made.run.members for path in _paths(made, member)}
    for path in mounts:
        if path not in known:
            raise CompilerError(
                f"{made.run.identity.name} mounts nothing at {path}",
                "write one of: " + ", ".join(sorted(known)) if known else "it has no mounts",
            )
    wish = Wish(
        options.nodes,
        options.processes,
        options.timeout,
        options.python,
        Choice(folder, mounts, tuple(options.args)),
    )
    with _ending_on_signals():
        played = rehearse(made, wish, _say)
    account = played.account
    if others:
        names = ", ".join(other.run.identity.cluster for other in others)
        account.uncovered.append(f"the runs on other clusters: {names} (--cluster chooses)")
    sys.stdout.write(json_text(account.as_dict()) if options.format == "json" else account.text())
    if output is not None:
        _say(f"wrote {', '.join(keep(played, output))} to {options.output}")
    return 0 if account.outcome == "passed" else 1


class _ending_on_signals:  # noqa: N801
    """Turns what ends a program without a word into an exception, so that it cleans up."""

    def __enter__(self) -> None:
        import signal

        def leave(number: int, frame: object) -> None:
            # A second one would only interrupt the cleaning up.
            signal.signal(number, signal.SIG_IGN)
            raise SystemExit(128 + number)

        self._before = {
            number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)
        }

    def __exit__(self, *_: object) -> None:
        import signal

        for number, before in self._before.items():
            signal.signal(number, before)


def _paths(made: object, member: object) -> list[str]:
    from compiler.volumes import mounted

    return [
        item.path
        for item in mounted(made.run, member)  # type: ignore[attr-defined, arg-type]
        if item.path and item.kind != "file"
    ]


def _folder(text: str) -> Path:
    from pathlib import Path

    from compiler.refusals import CompilerError

    path = Path(text).absolute()
    if not path.is_dir():
        raise CompilerError(f"there is no folder {text}", "name the folder of the image's code")
    return path.resolve()


def _mount(text: str) -> tuple[str, Path]:
    from compiler.refusals import CompilerError
    from compiler.volumes import normal

    path, equals, folder = text.partition("=")
    if not equals or not path.startswith("/") or not folder:
        raise CompilerError(f"`{text}` is no mount", "write --mount /data=some/folder")
    return normal(path), _folder(folder)


def _words(text: str) -> list[str]:
    import shlex

    try:
        return shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"`{text}`: {error}") from None


def _count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 16:
        raise argparse.ArgumentTypeError(f"`{text}` is no number from 1 to 16")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 86400:
        raise argparse.ArgumentTypeError(f"`{text}` is no number of seconds from 1 to 86400")
    return seconds


def _say(text: str) -> None:
    print(f"rehearse: {text}", file=sys.stderr, flush=True)
