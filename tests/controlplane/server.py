"""Requests to one Kubernetes API server over its plain HTTP interface."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import urllib3

Manifest = dict[str, Any]


class Refused(Exception):
    """The server's answer to a request that it did not carry out.

    `code` is the HTTP status, `reason` the machine's word (`NotFound`, `Invalid`, `Conflict`...)
    and `message` the sentence, as the server gave them.
    """

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.reason = reason
        self.message = message


class Resource(NamedTuple):
    """Where the objects of a kind are served."""

    prefix: str
    plural: str
    namespaced: bool


def kind_of(manifest: Mapping[str, Any]) -> str:
    """The kind of a manifest, as `group/version/Kind`."""
    return f"{manifest['apiVersion']}/{manifest['kind']}"


class Server:
    """An API server and the user who asks it; may be used by several threads.

    `user` and `groups` are whom the holder of the token acts for, where they are given.
    """

    def __init__(
        self,
        server: str,
        token: str,
        authority: Path,
        user: str | None = None,
        groups: tuple[str, ...] = (),
    ) -> None:
        self.server = server.rstrip("/")
        self.token = token
        self.authority = authority
        self._headers = urllib3.HTTPHeaderDict({"Authorization": f"Bearer {token}"})
        if user is not None:
            self._headers.add("Impersonate-User", user)
            for group in groups:
                self._headers.add("Impersonate-Group", group)
        self._resources: dict[str, dict[str, Resource]] = {}
        self._lock = threading.Lock()
        self._pool = urllib3.PoolManager(
            maxsize=32, ca_certs=str(authority), cert_reqs="CERT_REQUIRED", retries=False
        )

    def raw(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        form: str = "application/json",
        seconds: float = 60,
    ) -> Any:
        """The server's answer to one request: JSON decoded, else its text.

        A server that asks to come back later, as it does for a kind that it has only just learnt
        of, is asked again until `seconds` have passed. Raises Refused for any answer of 400 and
        above, and urllib3's errors where there is none.
        """
        ends = time.monotonic() + seconds
        while True:
            answer = self.send(method, path, body, query, form, seconds, stream=False)
            if answer.status != 429 or time.monotonic() >= ends:
                break
            time.sleep(0.1)
        text = answer.data.decode()
        if answer.status >= 400:
            raise _refusal(answer.status, text)
        try:
            return json.loads(text)
        except ValueError:
            return text

    def send(
        self,
        method: str,
        path: str,
        body: Any,
        query: Mapping[str, Any] | None,
        form: str,
        seconds: float | None,
        stream: bool,
    ) -> urllib3.BaseHTTPResponse:
        """The answer itself; its body is still to be read where `stream` is asked for."""
        given = {key: value for key, value in (query or {}).items() if value is not None}
        headers = self._headers.copy()
        headers["Content-Type"] = form
        return self._pool.request(
            method,
            self.server + path + (f"?{urlencode(given)}" if given else ""),
            body=None if body is None else json.dumps(body).encode(),
            headers=headers,
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

    def path_of(self, manifest: Mapping[str, Any], named: bool, subresource: str = "") -> str:
        """The path of the object of a manifest, or of where such an object is made."""
        metadata = manifest["metadata"]
        at = self.resource(kind_of(manifest))
        namespace = metadata.get("namespace", "default") if at.namespaced else None
        name = metadata["name"] if named else None
        return self.path(kind_of(manifest), name, namespace, subresource)


def _refusal(code: int, text: str) -> Refused:
    try:
        said = json.loads(text)
        return Refused(code, said.get("reason", ""), said.get("message", text))
    except (ValueError, AttributeError):
        return Refused(code, "", text)
