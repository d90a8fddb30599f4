"""What affinities, spread and tolerations of a pod demand of their fields together.

As `podlimits`, this follows k8s.io/kubernetes, pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.model import Route
from compiler.nodes import Mapping, Scalar, Sequence
from compiler.passthrough import Object, listed
from compiler.podlimits import Mistake, Need, dotted, label_value
from compiler.scalars import shown


def _toleration(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    operator = str(node.get("operator", "")) or "Equal"
    if operator == "Exists" and node.get("value"):
        message = "`operator: Exists` takes any value"
        yield "value", True, message, "take it out, or write operator: Equal"
    elif operator != "Exists" and not node.get("key"):
        message = "a toleration without a key is for all taints"
        yield "", bool(node), message, "add `key:`, or operator: Exists for every taint"
    if "tolerationSeconds" in node and str(node.get("effect", "")) != "NoExecute":
        message = "`tolerationSeconds` needs `effect: NoExecute`: no other taint ends a pod"
        yield "tolerationSeconds", True, message, "write effect: NoExecute, or take it out"


def _requirement(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    if route[-2:-1] == ("matchFields",):
        yield from _node_field(node)
        return
    operator, values = str(node.get("operator", "")), node.get("values")
    count = len(values) if isinstance(values, Sequence) else 0
    if operator in ("In", "NotIn") and not count:
        yield "operator", False, f"`operator: {operator}` needs values", "add values: [...]"
    elif operator in ("Exists", "DoesNotExist") and count:
        message = f"`operator: {operator}` takes no values"
        yield "values", True, message, "take it out, or write operator: In"
    elif operator in ("Gt", "Lt") and count != 1:
        yield "operator", False, f"`operator: {operator}` needs one number", 'add values: ["8"]'
    if "nodeSelectorTerms" in route and isinstance(values, Sequence):
        # In a preference, and where labels are compared by order, no server looks at them.
        for index, value in enumerate(values if operator in ("In", "NotIn") else ()):
            told = label_value(str(value)) if isinstance(value, Scalar) else None
            if told is not None:
                yield ("values", index), False, *told


def _node_field(node: Mapping) -> Iterator[Mistake]:
    """A node has one field that it can be chosen by, its name."""
    key, operator, values = node.get("key"), str(node.get("operator", "")), node.get("values")
    if key is not None and str(key) != "metadata.name":
        message = f"{shown(key)} is no field that a node is chosen by"
        yield "key", False, message, "write metadata.name, or matchExpressions for a label"
    elif operator not in ("In", "NotIn"):
        if "operator" in node:
            message = f"`operator: {operator}` is not possible for a field of a node"
            yield "operator", False, message, "write In or NotIn"
    elif not isinstance(values, Sequence) or len(values) != 1:
        step = "values" if "values" in node else "operator"
        message = f"`operator: {operator}` takes one name of a node here"
        yield step, False, message, "write values: [<node>], and one term for each node"
    elif isinstance(values[0], Scalar) and (told := dotted(str(values[0]))) is not None:
        yield ("values", 0), False, *told


def _terms(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    terms = node.get("nodeSelectorTerms")
    if isinstance(terms, Sequence) and not terms:
        message = "a node affinity needs a term"
        yield "nodeSelectorTerms", False, message, "add one, or take the affinity out"


def _near(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    yield from _unselected(node, whole, "matchLabelKeys", "mismatchLabelKeys")
    same = {str(key) for key in listed(whole.get("matchLabelKeys"))}
    for index, key in enumerate(listed(node.get("mismatchLabelKeys"))):
        if str(key) in same and whole.get("labelSelector") is not None:
            message = f"`{key}` is in `matchLabelKeys` as well"
            yield ("mismatchLabelKeys", index), False, message, "keep one of the two"


def _unselected(node: Mapping, whole: Object, *names: str) -> Iterator[Mistake]:
    """Keys of labels that narrow a selector, where there is none."""
    for name in names:
        if listed(node.get(name)) and whole.get("labelSelector") is None:
            message = f"`{name}` needs a `labelSelector`"
            yield name, True, message, "add labelSelector: {matchLabels: {...}}, or take it out"
            return


def _spread(node: Mapping, whole: Object, route: Route) -> Iterator[Mistake]:
    if "minDomains" in node and str(whole.get("whenUnsatisfiable", "")) == "ScheduleAnyway":
        message = "`minDomains` needs `whenUnsatisfiable: DoNotSchedule`"
        yield "minDomains", True, message, "take it out, or write DoNotSchedule"
    yield from _unselected(node, whole, "matchLabelKeys")


NEEDS: dict[str, Need] = {
    "Toleration": _toleration,
    "NodeSelectorRequirement": _requirement,
    "LabelSelectorRequirement": _requirement,
    "NodeSelector": _terms,
    "PodAffinityTerm": _near,
    "TopologySpreadConstraint": _spread,
}
