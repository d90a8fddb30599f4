"""What a scalar means where a type is wanted.

Text keeps the letters of the file (`1e-5`, `010`, `on`, `2024-01-01`); numbers, flags, durations
and quantities are read strictly. A value of another type is one `wrong-type` fault in our own
words; a value of the right type that breaks a rule carries that rule's name, which
`compiler.validation` turns into the finding.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from datetime import date
from functools import cache

from pydantic_core import PydanticCustomError

from compiler import quantity
from compiler.nodes import Scalar
from compiler.quantity import Quantity
from compiler.suggestions import nearest


def fault(rule: str, message: str, help: str = "", fix: str | None = None) -> PydanticCustomError:
    """An error that `compiler.validation` turns into a finding of `rule`.

    `fix` is the only text that the author can have meant, where there is just one.
    """
    context = {"rule": rule, "message": message, "help": help, "fix": fix}
    return PydanticCustomError("fault", "{message}", context)  # type: ignore[arg-type]


def shown(value: object) -> str:
    """A value as it is named in a message: short, quoted as in the file."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, Scalar) and value.empty:
        return "nothing" if value == "" else f"`{value}`"
    text = str(value)
    text = text if len(text) <= 60 else text[:57] + "..."
    quoted = isinstance(value, Scalar) and value.style in ("'", '"')
    return f'`"{text}"`' if quoted else f"`{text}`"


def letters(value: object, wanted: str) -> str:
    """The letters of a scalar; a fault where the value is no scalar or is left empty."""
    if isinstance(value, Scalar):
        if value.empty:
            raise fault(
                "empty-value",
                f"there is no value here, where {wanted} is wanted",
                'write the value, or `""` for an empty text, or leave the key out'
                if wanted in ("text", "a label's value")
                else "write the value, or leave the key out",
            )
        return str(value)
    if isinstance(value, str):
        return value
    raise fault(
        "wrong-type",
        f"{shown(value)} stands where {wanted} is wanted",
        f"write {wanted}",
    )


def text(value: object) -> str:
    """The letters of any scalar."""
    return letters(value, "text")


_DIGITS = re.compile(r"0|[1-9][0-9]*")


