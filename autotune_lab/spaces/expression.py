"""Constraint strings, parsed by ``ast`` to a whitelist and compiled to closures; no ``eval``.

Allowed: names, ``device.x`` and ``problem.x``, constants, arithmetic, comparisons (chained too),
``and``/``or``/``not``, ``in`` with a tuple or list, ``a if c else b``, and the functions of
``FUNCTIONS``.
"""

import ast
import difflib
import operator
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from autotune_lab.errors import DefinitionError

Namespace = Mapping[str, Any]
Closure = Callable[[Namespace], Any]

LARGEST_POWER = 256
NAMESPACES = ("device", "problem")


def cdiv(numerator: int, denominator: int) -> int:
    """Return the quotient rounded up."""
    return -(-numerator // denominator)


def power(base: Any, exponent: Any) -> Any:
    """Return a power whose exponent is small enough to be computed at once.

    Raises:
        ValueError: the exponent is larger than 256.
    """
    if abs(exponent) > LARGEST_POWER or abs(base) > 2**64:
        raise ValueError(f"{base}**{exponent} is too large")
    return base**exponent


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "min": min, "max": max, "abs": abs, "cdiv": cdiv, "int": int,
}  # fmt: skip
BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: power, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
}  # fmt: skip
UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_,
}  # fmt: skip
COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed constraint: its text, the names it reads (``device.x`` as one), and its function."""

    text: str
    names: frozenset[str]
    evaluate: Closure


def parse(text: str) -> Expression:
    """Parse a constraint string.

    Raises:
        DefinitionError: it is not an expression, or uses something that is not allowed.
    """
    where = f"constraint {text!r}"
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        position = f" at column {error.offset}" if isinstance(error, SyntaxError) else ""
        raise DefinitionError(where, [f"it is not an expression{position}"]) from error
    names: set[str] = set()
    try:
        closure = _compile(tree.body, names)
    except (_ForbiddenError, RecursionError) as error:
        raise DefinitionError(where, [str(error) or "it is nested too deeply"]) from None
    return Expression(text, frozenset(names), closure)


def suggest(name: str, known: AbstractSet[str]) -> str:
    """Return ``; did you mean X?`` for a misspelt name, or what names there are."""
    close = difflib.get_close_matches(name, sorted(known), n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known are {', '.join(sorted(known))}"


class _ForbiddenError(Exception):
    """The expression uses something outside the whitelist."""


def _compile(node: ast.expr, names: set[str]) -> Closure:
    """Turn a node into a closure over the names it reads."""
    match node:
        case ast.Constant(value=int() | float() | str() | bool() | None as constant):
            return lambda _: constant
        case ast.Name(id=name):
            names.add(name)
            return lambda scope: scope[name]
        case ast.Attribute(value=ast.Name(id=owner), attr=field) if owner in NAMESPACES:
            full = f"{owner}.{field}" if owner == "device" else field
            names.add(full)
            return lambda scope: scope[full]
        case ast.Tuple(elts=items) | ast.List(elts=items):
            parts = [_compile(item, names) for item in items]
            return lambda scope: tuple(part(scope) for part in parts)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            apply, a, b = BINARY[type(op)], _compile(left, names), _compile(right, names)
            return lambda scope: apply(a(scope), b(scope))
        case ast.UnaryOp(op=unary, operand=operand) if type(unary) in UNARY:
            change, inner = UNARY[type(unary)], _compile(operand, names)
            return lambda scope: change(inner(scope))
        case ast.BoolOp(op=ast.And(), values=values):
            parts = [_compile(value, names) for value in values]
            return lambda scope: all(part(scope) for part in parts)
        case ast.BoolOp(op=ast.Or(), values=values):
            parts = [_compile(value, names) for value in values]
            return lambda scope: any(part(scope) for part in parts)
        case ast.Compare():
            return _compile_comparison(node, names)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            condition, yes, no = (_compile(part, names) for part in (test, body, orelse))
            return lambda scope: yes(scope) if condition(scope) else no(scope)
        case ast.Call(func=ast.Name(id=called), args=arguments, keywords=[]) if called in FUNCTIONS:
            function, parts = FUNCTIONS[called], [_compile(part, names) for part in arguments]
            return lambda scope: function(*(part(scope) for part in parts))
    raise _ForbiddenError(f"{ast.unparse(node)!r} is not allowed in a constraint")


def _compile_comparison(node: ast.Compare, names: set[str]) -> Closure:
    if bad := [op for op in node.ops if type(op) not in COMPARE]:
        raise _ForbiddenError(f"{type(bad[0]).__name__} is not allowed in a constraint")
    operands = [_compile(part, names) for part in (node.left, *node.comparators)]
    tests = [COMPARE[type(op)] for op in node.ops]

    def compare(scope: Namespace) -> bool:
        left = operands[0](scope)
        for test, operand in zip(tests, operands[1:], strict=True):
            right = operand(scope)
            if not test(left, right):
                return False
            left = right
        return True

    return compare
