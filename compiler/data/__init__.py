"""Files that go with the package: the JSON Schemas that editors and other programs read.

In a checkout they stand in `schemas/` at the root; an installed package holds its own copy here.
"""

from pathlib import Path


def schemas() -> Path:
    """The folder of `*.schema.json` files of this version of the compiler."""
    installed = Path(__file__).with_name("schemas")
    return installed if installed.is_dir() else Path(__file__).parents[2] / "schemas"
