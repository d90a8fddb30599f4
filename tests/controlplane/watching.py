"""Changes of the objects of a kind, as the API server tells them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import urllib3

from controlplane.server import Manifest, Server


class Event(NamedTuple):
    """One change seen by a watch: `type` is ADDED, MODIFIED or DELETED."""

    type: str
    object: Manifest


def watch(
    server: Server,
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
        answer = server.raw(
            "GET", server.path(kind, None, namespace), query={"labelSelector": labels}
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
        for event in _changes(server, server.path(kind, None, namespace), query, over):
            if event.type == "DELETED":
                seen.pop(event.object["metadata"]["uid"], None)
            else:
                seen[event.object["metadata"]["uid"]] = event.object
            yield event


def _changes(
    server: Server, path: str, query: Mapping[str, Any], over: Callable[[], bool]
) -> Iterator[Event]:
    """The events of one stream, until the server ends it or `over()`."""
    while not over():
        # Quiet streams are asked for again every two seconds, at the version reached.
        stream = server.send(
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
