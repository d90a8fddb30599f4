"""What all tests share: the flag that rewrites golden files."""

import os

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
