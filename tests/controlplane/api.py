"""A small client of a Kubernetes API server, for any kind, over its plain HTTP interface.

A kind is written `group/version/Kind`, as `kubeflow.org/v1/PyTorchJob` or `v1/Pod`, or is taken
from a manifest. An `Api` may be used by several threads.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

import urllib3

T = TypeVar("T")
Manifest = dict[str, Any]

# The media types of patches.
FORMS = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}

# What others refer to is applied first; kinds that are not named come after all of these.
FIRST = ("CustomResourceDefinition", "Namespace", "ServiceAccount", "ClusterRole", "Role")


class Refused(Exception):
    """The server's answer to a request that it did not carry out.

    `code` is the HTTP status, `reason` the machine's word (`NotFound`, `Invalid`, `Conflict`…) and
    `message` the sentence, as the server gave them.
    """

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.reason = reason
        self.message = message


class TooLate(AssertionError):
    """What a test waited for did not come; the text tells what was there instead."""


class Event(NamedTuple):
    """One change seen by a watch: `type` is ADDED, MODIFIED or DELETED."""

    type: str
    object: Manifest


class Resource(NamedTuple):
    """Where the objects of a kind are served."""

    prefix: str
    plural: str
    namespaced: bool


def kind_of(manifest: Mapping[str, Any]) -> str:
    """The kind of a manifest, as `group/version/Kind`."""
    return f"{manifest['apiVersion']}/{manifest['kind']}"


class Api:
    """Requests to one API server, as a user who may do everything unless `token` is another's."""

    def __init__(self, server: str, token: str, authority: Path) -> None:
        self.server = server.rstrip("/")
        self.token = token
        self.authority = authority
        self._resources: dict[str, dict[str, Resource]] = {}
        self._lock = threading.Lock()
        self._pool = urllib3.PoolManager(
            maxsize=32, ca_certs=str(authority), cert_reqs="CERT_REQUIRED", retries=False
        )

    def acting(self, token: str) -> Api:
        """The same server asked as the user of another token."""
        return Api(self.server, token, self.authority)

    # --- one request -----------------------------------------------------------------------

    def raw(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        form: str = "application/json",
        seconds: float = 30,
    ) -> Any:
        """The server's answer to one request: JSON decoded, else its text.

        Raises Refused for any answer of 400 and above, and urllib3's errors where there is none.
        """
        answer = self._send(method, path, body, query, form, seconds, stream=False)
        text = answer.data.decode()
        if answer.status >= 400:
            raise _refusal(answer.status, text)
        try:
            return json.loads(text)
        except ValueError:
            return text

    def _send(
        self,
        method: str,
        path: str,
        body: Any,
        query: Mapping[str, Any] | None,
        form: str,
        seconds: float | None,
        stream: bool,
    ) -> urllib3.BaseHTTPResponse:
        given = {key: value for key, value in (query or {}).items() if value is not None}
        return self._pool.request(
            method,
            self.server + path + (f"?{urlencode(given)}" if given else ""),
            body=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": form},
            timeout=urllib3.Timeout(connect=5, read=seconds),
            preload_content=not stream,
        )

    def resource(self, kind: str) -> Resource:
        """Where a kind is served. Raises Refused (404) where the server does not know it."""
        version, _, name = kind.rpartition("/")
        with self._lock:
            known = self._resources.get(version, {})
            if name not in known:
                known = self._resources[version] = self._discover(version)
        if name not in known:
            raise Refused(404, "NotFound", f"the server has no kind {kind}")
        return known[name]

    def _discover(self, version: str) -> dict[str, Resource]:
        prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
        return {
            item["kind"]: Resource(prefix, item["name"], item["namespaced"])
            for item in self.raw("GET", prefix)["resources"]
            if "/" not in item["name"]
        }

    def path(
        self,
        kind: str,
        name: str | None = None,
        namespace: str | None = None,
        subresource: str = "",
    ) -> str:
        """The path of one object, or of all of a kind, in a namespace or everywhere."""
        at = self.resource(kind)
        parts = [at.prefix]
        if at.namespaced and namespace is not None:
            parts += ["namespaces", namespace]
        parts += [at.plural, name or "", subresource]
        return "/".join(part for part in parts if part)

    def _path_of(self, manifest: Mapping[str, Any], named: bool, subresource: str = "") -> str:
        metadata = manifest["metadata"]
        at = self.resource(kind_of(manifest))
        namespace = metadata.get("namespace", "default") if at.namespaced else None
        name = metadata["name"] if named else None
        return self.path(kind_of(manifest), name, namespace, subresource)

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
        """All objects of a kind as ADDED, then each change, for `seconds` or until `stopped()`.

        A stream that the server ends is begun anew from a fresh list, so an object may come twice;
        one that went while no stream was open comes as DELETED. `stopped` is asked at least once
        every two seconds.
        """
        ends = None if seconds is None else time.monotonic() + seconds
        seen: dict[str, Manifest] = {}

        def over() -> bool:
            return stopped() or (ends is not None and time.monotonic() >= ends)

        while not over():
            answer = self.raw(
                "GET", self.path(kind, None, namespace), query={"labelSelector": labels}
            )
            version, _, name = kind.rpartition("/")
            now = {
                item["metadata"]["uid"]: {"apiVersion": version, "kind": name, **item}
                for item in answer["items"]
            }
            for uid in [uid for uid in seen if uid not in now]:
                yield Event("DELETED", seen.pop(uid))
            for uid, item in now.items():
                if seen.get(uid) != item:
                    seen[uid] = item
                    yield Event("ADDED", item)
            query = {
                "watch": "true",
                "resourceVersion": answer["metadata"]["resourceVersion"],
                "labelSelector": labels,
            }
            for event in self._changes(self.path(kind, None, namespace), query, over):
                if event.type == "DELETED":
                    seen.pop(event.object["metadata"]["uid"], None)
                else:
                    seen[event.object["metadata"]["uid"]] = event.object
                yield event

    def _changes(
        self, path: str, query: Mapping[str, Any], over: Callable[[], bool]
    ) -> Iterator[Event]:
        """The events of one stream, until the server ends it or `over()`."""
        while not over():
            # Quiet streams are asked for again every two seconds, at the version reached.
            stream = self._send(
                "GET", path, None, {**query, "timeoutSeconds": 2}, "application/json", 10, True
            )
            try:
                if stream.status >= 400:
                    return
                rest = b""
                for chunk in stream.stream(None):
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        event = json.loads(line)
                        if event["type"] == "ERROR":
                            return
                        version = event["object"]["metadata"]["resourceVersion"]
                        query = {**query, "resourceVersion": version}
                        if event["type"] != "BOOKMARK":
                            yield Event(event["type"], event["object"])
                        if over():
                            return
            except urllib3.exceptions.HTTPError:
                return
            finally:
                stream.close()

    # --- writing ---------------------------------------------------------------------------

    def create(self, manifest: Manifest, dry_run: bool = False, subresource: str = "") -> Manifest:
        """The object as the server made it. `subresource` is for bindings and evictions."""
        made: Manifest = self.raw(
            "POST",
            self._path_of(manifest, bool(subresource), subresource),
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
            self._path_of(manifest, True, subresource),
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
        """The objects after a server-side apply of each, what others refer to first.

        Waits until the kinds that definitions among them bring are served.
        """
        order = {kind: place for place, kind in enumerate(FIRST)}
        ordered = sorted(manifests, key=lambda each: order.get(each["kind"], len(order)))
        definitions = [each for each in ordered if each["kind"] == FIRST[0]]
        others = [each for each in ordered if each["kind"] != FIRST[0]]
        applied = [self.apply(each, manager) for each in definitions]
        for each in definitions:
            name = each["metadata"]["name"]
            self.until(
                lambda name=name: self.get(kind_of(definitions[0]), name),
                lambda found: condition(found, "Established") == "True",
                30,
                f"the definition {name} established",
            )
        return applied + [self.apply(each, manager) for each in others]

    def replace(self, manifest: Manifest, subresource: str = "") -> Manifest:
        """The object after all of it was replaced."""
        made: Manifest = self.raw("PUT", self._path_of(manifest, True, subresource), manifest)
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
        seconds: float = 30,
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

    def gone(self, kind: str, name: str, namespace: str | None = None, seconds: float = 30) -> None:
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


def _refusal(code: int, text: str) -> Refused:
    try:
        said = json.loads(text)
        return Refused(code, said.get("reason", ""), said.get("message", text))
    except (ValueError, AttributeError):
        return Refused(code, "", text)
