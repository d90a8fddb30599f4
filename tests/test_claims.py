"""What pages of rules say of a cluster is confirmed on a real one, or listed as not shown."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from controlplane.claims import NO_CLAIM, NOT_SHOWN, REFUSED, SEEN
from controlplane.faults import (
    FAULTS,
    FIELDS,
    NEEDS,
    POD_NEEDS,
    POD_VALUES,
    PROBLEMS,
    VALUES,
)

from compiler.rules import registered

FOLDER = Path(__file__).parent / "controlplane"
# Who of a cluster does something to objects, and what.
CLAIM = re.compile(
    r"\b(API server|Kubernetes|Kueue|operator|kubelet|webhook|scheduler|namespace)\b"
    r"[^.:]{0,80}\b(refuse|reject|accept|admit|drop|ignore|overwrite|take|wait|make)s?\b"
)
# Sentences of that form which say nothing of what a cluster does to a run.
NOT_OF_OBJECTS = {"shared-namespace", "unconnected-nodes"}


def shown(file: str) -> set[str]:
    """The rules that tests of a file are marked with."""
    found: set[str] = set()
    tree = ast.parse((FOLDER / file).read_text("utf-8"))
    tables = {
        node.target.id: node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        for mark in node.decorator_list:
            if not isinstance(mark, ast.Call) or not ast.unparse(mark.func).endswith("shows"):
                continue
            for word in mark.args:
                if isinstance(word, ast.Constant):
                    found.add(word.value)
                else:
                    assert isinstance(word, ast.Starred)
                    table = tables[ast.unparse(word.value)]
                    assert isinstance(table, ast.Dict)
                    found |= {key.value for key in table.keys if isinstance(key, ast.Constant)}
    return found


def test_every_rule_is_classified() -> None:
    claims = REFUSED | SEEN | set(NOT_SHOWN)
    assert claims | NO_CLAIM == set(registered())
    assert claims & NO_CLAIM == set()


def test_each_refusal_has_a_fault_and_each_fault_a_claim() -> None:
    assert {fault.rule for fault in FAULTS} | shown("test_refusals.py") == REFUSED


def test_what_is_seen_has_a_test_that_says_so() -> None:
    assert shown("test_aftermath.py") | shown("test_policy_changes.py") == SEEN


@pytest.mark.parametrize("rule", sorted(NO_CLAIM - NOT_OF_OBJECTS))
def test_a_rule_without_a_claim_says_nothing_of_a_cluster(rule: str) -> None:
    why = registered()[rule].page.partition("## Why it is bad")[2].partition("##")[0]
    assert CLAIM.search(" ".join(why.split())) is None


def test_every_value_of_the_rules_tables_is_tried_on_the_server() -> None:
    assert set(VALUES) == set(POD_VALUES)
    assert set(NEEDS) == set(POD_NEEDS)
    assert set(FIELDS) == {text for text, *_ in PROBLEMS}
