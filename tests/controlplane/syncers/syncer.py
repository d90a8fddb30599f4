"""What the tests know of a syncer, whichever it is: how it is run, installed, asked and told."""

from __future__ import annotations

import os
import re
import subprocess
from abc import ABC, abstractmethod
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import yaml

from controlplane.api import Api, Manifest
from controlplane.processes import Processes
from controlplane.stack import Stack

ROOT = Path(__file__).resolve().parents[3]
# What a syncer has done with a commit within; far more than it needs on a busy machine.
PATIENCE = 120.0


class Syncer(ABC):
    """A syncer beside a stack. `name` is its key in policy, `cluster` the one of its page."""

    name: ClassVar[str]
    cluster: ClassVar[str]
    page: ClassVar[str]
    kind: ClassVar[str]
    """The kind of the objects that follow a folder each."""
    namespace: ClassVar[str]

    def __init__(self, stack: Stack, folder: Path) -> None:
        self.stack = stack
        self.api: Api = stack.api
        self.folder = folder
        self.processes = Processes(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.kubeconfig = self._kubeconfig()

    def _kubeconfig(self) -> Path:
        """The stack's, with a context of the cluster's name and the syncer's namespace."""
        whole: dict[str, Any] = yaml.safe_load(self.stack.kubeconfig.read_text("utf-8"))
        (context,) = whole["contexts"]
        context["name"] = whole["current-context"] = self.cluster
        context["context"]["namespace"] = self.namespace
        path = self.folder / "kubeconfig"
        path.write_text(yaml.safe_dump(whole), "utf-8")
        path.chmod(0o600)
        return path

    def policy(self, url: str) -> str:
        """The lines of the cluster's file that name the syncer."""
        return f"sync: {{{self.name}: {{url: '{url}'}}}}\n"

    @abstractmethod
    def start(self) -> None:
        """Define its kinds and start its controllers; returns once they are ready."""

    def stop(self) -> None:
        """End its controllers."""
        self.processes.stop()

    def says(self, title: str) -> list[str]:
        """The commands of the page under a title, in blocks; none where it has no such title."""
        text = (ROOT / self.page).read_text("utf-8")
        pattern = rf"^###? (?:[0-9]+\. )?{re.escape(title)}$(.*?)(?=^##|\Z)"
        found = re.search(pattern, text, re.MULTILINE | re.DOTALL)
        if found is None:
            return []
        blocks: list[str] = re.findall(r"^```sh\n(.*?)^```$", found[1], re.MULTILINE | re.DOTALL)
        return blocks

    def told(self, tree: Path, title: str) -> str:
        """Run what the page says under a title, in a clone; returns what was printed."""
        blocks = self.says(title)
        assert blocks, f"{self.page} has nothing to run under {title}"
        return "".join(self.shell(block, tree) for block in blocks)

    def shell(self, script: str, tree: Path) -> str:
        """Run a script in a clone, with kubectl set to the stack; it must succeed."""
        done = subprocess.run(
            ["sh", "-euc", script],
            cwd=tree,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}"
        return done.stdout

    @abstractmethod
    def look(self) -> None:
        """Make it look at the repository now, as a webhook does."""

    @abstractmethod
    def look_at_all(self) -> None:
        """Make it compare everything with the cluster now, as it does by itself after a while."""

    @abstractmethod
    def name_of(self, folder: str) -> str:
        """The name of what follows a folder of the cluster."""

    @abstractmethod
    def again(self, folder: str) -> None:
        """Have a folder applied anew, as a person can ask it to."""

    @abstractmethod
    def acted(self, follower: Manifest, commit: str, since: datetime) -> bool:
        """Whether what follows a folder is done with a commit, well or not; asked `since`."""

    @abstractmethod
    def complaint(self, folder: str) -> str | None:
        """What it says about a folder that could not be applied as it stands."""

    @abstractmethod
    def plain(self, name: str, url: str, path: str) -> list[Manifest]:
        """What follows a folder the way that introductions show it: pruning, healing, no more."""

    def follower(self, folder: str) -> Manifest:
        """What follows a folder of the cluster."""
        return self.api.get(self.kind, self.name_of(folder), self.namespace)

    def followers(self) -> list[Manifest]:
        """All that follow a folder of the published tree."""
        return self.api.list(self.kind, self.namespace, "app.kubernetes.io/managed-by=runwright")

    def sync(self, commit: str) -> None:
        """Wait until everything that follows a folder is done with a commit."""
        self.look()
        since = datetime.now(UTC)
        self.api.until(
            lambda: [
                (item["metadata"]["name"], item.get("status"))
                for item in self.followers()
                if not self.acted(item, commit, since)
            ],
            lambda behind: not behind,
            PATIENCE,
            f"sync of {commit}",
        )
