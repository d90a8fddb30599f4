"""Where publish writes, as this clone knows without asking anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.repository import Repository
    from compiler.runs.git import Git


def upstream(git: Git, repository: Repository) -> str | None:
    """The branch that publish writes, as this clone last saw it; None where it does not know."""
    branch = repository.settings.get("publish", {}).get("branch")
    for name in (branch,) if branch else ("HEAD", "main", "master"):
        found = git.known(f"refs/remotes/origin/{name}")
        if found is not None:
            return found
    return None
