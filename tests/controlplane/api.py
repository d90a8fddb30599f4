"""A small client of a Kubernetes API server, for any kind, over its plain HTTP interface.

A kind is written `group/version/Kind`, as `kubeflow.org/v1/PyTorchJob` or `v1/Pod`, or is taken
from a manifest. An `Api` may be used by several threads.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from controlplane.server import Manifest, Refused, Server, kind_of
from controlplane.watching import Event, watch

__all__ = ["Api", "Event", "Manifest", "Refused", "TooLate", "condition", "kind_of"]

T = TypeVar("T")

# The media types of patches.
FORMS = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}

# What others refer to is applied first; kinds that are not named come after all of these.
FIRST = ("CustomResourceDefinition", "Namespace", "ServiceAccount", "ClusterRole", "Role")


class TooLate(AssertionError):
    """What a test waited for did not come; the text tells what was there instead."""


class Api(Server):
    """Requests to one API server, as a user who may do everything unless it acts for another."""

    def acting(self, user: str, groups: Sequence[str] = ()) -> Api:
        """The same server asked as another user, who may do what RBAC grants to the names."""
        return Api(self.server, self.token, self.authority, user, tuple(groups))

    # --- reading ---------------------------------------------------------------------------

    def get(self, kind: str, name: str, namespace: str | None = None) -> Manifest:
        """One object as it is now. Raises Refused (404) where there is none."""
        found: Manifest = self.raw("GET", self.path(kind, name, namespace))
        return found

    def find(self, kind: str, name: str, namespace: str | None = None) -> Manifest | None:
        """One object as it is now, or None."""
        try:
            return self.get(kind, name, namespace)
        except Refused as error:
            if error.code == 404:
                return None
            raise

    def read(self, manifest: Mapping[str, Any]) -> Manifest | None:
        """The object that a manifest names, as it is now, or None."""
        metadata = manifest["metadata"]
        return self.find(kind_of(manifest), metadata["name"], metadata.get("namespace"))

    def list(
        self, kind: str, namespace: str | None = None, labels: str | None = None
    ) -> list[Manifest]:
        """All objects of a kind in a namespace, or everywhere; `labels` is a selector's text."""
        answer = self.raw(
            "GET", self.path(kind, None, namespace), query={"labelSelector": labels}, seconds=60
        )
        version, _, name = kind.rpartition("/")
        items: list[Manifest] = answer["items"]
        return [{"apiVersion": version, "kind": name, **item} for item in items]

    def watch(
        self,
        kind: str,
        namespace: str | None = None,
        labels: str | None = None,
        seconds: float | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Iterator[Event]:
        """All objects of a kind as ADDED, then each change: see `watching.watch`."""
        return watch(self, kind, namespace, labels, seconds, stopped)

    # --- writing ---------------------------------------------------------------------------

    def create(self, manifest: Manifest, dry_run: bool = False, subresource: str = "") -> Manifest:
        """The object as the server made it. `subresource` is for bindings and evictions."""
        made: Manifest = self.raw(
            "POST",
            self.path_of(manifest, bool(subresource), subresource),
            manifest,
            {"dryRun": "All" if dry_run else None},
        )
        return made

    def apply(
        self,
        manifest: Manifest,
        manager: str = "tests",
        force: bool = True,
        dry_run: bool = False,
        subresource: str = "",
    ) -> Manifest:
        """The object after a server-side apply by `manager`, who takes fields over with `force`."""
        applied: Manifest = self.raw(
            "PATCH",
            self.path_of(manifest, True, subresource),
            manifest,
            {
                "fieldManager": manager,
                "force": str(force).lower(),
                "fieldValidation": "Strict",
                "dryRun": "All" if dry_run else None,
            },
            "application/apply-patch+yaml",
        )
        return applied

    def apply_all(self, manifests: Iterable[Manifest], manager: str = "tests") -> list[Manifest]:
        """The objects after a server-side apply of each: see `create_all`."""
        return self._all(manifests, lambda each: self.apply(each, manager))

    def create_all(self, manifests: Iterable[Manifest]) -> list[Manifest]:
        """The objects as they were made, what others refer to first.

        Objects of one rank are made side by side, and the kinds that definitions bring are served
        before the others are made.
        """
        return self._all(manifests, self.create)

    def _all(
        self, manifests: Iterable[Manifest], write: Callable[[Manifest], Manifest]
    ) -> list[Manifest]:
        ranks: dict[int, list[Manifest]] = {}
        for each in manifests:
            rank = FIRST.index(each["kind"]) if each["kind"] in FIRST else len(FIRST)
            ranks.setdefault(rank, []).append(each)
        made: list[Manifest] = []
        with ThreadPoolExecutor(8) as pool:
            for rank in sorted(ranks):
                made += pool.map(write, ranks[rank])
                if rank == 0:
                    for each in ranks[rank]:
                        self._established(each)
        return made

    def _established(self, definition: Manifest) -> None:
        name = definition["metadata"]["name"]
        self.until(
            lambda: self.get(kind_of(definition), name),
            lambda found: condition(found, "Established") == "True",
            said=f"the definition {name} established",
        )

    def replace(self, manifest: Manifest, subresource: str = "") -> Manifest:
        """The object after all of it was replaced."""
        made: Manifest = self.raw("PUT", self.path_of(manifest, True, subresource), manifest)
        return made

    def patch(
        self,
        kind: str,
        name: str,
        namespace: str | None,
        patch: Any,
        form: str = "merge",
        subresource: str = "",
    ) -> Manifest:
        """The object after a patch; `form` is merge, json or strategic."""
        made: Manifest = self.raw(
            "PATCH", self.path(kind, name, namespace, subresource), patch, form=FORMS[form]
        )
        return made

    def delete(
        self,
        kind: str,
        name: str,
        namespace: str | None = None,
        grace: int | None = None,
        propagation: str = "Background",
    ) -> None:
        """Ask for an object to be deleted; nothing where there is none.

        `grace` is in seconds; 0 takes a Pod away at once, whatever runs.
        """
        body = {"propagationPolicy": propagation, "gracePeriodSeconds": grace}
        try:
            self.raw("DELETE", self.path(kind, name, namespace), body)
        except Refused as error:
            if error.code != 404:
                raise

    def delete_all(self, kind: str, namespace: str | None, labels: str | None = None) -> None:
        """Ask for all objects of a kind in a namespace to be deleted, with what they own."""
        self.raw(
            "DELETE",
            self.path(kind, None, namespace),
            {"propagationPolicy": "Background"},
            {"labelSelector": labels},
            seconds=60,
        )

    # --- waiting ---------------------------------------------------------------------------

    def until(
        self,
        what: Callable[[], T],
        holds: Callable[[T], bool] = bool,
        seconds: float = 60,
        said: str = "what was waited for",
    ) -> T:
        """The first value of `what()` for which `holds`; asked ten times a second at most.

        An object that is not there (404) is waited for. Raises TooLate after `seconds`, with
        what was there last.
        """
        ends = time.monotonic() + seconds
        while True:
            last: Any
            try:
                last = what()
                if holds(last):
                    return last
            except Refused as error:
                if error.code != 404:
                    raise
                last = error
            if time.monotonic() >= ends:
                shown = last if isinstance(last, str) else json.dumps(last, default=str, indent=1)
                raise TooLate(f"no {said} within {seconds:g} s; at last there was {shown[-4000:]}")
            time.sleep(0.1)

    def gone(self, kind: str, name: str, namespace: str | None = None, seconds: float = 60) -> None:
        """Wait until an object is no more. Raises TooLate."""
        self.until(
            lambda: self.find(kind, name, namespace),
            lambda found: found is None,
            seconds,
            f"end of {kind} {name}",
        )


def condition(found: Mapping[str, Any] | None, name: str) -> str | None:
    """The status of a condition of an object, `True`, `False` or `Unknown`; None without it."""
    conditions = ((found or {}).get("status") or {}).get("conditions") or []
    return next((each["status"] for each in conditions if each["type"] == name), None)
