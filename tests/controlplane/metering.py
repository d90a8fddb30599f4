"""What is written through an API server, counted by itself (`apiserver_request_total`)."""

from __future__ import annotations

import re
from collections import Counter

from controlplane.api import Api

_LINE = re.compile(r"^apiserver_request_total\{(.*)\} ([0-9.e+]+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
VERBS = ("POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION")
# Heartbeats, what controllers ask about rights and tell people, and what syncers write down of
# themselves.
NO_CHANGE = (
    *("leases", "events", "subjectaccessreviews", "tokenreviews", "selfsubjectaccessreviews"),
    *("kustomizations", "gitrepositories", "applications", "appprojects"),
)


class Writes:
    """Writes that have succeeded since it was made, by verb and resource; no dry runs."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._before = self._counted()

    def _counted(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for labels, count in _LINE.findall(self._api.raw("GET", "/metrics")):
            known = dict(_LABEL.findall(labels))
            if (
                known["verb"] in VERBS
                and not known["dry_run"]
                and known["code"].startswith("2")
                and known["resource"] not in NO_CHANGE
            ):
                what = "/".join(filter(None, (known["resource"], known["subresource"])))
                found[f"{known['verb']} {what}"] += int(float(count))
        return found

    def since(self) -> dict[str, int]:
        """How often what was written since then."""
        now = self._counted()
        return {
            what: now[what] - self._before[what] for what in now if now[what] > self._before[what]
        }
