"""The types of fields, for the models of declarations and policy."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Tag,
)
from pydantic_core import core_schema

from compiler import quantity
from compiler.paths import absolute_path
from compiler.quantity import Quantity
from compiler.scalars import (
    cpu,
    day,
    duration,
    flag,
    matching,
    one_of,
    price,
    secret_reference,
    shm,
    size,
    split_command,
    text,
    whole_number,
)

TEXT_SCHEMA = {"type": ["string", "number", "boolean"]}
_NUMBER = r"([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})"
_CORES = _NUMBER + r"([eE][+-]?[0-9]{1,3}|[mkMGTPE]|[KMGTPE]i)?"
_SIZE = _NUMBER + r"([eE][+-]?[0-9]{1,3}|[kMGTPE]|[KMGTPE]i)?"
# Plain scalars that are a number or a truth value to YAML, and a text where a text is wanted.
_NUMBERS = ("7", "1.5", "1e5", "-7", "0x1f", "0o17", ".5", ".inf", "+7", "1_000", "1:30")
_TRUTHS = ("true", "False", "on", "NO", "y")


class Form:
    """The JSON Schema of texts that `matching(pattern)` reads, for editors.

    An editor's YAML reader has made a number out of `7` before the schema is asked, so a number
    must pass wherever its letters might. The schema is made when somebody asks for it.
    """

    def __init__(self, pattern: str, longest: int = 0, **more: Any) -> None:
        self.pattern = pattern
        self.longest = longest
        self.more = more

    def schema(self) -> dict[str, Any]:
        form = re.compile(self.pattern)
        kinds = ["string"]
        kinds += ["number"] if any(map(form.fullmatch, _NUMBERS)) else []
        kinds += ["boolean"] if any(map(form.fullmatch, _TRUTHS)) else []
        schema: dict[str, Any] = {"type": kinds if kinds[1:] else "string"}
        # ECMA 262 has no (?P<name>...).
        schema["pattern"] = f"^(?:{re.sub(r'[?]P<[a-z]+>', '', self.pattern)})$"
        if self.longest:
            schema["maxLength"] = self.longest
        return schema | self.more


class Reads:
    """Marks a type with the function that reads it from a node, and with its JSON Schema.

    The same as a `PlainValidator` and a `WithJsonSchema`, which would look at the function's
    signature and at the type itself each time that a model is built.
    """

    def __init__(self, read: Callable[[object], Any], schema: dict[str, Any] | Form) -> None:
        self.read = read
        self.schema = schema

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        made = self.schema
        return made.schema() if isinstance(made, Form) else dict(made)


class Fields(BaseModel):
    """A mapping of a declaration or policy file: unknown keys are refused, values are frozen."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        arbitrary_types_allowed=True,
        populate_by_name=False,
        # A model's validator is built when it is first used: most are only parts of others.
        defer_build=True,
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
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_HELP = (
    "write lower-case letters, digits and hyphens, at most 63, "
    "beginning and ending with a letter or digit"
)