def whole_number(smallest: int, largest: int) -> Callable[[object], int]:
    """A reader of whole numbers within bounds: plain decimal digits, nothing else."""
    wanted = "a whole number" if smallest <= 0 else f"a whole number of {smallest} or more"

    def read(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        word = letters(value, wanted)
        if isinstance(value, Scalar) and not value.plain:
            raise fault(
                "wrong-type",
                f"{shown(value)} is text, because it is quoted; {wanted} is wanted",
                f"write {word} without quotes" if _DIGITS.fullmatch(word) else f"write {wanted}",
                word if _DIGITS.fullmatch(word) else None,
            )
        if not _DIGITS.fullmatch(word):
            raise fault(
                "wrong-type",
                f"{shown(value)} is not {wanted}",
                *_number_help(word, wanted),
            )
        number = int(word) if len(word) < 20 else largest + 1
        if not smallest <= number <= largest:
            raise fault(
                "number-out-of-range",
                f"{shown(value)} is out of range: {smallest} to {largest} is possible",
                f"write a whole number from {smallest} to {largest}",
            )
        return number

    return read


def _number_help(word: str, wanted: str) -> tuple[str, str | None]:
    """What to write for a number in another notation, and that number if there is just one."""
    compact = word.replace("_", "").replace(",", "")
    whole = re.sub(r"\.0*$", "", word)
    for meant in (compact, whole):
        if re.fullmatch(r"[1-9][0-9]{0,15}", meant):
            # A comma may be a decimal one: proposed, never assumed.
            return f"write {meant}", None if "," in word else meant
    if re.fullmatch(r"0[0-9]+", word):
        return f"write {word.lstrip('0') or '0'}: some readers take a leading 0 for octal", None
    return f"write {wanted} in plain decimal digits", None


def flag(value: object) -> bool:
    """True or false, written just so."""
    if isinstance(value, bool):
        return value
    word = letters(value, "true or false")
    if isinstance(value, Scalar) and value.plain and word in ("true", "false"):
        return word == "true"
    yes = {"yes": "true", "on": "true", "y": "true", "true": "true", "1": "true"}
    no = {"no": "false", "off": "false", "n": "false", "false": "false", "0": "false"}
    meant = yes.get(word.lower()) or no.get(word.lower())
    raise fault(
        "wrong-type",
        f"{shown(value)} is not true or false",
        f"write {meant or 'true or false'}",
        meant,
    )


def duration(value: object) -> int:
    """The seconds of a duration such as `24h`; a number without a unit is refused."""
    if isinstance(value, int):
        return value
    word = letters(value, "a duration such as 24h or 90m")
    seconds = quantity.parse_duration(word)
    if seconds is not None and seconds > 0:
        if seconds > 366 * 24 * 3600:
            told = f"{shown(value)} is longer than a year"
            raise fault("bad-duration", told, "write at most 366d")
        return seconds
    if seconds == 0:
        raise fault("bad-duration", f"{shown(value)} is no time at all", "write 1s or more")
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", word):
        raise fault(
            "bad-duration",
            f"{shown(value)} has no unit: seconds, minutes and hours would all be guesses",
            "write {0}h, {0}m or {0}s".format(word.partition(".")[0]),
        )
    clock = re.fullmatch(r"(?:([0-9]+)-)?([0-9]+):([0-9]{1,2})(?::([0-9]{1,2}))?", word)
    if clock:
        days, hours, minutes, seconds_text = (int(part or 0) for part in clock.groups())
        meant = quantity.duration_text(((days * 24 + hours) * 60 + minutes) * 60 + seconds_text)
        raise fault(
            "bad-duration",
            f"{shown(value)} is a clock time: YAML 1.1 readers take it for a number in base 60",
            f"write {meant}",
            # `30:00` may be hours and minutes, or minutes and seconds.
            meant if word.count(":") == 2 or "-" in word else None,
        )
    raise fault(
        "bad-duration",
        f"{shown(value)} is not a duration",
        "write days, hours, minutes or seconds: 7d, 24h, 1h30m, 45s",
    )


def cpu(value: object) -> Quantity:
    """Cores, to a thousandth."""
    if isinstance(value, Quantity):
        return value
    word = letters(value, "a number of cores such as 8 or 500m")
    amount = quantity.parse(word)
    # 4Gi is a quantity, and nobody means so many cores by it.
    if amount is None or re.search(r"[A-DF-Za-df-ln-z]", word):
        raise fault(
            "bad-quantity",
            f"{shown(value)} is not a number of cores",
            "write cores such as 8, 0.5 or 500m (thousandths)",
        )
    if amount.value <= 0 or amount.value * 1000 > quantity.LARGEST:
        raise fault(
            "number-out-of-range",
            f"{shown(value)} is out of range",
            "write more than 0 cores",
        )
    if amount.value * 1000 % 1:
        raise fault(
            "bad-quantity",
            f"{shown(value)} is finer than a thousandth of a core",
            "write thousandths: 500m",
        )
    return amount


# Less than this is a forgotten unit, not a wish.
SMALLEST_SIZE = 2**20


def size(value: object) -> Quantity:
    """A size in bytes; a unit that Kubernetes does not know is refused."""
    if isinstance(value, Quantity):
        return value
    word = letters(value, "a size in bytes such as 64Gi")
    amount = quantity.parse(word)
    if (
        amount is None
        or (amount.value < 1 and amount.value > 0)
        or (word.endswith("m") and amount.value % 1)
    ):
        if word.endswith("m") and amount is not None:
            raise fault(
                "memory-in-milli",
                f"`m` is a thousandth, so {shown(value)} is {float(amount.value):g} bytes",
                f"write {word[:-1]}Mi (2^20 bytes) or {word[:-1]}M (10^6 bytes)",
            )
        spellings = quantity.binary_and_decimal(word)
        options = (
            f"write {spellings[0]} (binary) or {spellings[1]} (decimal)"
            if spellings
            else "write a size such as 64Gi"
        )
        unit = re.sub(r"^[0-9. ]+", "", word)
        why = (
            f"`{unit}` is not a unit that Kubernetes knows"
            if unit and spellings
            else "not a size in bytes"
        )
        if quantity.parse(re.sub(r"\s", "", word)) is not None:
            why = "no space can stand in a size"
        raise fault("bad-quantity", f"{shown(value)}: {why}", options)
    if amount.value <= 0 or amount.value > quantity.LARGEST:
        raise fault(
            "number-out-of-range",
            f"{shown(value)} is out of range",
            "write a size above 0 and below 8Ei",
        )
    if word.endswith("m"):
        raise fault(
            "memory-in-milli",
            f"`m` is a thousandth: {shown(value)} is {float(amount.value):g} bytes",
            f"write {amount.value}",
        )
    if amount.value < SMALLEST_SIZE:
        number = word if word.isdigit() else "64"
        raise fault(
            "bad-quantity",
            f"{shown(value)} is {amount.value} bytes: no program runs in so little",
            f"write the unit, such as {number}Gi or {number}Mi",
        )
    return amount


def shm(value: object) -> Quantity:
    """A size, or 0 for no shared memory volume."""
    if isinstance(value, Scalar) and value.plain and value == "0":
        return Quantity("0", quantity.Fraction(0))
    return size(value)


def price(value: object) -> quantity.Fraction:
    """A price, as an exact fraction."""
    if isinstance(value, quantity.Fraction):
        return value
    word = letters(value, "a price such as 2.95")
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", word):
        raise fault(
            "wrong-type",
            f"{shown(value)} is not a price",
            "write a decimal number such as 2.95",
        )
    return quantity.Fraction(word)


def day(value: object) -> date:
    """A date, year-month-day."""
    if isinstance(value, date):
        return value
    word = letters(value, "a date such as 2026-12-31")
    try:
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", word):
            raise ValueError
        return date.fromisoformat(word)
    except ValueError:
        raise fault(
            "wrong-type",
            f"{shown(value)} is not a date",
            "write year-month-day, such as 2026-12-31",
        ) from None


@cache
def _form(pattern: str) -> re.Pattern[str]:
    """The compiled pattern. Most are never needed, and one takes a third of a millisecond."""
    return re.compile(pattern)


def matching(
    pattern: str, wanted: str, help: str, rule: str = "bad-name", longest: int = 0
) -> Callable[[object], str]:
    """A reader of text that has a form; `wanted` names the form in messages."""

    def read(value: object) -> str:
        word = letters(value, wanted)
        if longest and len(word) > longest:
            raise fault(
                rule,
                f"{shown(value)} has {len(word)} characters; at most {longest} are possible",
                help,
            )
        if not _form(pattern).fullmatch(word):
            message = f"{shown(value)} is not {wanted}"
            if not word.isascii():
                from compiler.lookalikes import latin, strange

                if _form(pattern).fullmatch(meant := latin(word)):
                    raise fault(rule, f"{message}: {strange(word)}", f"write {meant}")
                raise fault(rule, f"{message}: {strange(word)}", help)
            raise fault(rule, message, help)
        return word

    return read


def one_of(*choices: str, meant: Mapping[str, str] | None = None) -> Callable[[object], str]:
    """A reader of one of a few words; `meant` has other tools' words for them."""

    def read(value: object) -> str:
        word = letters(value, "one of " + ", ".join(choices))
        if word not in choices:
            near = (meant or {}).get(word.lower()) or nearest(word, choices)
            rest = ", ".join(choices)
            raise fault(
                "unknown-choice",
                f"{shown(value)} is not {'one of ' if choices[1:] else ''}{rest}",
                f"write {near or ('one of ' if choices[1:] else '') + rest}",
            )
        return word

    return read


# What a shell would act on; such a text needs a shell, and we do not guess which.
_SHELL = re.compile(r"[|&;<>()$`*?\[\]{}~\n!#]|(^|\s)[A-Za-z_][A-Za-z0-9_]*=\S*\s")


def split_command(value: object) -> tuple[str, ...]:
    """The words of a command written as one text, split by shell rules."""
    word = letters(value, "a list of words")
    if _SHELL.search(word.strip()):
        raise fault(
            "bad-command",
            "this text needs a shell (it has variables, pipes, redirection or several commands), "
            "and none runs it",
            'write a list with the shell: [bash, -c, "..."]',
        )
    try:
        words = tuple(shlex.split(word))
    except ValueError:
        raise fault(
            "bad-command",
            "a quote is not closed in this command",
            "write the command as a list of words",
        ) from None
    if not words:
        remedy = "write the program and its arguments, or leave it out"
        raise fault("empty-value", "the command is empty", remedy)
    return words


def secret_reference(pattern: str, longest: int) -> Callable[[object], str]:
    """A reader of `name/key` of a Secret.

    What stands there instead may be the secret itself: it is not repeated in the message.
    """

    def read(value: object) -> str:
        word = letters(value, "a reference to a Secret, as name/key")
        if len(word) > longest or not _form(pattern).fullmatch(word):
            raise fault(
                "bad-secret-reference",
                "this is not a reference to a Secret",
                "write the Secret's name and key as name/key, such as hf/token; "
                "never the value itself",
            )
        return word

    return read
