"""Kueue's quota, read from its objects the slow way: what Kueue itself adds up, and no policy.

After pkg/cache/scheduler/resource_node.go of sigs.k8s.io/kueue@v0.17.0: a Cohort has its own quota
and all of its children's; what it can get is what the tree above it has, at most its own and its
borrowing limit.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import yaml

Object = dict[str, Any]
Pair = tuple[str, str]
"""A flavor and a resource."""

_SUFFIX = {
    "": Fraction(1),
    "m": Fraction(1, 1000),
    "Ki": Fraction(1024),
    "Mi": Fraction(1024**2),
    "Gi": Fraction(1024**3),
    "Ti": Fraction(1024**4),
    "Pi": Fraction(1024**5),
}


def number(text: Any) -> Fraction:
    """What a quantity stands for."""
    found = re.fullmatch(r"([0-9]+)([A-Za-z]*)", text)
    assert found, text
    return int(found[1]) * _SUFFIX[found[2]]


def read(files: Mapping[str, str]) -> list[Object]:
    """All objects of a folder but its kustomization."""
    made: list[Object] = []
    for path, text in sorted(files.items()):
        if not path.endswith("/kustomization.yaml"):
            made += list(yaml.safe_load_all(text))
    return made


def of_kind(objects: Iterable[Object], kind: str) -> dict[str, Object]:
    """The objects of a kind by name; a name twice is an error."""
    found: dict[str, Object] = {}
    for item in objects:
        if item["kind"] == kind:
            name = item["metadata"]["name"]
            space = item["metadata"].get("namespace")
            key = name if space is None else f"{space}/{name}"
            assert key not in found, key
            found[key] = item
    return found


class Tree:
    """Cohorts and ClusterQueues as one tree."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self.own: dict[str, dict[Pair, tuple[Fraction, Fraction | None]]] = {}
        self.parent: dict[str, str | None] = {}
        self.queues: set[str] = set()
        for item in objects:
            if item["kind"] not in ("Cohort", "ClusterQueue"):
                continue
            node = f"{item['kind']}/{item['metadata']['name']}"
            assert node not in self.own
            above = item["spec"].get("parentName" if item["kind"] == "Cohort" else "cohortName")
            self.parent[node] = None if above is None else f"Cohort/{above}"
            self.own[node] = _quotas(item)
            if item["kind"] == "ClusterQueue":
                self.queues.add(node)
        for above in self.parent.values():
            assert above is None or above in self.own, f"no {above}"
        self.children: dict[str, list[str]] = defaultdict(list)
        for node, above in self.parent.items():
            if above is not None:
                self.children[above].append(node)

    def below(self, node: str, pair: Pair) -> Fraction:
        """All quota at a node and below it."""
        here = self.own[node].get(pair, (Fraction(0), None))[0]
        return here + sum(self.below(child, pair) for child in self.children[node])

    def most(self, node: str, pair: Pair) -> Fraction:
        """The most that a node can ever use, were everybody else idle."""
        above = self.parent[node]
        if above is None:
            return self.below(node, pair)
        limit = self.own[node].get(pair, (Fraction(0), None))[1]
        there = self.most(above, pair)
        return there if limit is None else min(self.below(node, pair) + limit, there)

    @property
    def roots(self) -> list[str]:
        """The nodes that have no parent."""
        return [node for node, above in self.parent.items() if above is None]


def _quotas(item: Object) -> dict[Pair, tuple[Fraction, Fraction | None]]:
    found: dict[Pair, tuple[Fraction, Fraction | None]] = {}
    for group in item["spec"].get("resourceGroups", ()):
        for flavor in group["flavors"]:
            for row in flavor["resources"]:
                limit = row.get("borrowingLimit")
                pair = (flavor["name"], row["name"])
                assert pair not in found, pair
                found[pair] = (
                    number(row["nominalQuota"]),
                    None if limit is None else number(limit),
                )
    return found


def refused(item: Object) -> list[str]:
    """Why Kueue's webhooks, or the rules in its CRDs, would refuse an object; nothing if not.

    After pkg/webhooks/{clusterqueue,cohort}_webhook.go and the markers in apis/kueue/v1beta2.
    """
    wrong: list[str] = []
    kind, spec = item["kind"], item.get("spec", {})
    if kind in ("Cohort", "ClusterQueue"):
        groups = spec.get("resourceGroups", [])
        parent = spec.get("parentName" if kind == "Cohort" else "cohortName")
        covered = [name for group in groups for name in group["coveredResources"]]
        named = [flavor["name"] for group in groups for flavor in group["flavors"]]
        if len(covered) != len(set(covered)):
            wrong.append("a resource in two groups")
        if len(named) != len(set(named)):
            wrong.append("a flavor in two groups")
        if len(groups) > 16 or len(covered) > 256 or len(named) > 256:
            wrong.append("too much")
        for group in groups:
            if not 1 <= len(group["coveredResources"]) <= 64:
                wrong.append("resources of a group")
            if not 1 <= len(group["flavors"]) <= 64:
                wrong.append("flavors of a group")
            if len(group["coveredResources"]) * len(group["flavors"]) > 512:
                wrong.append("pairs of a group")
            for flavor in group["flavors"]:
                rows = flavor["resources"]
                if [row["name"] for row in rows] != group["coveredResources"]:
                    wrong.append("another order of resources")
                if parent is None and any("borrowingLimit" in row for row in rows):
                    wrong.append("a limit without a parent")
    if kind == "ResourceFlavor":
        labels = spec.get("nodeLabels", {})
        if len(labels) > 8 or len(spec.get("tolerations", ())) > 8:
            wrong.append("too many labels or tolerations")
        if "topologyName" in spec and not labels:
            wrong.append("a topology without labels")
        for taint in spec.get("tolerations", ()):
            if taint["operator"] == "Exists" and "value" in taint:
                wrong.append("a value that is any value")
    if kind == "Topology":
        levels = [level["nodeLabel"] for level in spec["levels"]]
        if len(levels) != len(set(levels)) or not 1 <= len(levels) <= 16:
            wrong.append("levels")
        if "kubernetes.io/hostname" in levels[:-1]:
            wrong.append("the node is not the last level")
    if kind == "WorkloadPriorityClass" and not -(2**31) <= item["value"] < 2**31:
        wrong.append("a priority beyond 32 bits")
    return wrong
