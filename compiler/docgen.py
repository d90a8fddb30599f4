"""Pages made from the code: one for each rule, their index, and the reference of all fields.

`python -m compiler.docgen` writes them under `docs/`; with `--check` it only says which are stale.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter

from compiler import fields, names
from compiler.policy import cluster, sync, team
from compiler.rules import Registered, registered
from compiler.schemas import MODELS, schemas

DOCS = Path(__file__).parents[1] / "docs"
FAMILIES = {
    "SRC": "Text of a file",
    "DEC": "Shape of declarations and policy",
    "NAM": "Names",
    "RES": "Resources",
    "LCH": "Launch",
    "NET": "Network",
    "STO": "Storage",
    "OPS": "GitOps and cluster",
    "SEC": "Security",
}
# A type's form as the reference calls it; found by its pattern in the schema.
_WORDS: list[tuple[Any, str]] = [
    (fields.Seconds, "duration"),
    (fields.Cpu, "cores"),
    (fields.Memory, "size in bytes"),
    (fields.Price, "decimal number"),
    (fields.Label, "name"),
    (fields.Subdomain, "object name"),
    (fields.EnvName, "variable name"),
    (fields.AbsolutePath, "absolute path"),
    (fields.RelativePath, "path in the repository"),
    (fields.VolumePath, "path in the volume"),
    (fields.SecretRef, "Secret name/key"),
    (fields.QualifiedName, "label or resource name"),
    (fields.LabelValue, "label value"),
    (names.Accelerators, "NAME:COUNT"),
    (names.ImageRef, "image"),
    (names.RunRef, "run, such as r2"),
    (cluster.AcceleratorName, "accelerator name"),
    (cluster.Version, "version"),
    (sync.GitUrl, "git URL"),
    (sync.Branch, "branch"),
    (sync.Server, "URL of an API server"),
    (team.Handle, "GitHub handle"),
]
_REPORT = re.compile(r"(?<![\w/])([\w.-]+/[\w.-]+)#([0-9]+)\b")
_CVE = re.compile(r"\b(CVE-[0-9]{4}-[0-9]+)\b")


def pages() -> dict[str, str]:
    """All generated pages: path below `docs/` and content."""
    rules = sorted(registered().values(), key=lambda rule: rule.rule.code)
    made = {f"rules/{rule.name}.md": rule_page(rule) for rule in rules}
    made["rules/index.md"] = index(rules)
    made["fields.md"] = reference()
    return made


def rule_page(rule: Registered) -> str:
    """The page of a rule: its docstring under a head with what is fixed about it."""
    title, _, body = rule.page.strip().partition("\n")
    facts = rule.rule
    lifted = facts.kind == "policy"
    weight = facts.severity.value + (", unless policy lifts it" if lifted else "")
    head = (
        f"# {facts.code} {rule.name}\n\n{title}\n\n"
        f"Severity: {weight} · looks at: {_stage(rule)} · since {facts.since}\n"
    )
    before, found, references = body.rpartition("## References\n")
    return head + "\n" + (before + found + linked(references)).strip() + "\n"


def linked(text: str) -> str:
    """The text with public reports (`owner/repo#n`, CVE numbers) as links."""
    text = _REPORT.sub(r"[\1#\2](https://github.com/\1/issues/\2)", text)
    return _CVE.sub(r"[\1](https://www.cve.org/CVERecord?id=\1)", text)


def index(rules: Sequence[Registered]) -> str:
    """The list of all rules by family."""
    lines = [
        "# Rules",
        "",
        "`runwright explain CODE` prints the same pages. A rule has a code, which never changes,",
        "and a name, which says what is wrong.",
    ]
    for family, title in FAMILIES.items():
        own = [rule for rule in rules if rule.rule.code.startswith(family)]
        if own:
            lines += ["", f"## {title}", "", "| code | rule | severity | |", "|---|---|---|---|"]
        for rule in own:
            link = f"[{rule.name}]({rule.name}.md)"
            weight = rule.rule.severity.value
            lines.append(f"| {rule.rule.code} | {link} | {weight} | {_cell(rule.title)} |")
    return "\n".join(lines) + "\n"


def _stage(rule: Registered) -> str:
    return {
        "source": "a file by itself or its references",
        "run": "a run, with all defaults",
        "object": "the Kubernetes objects of a run",
        "repository": "all jobs together",
    }[rule.rule.stage]


def reference() -> str:
    """Every field of every file, by file; blocks that several files share follow at the end."""
    made = schemas()
    lines = [
        "# Fields",
        "",
        "Every field of every file that people write. Text may be written without quotes: it keeps",
        "its letters, whatever YAML would make of them. Keys marked * are needed.",
    ]
    blocks: dict[str, dict[str, Any]] = {}
    for name, (_, _, files) in MODELS.items():
        schema = made[name]
        blocks |= schema.get("$defs", {})
        lines += ["", f"## {schema['title']}", "", f"Files: `{files.replace(' and ', '`, `')}`", ""]
        lines += _table(schema)
    for name in sorted(blocks):
        lines += ["", f"## {name}", "", blocks[name].get("description", ""), ""]
        lines += _table(blocks[name])
    return "\n".join(lines) + "\n"


def _table(schema: dict[str, Any]) -> Iterator[str]:
    yield "| key | value | |"
    yield "|---|---|---|"
    needed = schema.get("required", ())
    for key, field in schema.get("properties", {}).items():
        mark = "*" if key in needed else ""
        examples = [_written(example) for example in field.get("examples", ())]
        about = field.get("description", "")
        if examples:
            about += " Such as " + ", ".join(f"`{example}`" for example in examples) + "."
        yield f"| `{key}`{mark} | {_cell(kind(field))} | {_cell(about.strip())} |"


def kind(schema: dict[str, Any]) -> str:
    """What a value may be, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for key in ("oneOf", "anyOf"):
        if key in schema:
            return " or ".join(kind(option) for option in schema[key])
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if schema.get("pattern") in _patterns():
        return _patterns()[schema["pattern"]]
    match schema.get("type"):
        case "boolean":
            return "`true` or `false`"
        case "integer":
            return f"whole number, {schema.get('minimum', 0)} or more"
        case "array":
            return f"list of {_inner(schema['items'])}"
        case "object":
            return _mapping(schema)
        case _:
            return "date" if schema.get("format") == "date" else "text"


