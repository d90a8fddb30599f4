"""What all tests share: the flag that rewrites golden files."""

import os
from collections import Counter
from pathlib import Path

import pytest

CONTROLPLANE = Path(__file__).with_name("controlplane")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the tests on a real control plane to those who name their folder or one of its files.

    They need servers that take minutes to build; `make e2e` builds and names them.
    """
    if not collection_path.is_relative_to(CONTROLPLANE):
        return None
    named = (Path(argument.partition("::")[0]).resolve() for argument in config.args)
    return None if any(path.is_relative_to(CONTROLPLANE) for path in named) else True


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the tests see into their golden files; then review the difference",
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten; never in CI."""
    wanted: bool = request.config.getoption("--update-golden")
    if wanted and os.environ.get("CI"):
        pytest.fail("golden files are reviewed by a person: --update-golden is off in CI")
    return wanted


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have counted (`record_property("counted", {what: {name: number}})`)."""
    counted: dict[str, Counter[str]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "counted" and getattr(report, "when", "") == "call":
                    for what, numbers in value.items():
                        counted.setdefault(what, Counter()).update(numbers)
    for what, numbers in sorted(counted.items()):
        said = ", ".join(f"{number:,} {name}" for name, number in numbers.items())
        terminalreporter.write_line(f"{what}: {said}")
