"""Kubernetes quantities and durations as exact numbers.

The grammar of a quantity is that of k8s.io/apimachinery `pkg/api/resource/quantity.go`: a decimal
number with one suffix of `m k M G T P E Ki Mi Gi Ti Pi Ei`, or a decimal exponent. Values are
`Fraction`s, so sums and comparisons never round.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from msgspec import Struct

SUFFIXES: dict[str, Fraction] = {
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
# A quantity is kept as a signed 64-bit number by the API server; beyond it precision is lost.
LARGEST = 2**63 - 1

_NUMBER = re.compile(
    r"([0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE]([+-]?[0-9]{1,3})|([A-Za-z]*))"
)


class Quantity(Struct, frozen=True):
    """A Kubernetes quantity: the letters to write and the exact value (bytes, cores, devices)."""

    text: str
    value: Fraction

    def __str__(self) -> str:
        return self.text

    @lru_cache(maxsize=1024)  # noqa: B019 (a few values, of a few catalogues)
    def times(self, count: int) -> Quantity:
        """This quantity `count` times over, in the same unit where that stays a whole number."""
        match = _NUMBER.fullmatch(self.text)
        suffix = (match.group(3) or "") if match and not match.group(2) else ""
        amount = self.value * count / SUFFIXES[suffix]
        if amount.denominator == 1:
            return Quantity(f"{amount.numerator}{suffix}", self.value * count)
        milli = self.value * count * 1000
        return Quantity(f"{-(-milli.numerator // milli.denominator)}m", self.value * count)


@lru_cache(maxsize=4096)
def parse(text: str) -> Quantity | None:
    """The quantity written in `text`, or None where Kubernetes would not read it as one."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    number, exponent, suffix = match.groups()
    if number.endswith("."):
        number += "0"
    value = Fraction(number)
    if exponent is not None:
        return Quantity(text, value * Fraction(10) ** int(exponent))
    scale = SUFFIXES.get(suffix or "")
    return None if scale is None else Quantity(text, value * scale)


def binary_and_decimal(text: str) -> tuple[str, str] | None:
    """For a size with a misspelt unit (`16gb`, `512mi`, `16GiB`), its two right spellings."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kKmMgGtTpPeE])(?:[iI])?[bB]?", text.strip())
    if match is None:
        return None
    number, letter = match.groups()
    upper = letter.upper()
    return f"{number}{upper}i", f"{number}{'k' if upper == 'K' else upper}"


_DURATION = re.compile(r"(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?")


def parse_duration(text: str) -> int | None:
    """The seconds of a duration such as `24h`, `90m`, `1h30m` or `7d`; None if it is not one."""
    match = _DURATION.fullmatch(text) if text else None
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def duration_text(seconds: int) -> str:
    """Seconds as a duration of a declaration, short: 5400 is `1h30m`, 86400 `24h`."""
    if seconds >= 2 * 86400 and seconds % 86400 == 0:
        return f"{seconds // 86400}d"
    parts: list[str] = []
    for unit, size in (("h", 3600), ("m", 60), ("s", 1)):
        if seconds >= size:
            parts.append(f"{seconds // size}{unit}")
            seconds %= size
    return "".join(parts) or "0s"
