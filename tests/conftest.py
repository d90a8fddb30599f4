"""What all tests share: the flag that rewrites golden files."""

import os
from collections import Counter

import pytest


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
