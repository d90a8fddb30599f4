"""What must hold between several arguments: `global_batch == micro_batch * world_size`.

A rule is an expression of names, numbers, `+ - * / // %`, comparisons, `and`, `or`, `not` and
parentheses, no more: it is somebody else's text, and is worked out here, never run.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any, cast

from msgspec import Struct

LONGEST = 300
# Known of each run, beside its arguments.
OF_THE_RUN = ("world_size", "nodes", "processes")
_ARITHMETIC: dict[type, tuple[str, int, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", 1, operator.add),
    ast.Sub: ("-", 1, operator.sub),
    ast.Mult: ("×", 2, operator.mul),
    ast.Div: ("/", 2, lambda a, b: a / b),
    ast.FloorDiv: ("//", 2, lambda a, b: a // b),
    ast.Mod: ("%", 2, operator.mod),
}
_COMPARED: dict[type, tuple[str, Callable[[Any, Any], bool]]] = {
    ast.Eq: ("should be", operator.eq),
    ast.NotEq: ("should not be", operator.ne),
    ast.Lt: ("should be below", operator.lt),
    ast.LtE: ("should be at most", operator.le),
    ast.Gt: ("should be above", operator.gt),
    ast.GtE: ("should be at least", operator.ge),
}
Values = Mapping[str, Any]


class BadSum(Exception):
    """Why a rule between arguments cannot be used."""


class Sum(Struct, frozen=True):
    """One rule: `check` must hold where all its names have values.

    `at` names the argument that a finding is about, `message` says why it must hold, `unless` are
    arguments of which none may be given for the rule to be looked at.
    """

    check: str
    tree: Any
    names: tuple[str, ...]
    at: str
    message: str
    unless: tuple[str, ...]

    @classmethod
    def read(cls, row: Any, known: Collection[str]) -> Sum:
        """The rule of a schema's row; raises BadSum."""
        if not isinstance(row, dict):
            raise BadSum("it is no object with a `check`")
        fields = cast("dict[str, Any]", row)
        if extra := set(fields) - {"check", "at", "message", "unless"}:
            raise BadSum(f"there is no `{min(extra)}`")
        text = fields.get("check")
        if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
            raise BadSum(f"`check` is no expression of at most {LONGEST} characters")
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise BadSum(f"`{text}` is no expression") from None
        names: dict[str, None] = {}
        _vet(tree, names, text)
        unless = fields.get("unless", [])
        if not isinstance(unless, list):
            raise BadSum("`unless` is no list of names")
        others = [str(name) for name in cast("list[Any]", unless)]
        own = [name for name in names if name not in OF_THE_RUN]
        at = fields.get("at", own[0] if own else "")
        for name in (*own, at, *others):
            if name not in known:
                raise BadSum(f"`{text}` names `{name}`, which is declared nowhere")
        return cls(text, tree, tuple(names), at, str(fields.get("message", "")), tuple(others))

    def broken(self, values: Values) -> str | None:
        """Why the rule does not hold, with its numbers; None where it does, or a value is none."""
        if any(values.get(name) is None for name in self.names):
            return None
        try:
            if _value(self.tree, values):
                return None
        except (ArithmeticError, TypeError, ValueError):
            return (
                f"{_written(self.tree, None)} cannot be worked out: {_written(self.tree, values)}"
            )
        return _reason(self.tree, values)


def _vet(node: ast.AST, names: dict[str, None], text: str) -> None:
    match node:
        case ast.Name(id=name):
            names[name] = None
        case ast.Constant(value=value) if isinstance(value, (bool, int, float, str)):
            pass
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            _vet(left, names, text)
            _vet(right, names, text)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=inner):
            _vet(inner, names, text)
        case ast.BoolOp(values=parts):
            for part in parts:
                _vet(part, names, text)
        case ast.Compare(left=left, ops=ops, comparators=others) if all(
            type(op) in _COMPARED for op in ops
        ):
            for part in (left, *others):
                _vet(part, names, text)
        case _:
            raise BadSum(f"`{text}` has more than names, numbers, comparisons and arithmetic")


def _value(node: Any, values: Values) -> Any:
    match node:
        case ast.Name(id=name):
            return values[name]
        case ast.Constant(value=value):
            return value
        case ast.BinOp(left=left, op=op, right=right):
            one, other = _value(left, values), _value(right, values)
            if isinstance(one, str) or isinstance(other, str):
                # Text times a number is a text as long as somebody likes.
                raise TypeError("arithmetic with a text")
            return _ARITHMETIC[type(op)][2](one, other)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return not _value(inner, values)
        case ast.UnaryOp(operand=inner):
            return -_value(inner, values)
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_value(part, values) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_value(part, values) for part in parts)
        case ast.Compare(left=left, ops=ops, comparators=others):
            one = _value(left, values)
            for op, right in zip(ops, others, strict=True):
                other = _value(right, values)
                if not _COMPARED[type(op)][1](one, other):
                    return False
                one = other
            return True
        case _:
            raise TypeError(node)


def _reason(node: Any, values: Values) -> str:
    """The first part that does not hold, as names, as numbers, and what should be."""
    match node:
        case ast.BoolOp(op=ast.And(), values=parts):
            return _reason(next(p for p in parts if not _value(p, values)), values)
        case ast.Compare(left=left, ops=ops, comparators=others):
            for op, right in zip(ops, others, strict=True):
                words, holds = _COMPARED[type(op)]
                if not holds(_value(left, values), _value(right, values)):
                    return f"{_told(left, values, ' is ')}, and {words} {_told(right, values)}"
                left = right
        case _:
            pass
    return f"{_written(node, None)} does not hold: {_written(node, values)}"


def _told(node: Any, values: Values, equals: str = " = ") -> str:
    """`a × b = 2 × 3 = 6`, `a is 2` for one name, and a number as it is."""
    if isinstance(node, ast.Constant):
        return _number(node.value)
    result = _number(_value(node, values))
    if isinstance(node, ast.Name):
        return f"{node.id}{equals}{result}"
    return f"{_written(node, None)} = {_written(node, values)} = {result}"


def _written(node: Any, values: Values | None, above: int = 0) -> str:
    """An expression with its names, or with `values` in their place."""
    match node:
        case ast.Name(id=name):
            return name if values is None else _number(values[name])
        case ast.BinOp(left=left, op=op, right=right):
            sign, rank, _ = _ARITHMETIC[type(op)]
            text = f"{_written(left, values, rank)} {sign} {_written(right, values, rank + 1)}"
            return f"({text})" if rank < above else text
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return f"-{_written(inner, values, 3)}"
        case ast.Constant(value=value):
            return _number(value)
        case ast.Compare(left=left, ops=ops, comparators=others):
            signs = [ast.unparse(ast.Compare(ast.Name("a"), [op], [ast.Name("b")])) for op in ops]
            text = _written(left, values, 1)
            for sign, other in zip(signs, others, strict=True):
                text += f" {sign[2:-2]} {_written(other, values, 1)}"
            return text
        case ast.BoolOp(op=op, values=parts):
            word = " and " if isinstance(op, ast.And) else " or "
            return word.join(_written(part, values) for part in parts)
        case ast.UnaryOp(operand=inner):
            return f"not {_written(inner, values)}"
        case _:
            return ""


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)
