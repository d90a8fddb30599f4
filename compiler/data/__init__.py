"""Files that go with the package: JSON Schemas, and what a new repository begins with.

In a checkout some of them stand at the root, where editors and CI look for them; an installed
package holds its own copies here.
"""

from pathlib import Path

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]


def schemas() -> Path:
    """The folder of `*.schema.json` files of this version of the compiler."""
    return _installed("schemas", _ROOT / "schemas")


def scripts() -> Path:
    """The folder of the scripts that CI runs, the same in every configuration repository."""
    return _installed("ci", _ROOT / "ci")


def workflows() -> Path:
    """The folder of the workflows for GitHub."""
    return _installed("workflows", _ROOT / ".github" / "workflows")


def _installed(name: str, otherwise: Path) -> Path:
    return _HERE / name if (_HERE / name).is_dir() else otherwise
