"""The types of fields, for the models of declarations and policy."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    WithJsonSchema,
)

from compiler import quantity
from compiler.quantity import Quantity
from compiler.scalars import (
    cpu,
    day,
    duration,
    flag,
    matching,
    one_of,
    price,
    shm,
    size,
    split_command,
    text,
    whole_number,
)

TEXT_SCHEMA = {"type": ["string", "number", "boolean"]}


class Fields(BaseModel):
    """A mapping of a declaration or policy file: unknown keys are refused, values are frozen."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        arbitrary_types_allowed=True,
        populate_by_name=False,
    )


def shape(value: object) -> str:
    """The tag of a value in a union that is decided by shape."""
    return (
        "<mapping>"
        if isinstance(value, (dict, BaseModel))
        else "<list>"
        if isinstance(value, (list, tuple))
        else "<scalar>"
    )


Scalars = Tag("<scalar>")
Mappings = Tag("<mapping>")
Lists = Tag("<list>")
ByShape = Discriminator(shape)

_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_LABEL_HELP = "write lower-case letters, digits and hyphens, at most 63, beginning and ending with a letter or digit"

Text = Annotated[str, PlainValidator(text), WithJsonSchema(TEXT_SCHEMA)]
Count = Annotated[
    int,
    PlainValidator(whole_number(1, 10_000_000)),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 10_000_000}),
]
Whole = Annotated[
    int,
    PlainValidator(whole_number(0, 10_000_000)),
    WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 10_000_000}),
]
UserId = Annotated[
    int,
    PlainValidator(whole_number(0, 2**31 - 1)),
    WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 2**31 - 1}),
]
Port = Annotated[
    int,
    PlainValidator(whole_number(1, 65535)),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 65535}),
]
Flag = Annotated[bool, PlainValidator(flag), WithJsonSchema({"type": "boolean"})]
Seconds = Annotated[
    int,
    PlainValidator(duration),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^(\d+d)?(\d+h)?(\d+m)?(\d+s)?$",
            "minLength": 2,
            "examples": ["24h", "90m", "1h30m"],
        }
    ),
]
Cpu = Annotated[
    Quantity,
    PlainValidator(cpu),
    WithJsonSchema({"type": ["number", "string"], "examples": [8, "500m"]}),
]
Memory = Annotated[
    Quantity,
    PlainValidator(size),
    WithJsonSchema({"type": ["integer", "string"], "examples": ["64Gi", "512Mi"]}),
]
Shm = Annotated[
    Quantity,
    PlainValidator(shm),
    WithJsonSchema({"type": ["integer", "string"], "examples": ["64Gi", 0]}),
]
Price = Annotated[
    quantity.Fraction,
    PlainValidator(price),
    WithJsonSchema({"type": ["number", "string"], "examples": [2.95]}),
]
Day = Annotated[date, PlainValidator(day), WithJsonSchema({"type": "string", "format": "date"})]
Label = Annotated[
    str,
    PlainValidator(matching(_LABEL, "a name", _LABEL_HELP)),
    WithJsonSchema({"type": "string", "pattern": f"^{_LABEL}$"}),
]
Subdomain = Annotated[
    str,
    PlainValidator(
        matching(
            rf"{_LABEL}(\.{_LABEL})*",
            "the name of a Kubernetes object",
            _LABEL_HELP + "; parts joined by dots",
            longest=253,
        )
    ),
    WithJsonSchema({"type": "string", "pattern": rf"^{_LABEL}(\.{_LABEL})*$", "maxLength": 253}),
]
EnvName = Annotated[
    str,
    PlainValidator(
        matching(
            r"[-._a-zA-Z][-._a-zA-Z0-9]*",
            "the name of an environment variable",
            "write letters, digits and underscores, not beginning with a digit",
        )
    ),
    WithJsonSchema({"type": "string", "pattern": r"^[-._a-zA-Z][-._a-zA-Z0-9]*$"}),
]
AbsolutePath = Annotated[
    str,
    PlainValidator(
        matching(
            r"/(?!.*(^|/)\.\.?(/|$))[^:\x00]*",
            "an absolute path",
            "write a path that begins with / and has no `..` and no colon",
            rule="bad-path",
        )
    ),
    WithJsonSchema({"type": "string", "pattern": "^/[^:]*$"}),
]
RelativePath = Annotated[
    str,
    PlainValidator(
        matching(
            r"(?!/)(?!.*(^|/)\.\.(/|$))[^\\\x00]+",
            "a path inside the repository",
            "write a path from the root of the repository, with / and without `..`",
            rule="bad-path",
        )
    ),
    WithJsonSchema({"type": "string", "pattern": "^[^/].*$"}),
]
SecretRef = Annotated[
    str,
    PlainValidator(
        matching(
            rf"{_LABEL}(\.{_LABEL})*/[-._a-zA-Z0-9]+",
            "a reference to a Secret",
            "write the Secret's name and key as name/key, such as hf/token; never the value itself",
            rule="bad-secret-reference",
        )
    ),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^[a-z0-9][-.a-z0-9]*/[-._a-zA-Z0-9]+$",
            "examples": ["hf/token"],
        }
    ),
]
_QUALIFIED = (
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
QualifiedName = Annotated[
    str,
    PlainValidator(
        matching(
            _QUALIFIED,
            "a label or resource name",
            "write name or prefix/name, such as example.com/purpose",
            longest=317,
        )
    ),
    WithJsonSchema({"type": "string", "pattern": f"^{_QUALIFIED}$"}),
]
LabelValue = Annotated[
    str,
    PlainValidator(
        matching(
            r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?",
            "a label's value",
            "write at most 63 letters, digits, - _ and ., beginning and ending with a letter or digit",
        )
    ),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
Words = Annotated[
    tuple[str, ...],
    PlainValidator(split_command),
    WithJsonSchema({"type": "string", "minLength": 1}),
]
Command = Annotated[
    Annotated[Words, Scalars] | Annotated[list[Text], Field(min_length=1), Lists],
    ByShape,
]


def described(
    description: str, *, alias: str | None = None, examples: list[Any] | None = None
) -> Any:
    """An optional field with the description that editors and the schema pages show."""
    return Field(default=None, alias=alias, description=description, examples=examples)


def choice(*words: str) -> Any:
    """The type of a field that holds one of a few words."""
    schema = {"type": "string", "enum": list(words)}
    return Annotated[str, PlainValidator(one_of(*words)), WithJsonSchema(schema)]
