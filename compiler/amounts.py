"""Amounts of resources as people read them."""

from __future__ import annotations

from fractions import Fraction

GIB = 2**30
_UNITS = (("Gi", GIB), ("Mi", 2**20), ("Ki", 2**10))


def amount(resource: str, value: Fraction) -> str:
    """An amount of a resource as it is read aloud: `188 cores`, `1876Gi`, `8`."""
    if resource == "cpu":
        return f"{decimal(value)} cores"
    return size(value) if resource == "memory" else decimal(value)


def size(value: Fraction) -> str:
    """Bytes in the largest binary unit that keeps them readable: `1876Gi`, `512Mi`."""
    for unit, scale in _UNITS:
        if value >= scale:
            return f"{decimal(value / scale)}{unit}"
    return f"{decimal(value)} bytes"


def decimal(value: Fraction) -> str:
    """A number with at most two decimals, and none that are not needed."""
    if value.denominator == 1:
        return str(value.numerator)
    return f"{float(value):.2f}".rstrip("0").rstrip(".")
