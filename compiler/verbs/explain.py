"""`explain`: the page of a rule, or the list of all rules."""

from __future__ import annotations

import argparse

NAME = "explain"
HELP = "print the page of a rule, or list all rules"
NEEDS_REPOSITORY = False


def arguments(parser: argparse.ArgumentParser) -> None:
    """A rule by code or name; none for the list."""
    parser.add_argument("rule", nargs="?", metavar="RULE", help="a code or a name, such as RES403")


def run(options: argparse.Namespace, repository: None) -> int:
    """Print the page; raises CompilerError for a rule that does not exist."""
    import json
    import sys

    from compiler.diagnostics import CompilerError
    from compiler.rules import Registered, lookup, registered
    from compiler.terminal import visible

    def data(rule: Registered) -> dict[str, object]:
        return {
            "code": rule.rule.code,
            "rule": rule.name,
            "severity": rule.rule.severity.value,
            "kind": rule.rule.kind,
            "stage": rule.rule.stage,
            "since": rule.rule.since,
            "sources": list(rule.rule.sources),
            "title": rule.title,
        }

    rules = sorted(registered().values(), key=lambda rule: rule.rule.code)
    if options.format not in ("text", "json"):
        raise CompilerError(
            f"explain has no form `{options.format}`", "write --format text or --format json"
        )
    if options.rule is None:
        if options.format == "json":
            text = json.dumps({"version": 1, "rules": [data(rule) for rule in rules]}, indent=2)
        else:
            longest = max(len(rule.name) for rule in rules)
            text = "\n".join(f"{r.rule.code}  {r.name:<{longest}}  {r.title}" for r in rules)
        sys.stdout.write(text + "\n")
        return 0
    found = lookup(options.rule) or lookup(options.rule.lower().replace("_", "-"))
    if found is None:
        raise CompilerError(f"there is no rule `{visible(options.rule)}`", _nearest(options.rule))
    if options.format == "json":
        text = json.dumps({"version": 1, **data(found), "page": found.page.strip()}, indent=2)
    else:
        severity = found.rule.severity.value
        severity += ", unless policy lifts it" if found.rule.kind == "policy" else ""
        text = f"{found.rule.code} {found.name} ({severity})\n\n{found.page.strip()}"
    sys.stdout.write(text + "\n")
    return 0


def _nearest(wrong: str) -> str:
    from compiler.rules import registered
    from compiler.suggestions import nearest

    rules = registered()
    codes = [rule.rule.code for rule in rules.values()]
    near = nearest(wrong.lower().replace("_", "-"), rules, 0.5)
    near = near or nearest(wrong.upper(), codes)
    return f"write `{near}`" if near is not None else "`runwright explain` lists all rules"