def _inner(schema: dict[str, Any]) -> str:
    words = kind(schema)
    return f"({words})" if "oneOf" in schema or "enum" in schema else words


def _mapping(schema: dict[str, Any]) -> str:
    keyed = cast("dict[str, dict[str, Any]]", schema.get("patternProperties", {}))
    for pattern, value in keyed.items():
        return f"mapping of {_patterns().get(pattern, 'text')} to {_inner(value)}"
    value = schema.get("additionalProperties")
    if isinstance(value, dict):
        # The keys are free, their values are not.
        return f"mapping of text to {_inner(cast('dict[str, Any]', value))}"
    return "mapping"


def _patterns() -> dict[str, str]:
    if not _PATTERNS:
        for kind_of_text, words in _WORDS:
            pattern = TypeAdapter[Any](kind_of_text).json_schema().get("pattern")
            if pattern:
                # Two types of one form go by the name of the first.
                _PATTERNS.setdefault(pattern, words)
    return _PATTERNS


_PATTERNS: dict[str, str] = {}


def _written(example: Any) -> str:
    if isinstance(example, dict):
        fields_of = cast("dict[str, Any]", example)
        return "{" + ", ".join(f"{key}: {_written(item)}" for key, item in fields_of.items()) + "}"
    return str(example).lower() if isinstance(example, bool) else str(example)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or with `--check` compare them; 1 where one is stale."""
    made = {DOCS / path: content for path, content in pages().items()}
    stale = [path for path, content in made.items() if _content(path) != content]
    extra = sorted(set((DOCS / "rules").glob("*.md")) - set(made))
    if "--check" in arguments:
        for path in (*stale, *extra):
            print(f"docs/{path.relative_to(DOCS)} is out of date", file=sys.stderr)
        if stale or extra:
            print("  help: run `make docs` and commit what it writes", file=sys.stderr)
        return 1 if stale or extra else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(made[path].encode())
    for path in extra:
        path.unlink()
    return 0


def _content(path: Path) -> str | None:
    return path.read_text("utf-8") if path.is_file() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