Text = Annotated[str, Reads(text, TEXT_SCHEMA)]
Count = Annotated[
    int,
    Reads(whole_number(1, 10_000_000), {"type": "integer", "minimum": 1, "maximum": 10_000_000}),
]
Whole = Annotated[
    int,
    Reads(whole_number(0, 10_000_000), {"type": "integer", "minimum": 0, "maximum": 10_000_000}),
]
UserId = Annotated[
    int,
    Reads(whole_number(0, 2**31 - 1), {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}),
]
Port = Annotated[
    int,
    Reads(whole_number(1, 65535), {"type": "integer", "minimum": 1, "maximum": 65535}),
]
Flag = Annotated[bool, Reads(flag, {"type": "boolean"})]
Seconds = Annotated[
    int,
    Reads(
        duration,
        {
            "type": "string",
            "pattern": r"^([0-9]{1,9}d)?([0-9]{1,9}h)?([0-9]{1,9}m)?([0-9]{1,9}s)?$",
            "minLength": 2,
            "examples": ["24h", "90m", "1h30m"],
        },
    ),
]
Cpu = Annotated[
    Quantity,
    Reads(cpu, Form(_CORES, exclusiveMinimum=0, examples=[8, "500m"])),
]
Memory = Annotated[
    Quantity,
    Reads(size, Form(_SIZE, exclusiveMinimum=0, examples=["64Gi", "512Mi"])),
]
Shm = Annotated[
    Quantity,
    Reads(shm, Form(_SIZE, minimum=0, examples=["64Gi", 0])),
]
Price = Annotated[
    quantity.Fraction,
    Reads(price, Form(r"[0-9]{1,9}(\.[0-9]{1,9})?", minimum=0, examples=[2.95])),
]
Day = Annotated[date, Reads(day, {"type": "string", "format": "date"})]
Label = Annotated[
    str,
    Reads(matching(_LABEL, "a name", _LABEL_HELP), Form(_LABEL)),
]
Subdomain = Annotated[
    str,
    Reads(
        matching(
            _SUBDOMAIN,
            "the name of a Kubernetes object",
            _LABEL_HELP + "; parts joined by dots",
            longest=253,
        ),
        Form(_SUBDOMAIN, longest=253),
    ),
]
_ENV_NAME = r"[-._a-zA-Z][-._a-zA-Z0-9]*"
EnvName = Annotated[
    str,
    Reads(
        matching(
            _ENV_NAME,
            "the name of an environment variable",
            "write letters, digits and underscores, not beginning with a digit",
        ),
        Form(_ENV_NAME),
    ),
]
# No step . or .. anywhere: [\s\S] is any character, line ends among them.
_ABSOLUTE = r"/(?![\s\S]*(^|/)\.\.?(/|$))(?!\.\.?(/|$))[^:\x00]*"
_RELATIVE = r"(?!/)(?![\s\S]*/\.\.(/|$))(?!\.\.(/|$))[^\\\x00]+"
AbsolutePath = Annotated[str, Reads(absolute_path(_ABSOLUTE), Form(_ABSOLUTE))]
RelativePath = Annotated[
    str,
    Reads(
        matching(
            _RELATIVE,
            "a path inside the repository",
            "write a path from the root of the repository, with / and without `..`",
            rule="bad-path",
        ),
        Form(_RELATIVE),
    ),
]
# As long as Linux takes a path (PATH_MAX, limits.h).
_WITHIN = _RELATIVE.removesuffix("+") + "{1,4095}"
VolumePath = Annotated[
    str,
    Reads(
        matching(
            _WITHIN,
            "a path within the volume",
            "write a path from the root of the volume, with / and without `..`",
            rule="bad-path",
        ),
        Form(_WITHIN),
    ),
]
_SECRET = rf"{_SUBDOMAIN}/[-._a-zA-Z0-9]+"
SecretRef = Annotated[
    str,
    Reads(secret_reference(_SECRET, 506), Form(_SECRET, examples=["hf/token"])),
]
_QUALIFIED = (
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
QualifiedName = Annotated[
    str,
    Reads(
        matching(
            _QUALIFIED,
            "a label or resource name",
            "write name or prefix/name, such as example.com/purpose",
            longest=317,
        ),
        Form(_QUALIFIED, longest=317),
    ),
]
DEVICE = rf"(?=[^/]+/){_QUALIFIED}"
DeviceName = Annotated[
    str,
    Reads(
        matching(
            DEVICE,
            "the resource of a device",
            "write prefix/name as the device plugin calls it, such as nvidia.com/gpu",
            longest=317,
        ),
        Form(DEVICE, longest=317),
    ),
]
# capabilities(7), to Linux 5.9; the container runtimes know ALL besides.
_CAPABILITY = (
    r"ALL|AUDIT_(?:CONTROL|READ|WRITE)|BLOCK_SUSPEND|BPF|CHECKPOINT_RESTORE|CHOWN|DAC_OVERRIDE|"
    r"DAC_READ_SEARCH|FOWNER|FSETID|IPC_LOCK|IPC_OWNER|KILL|LEASE|LINUX_IMMUTABLE|"
    r"MAC_(?:ADMIN|OVERRIDE)|MKNOD|NET_(?:ADMIN|BIND_SERVICE|BROADCAST|RAW)|PERFMON|"
    r"SET(?:FCAP|GID|PCAP|UID)|SYSLOG|SYS_(?:ADMIN|BOOT|CHROOT|MODULE|NICE|PACCT|PTRACE|RAWIO|"
    r"RESOURCE|TIME|TTY_CONFIG)|WAKE_ALARM"
)
Capability = Annotated[
    str,
    Reads(
        matching(
            _CAPABILITY,
            "a capability as Kubernetes calls it",
            "write it in capitals and without CAP_, such as IPC_LOCK",
        ),
        Form(_CAPABILITY, examples=["IPC_LOCK"]),
    ),
]
_REGISTRY = r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*"
RegistryPath = Annotated[
    str,
    Reads(
        matching(
            _REGISTRY,
            "a registry",
            "write host or host/path as images begin with it, without https:// and a last /",
        ),
        Form(_REGISTRY, examples=["registry.example.com/training"]),
    ),
]
_LABEL_VALUE = r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?"
LabelValue = Annotated[
    str,
    Reads(
        matching(
            _LABEL_VALUE,
            "a label's value",
            "write at most 63 letters, digits, - _ and ., a letter or digit at both ends",
        ),
        Form(_LABEL_VALUE),
    ),
]
# Its form and its 15 characters are told by conflicting-ports, of all containers alike.
PortName = Annotated[
    str,
    Reads(
        matching(
            _LABEL,
            "the name of a port",
            "write at most 15 lower-case letters, digits and hyphens, with a letter among them",
        ),
        Form(_LABEL),
    ),
]
Words = Annotated[
    tuple[str, ...],
    Reads(split_command, TEXT_SCHEMA | {"minLength": 1}),
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


class OneOf:
    """Marks a `Literal` of words: read as one of them, refused with the nearest one."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            one_of(*get_args(source)), metadata={"words": get_args(source)}
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        metadata: Any = schema.get("metadata") or {}
        return {"type": "string", "enum": list(metadata["words"])}
