"""Compiles a constraint's text to closures over a row of values; nothing is ever evaluated as code.

Only what ``_Compiler`` has a method for is understood: names, ``device.`` and ``problem.`` fields,
constants, arithmetic, comparisons, logic, literal lists after ``in``, and calls to ``FUNCTIONS``.
"""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autotune_lab.errors import DefinitionError

Row = Sequence[Any]
Evaluate = Callable[[Row], Any]
Resolve = Callable[[str], Evaluate]

# Bounds that keep a mistyped constraint from hanging the tuner; real ones come nowhere near.
MAX_CHARACTERS = 2000
MAX_DEPTH = 60
MAX_BITS = 4096


def cdiv(a: int, b: int) -> int:
    """Return ``a / b`` rounded up, as ``triton.cdiv`` does."""
    return -(-a // b)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"abs": abs, "cdiv": cdiv, "max": max, "min": min}


@dataclass(frozen=True, slots=True)
class Expression:
    """A constraint's text that was found to be well-formed.

    Attributes:
        text: the text, on one line.
        names: what it reads, in the order of first use; fields are dotted (``device.sm_count``).
    """

    text: str
    names: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "Expression":
        """Check a text and find the names that it reads.

        Raises:
            DefinitionError: it is not an expression, or uses what constraints may not; the message
                names the constraint and the column.
        """
        line = " ".join(text.split())
        names: dict[str, None] = {}

        def note(name: str) -> Evaluate:
            names[name] = None
            return operator.itemgetter(0)

        _Compiler(line, note).compile()
        return cls(line, tuple(names))

    def bind(self, resolve: Resolve) -> Evaluate:
        """Return a function of a row, where ``resolve`` gives the reader of each name."""
        return _Compiler(self.text, resolve).compile()


class _Compiler(ast.NodeVisitor):
    """Turns each node into a closure; a node without a method here is not allowed."""

    def __init__(self, text: str, resolve: Resolve) -> None:
        self._text = text
        self._resolve = resolve
        self._depth = 0

    def compile(self) -> Evaluate:
        if len(self._text) > MAX_CHARACTERS:
            raise self._fault(
                None, f"it is longer than {MAX_CHARACTERS} characters; use a function"
            )
        try:
            tree = ast.parse(self._text, mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            column = getattr(error, "offset", None) or len(self._text) + 1
            reason = getattr(error, "msg", None) or str(error) or type(error).__name__
            where = f"constraint {self._text!r}"
            raise DefinitionError(where, [f"column {column}: {reason}"]) from error
        return self.visit(tree.body)

    def visit(self, node: ast.AST) -> Evaluate:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._fault(node, "it is nested too deeply; use a function")
        evaluate: Evaluate = super().visit(node)
        self._depth -= 1
        return evaluate

    def generic_visit(self, node: ast.AST) -> Evaluate:
        kind = type(node).__name__
        raise self._fault(
            node,
            f"{kind} is not allowed; use names, numbers, arithmetic, comparisons, "
            f"and, or, not, in, {', '.join(FUNCTIONS)}, or write a function",
        )

    def visit_Name(self, node: ast.Name) -> Evaluate:
        if node.id in ("device", "problem"):
            raise self._fault(node, f"name a field of it, as in {node.id}.{_EXAMPLES[node.id]}")
        return self._resolve(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> Evaluate:
        owner = node.value
        if not isinstance(owner, ast.Name) or owner.id not in ("device", "problem"):
            raise self._fault(node, f"only device and problem have fields, {node.attr!r} is none")
        return self._resolve(f"{owner.id}.{node.attr}")

    def visit_Constant(self, node: ast.Constant) -> Evaluate:
        value = node.value
        if not isinstance(value, bool | int | float | str | None):
            raise self._fault(node, f"{value!r} is no number, text, True, False or None")
        return lambda _: value

    def visit_Tuple(self, node: ast.Tuple) -> Evaluate:
        return self._sequence(node.elts)

    def visit_List(self, node: ast.List) -> Evaluate:
        return self._sequence(node.elts)

    def visit_BinOp(self, node: ast.BinOp) -> Evaluate:
        operation = _ARITHMETIC.get(type(node.op))
        if operation is None:
            return self.generic_visit(node.op)
        left, right = self.visit(node.left), self.visit(node.right)
        return lambda row: operation(left(row), right(row))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Evaluate:
        operation, operand = _UNARY[type(node.op)], self.visit(node.operand)
        return lambda row: operation(operand(row))

    def visit_BoolOp(self, node: ast.BoolOp) -> Evaluate:
        *first, last = [self.visit(value) for value in node.values]
        stops_at = isinstance(node.op, ast.Or)

        def evaluate(row: Row) -> Any:
            for operand in first:
                value = operand(row)
                if bool(value) is stops_at:
                    return value
            return last(row)

        return evaluate

    def visit_IfExp(self, node: ast.IfExp) -> Evaluate:
        test, body, other = self.visit(node.test), self.visit(node.body), self.visit(node.orelse)
        return lambda row: body(row) if test(row) else other(row)

    def visit_Compare(self, node: ast.Compare) -> Evaluate:
        left = self.visit(node.left)
        steps = [
            (self._comparison(op, right), self.visit(right))
            for op, right in zip(node.ops, node.comparators, strict=True)
        ]
        if len(steps) == 1:
            compare, right = steps[0]
            return lambda row: compare(left(row), right(row))

        def evaluate(row: Row) -> Any:
            value = left(row)
            for compare, operand in steps:
                following = operand(row)
                if not compare(value, following):
                    return False
                value = following
            return True

        return evaluate

    def visit_Call(self, node: ast.Call) -> Evaluate:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in FUNCTIONS:
            raise self._fault(node, f"only {', '.join(FUNCTIONS)} can be called")
        if node.keywords:
            raise self._fault(node, f"{name} takes no keyword arguments")
        function, arguments = FUNCTIONS[name], [self.visit(item) for item in node.args]
        return lambda row: function(*[argument(row) for argument in arguments])

    def _sequence(self, nodes: list[ast.expr]) -> Evaluate:
        items = [self.visit(item) for item in nodes]
        return lambda row: tuple(item(row) for item in items)

    def _comparison(self, op: ast.cmpop, right: ast.expr) -> Callable[[Any, Any], Any]:
        if isinstance(op, ast.In | ast.NotIn) and not isinstance(right, ast.Tuple | ast.List):
            raise self._fault(right, "write the values after 'in' out, as in (16, 32)")
        is_none = isinstance(right, ast.Constant) and right.value is None
        if isinstance(op, ast.Is | ast.IsNot) and not is_none:
            raise self._fault(right, "'is' is for None; compare values with ==")
        return _COMPARISONS[type(op)]

    def _fault(self, node: ast.AST | None, what: str) -> DefinitionError:
        offset = getattr(node, "col_offset", 0)
        column = len(self._text.encode()[:offset].decode()) + 1
        return DefinitionError(f"constraint {self._text!r}", [f"column {column}: {what}"])


_EXAMPLES = {"device": "sm_count", "problem": "M"}


def _numbers(symbol: str, *operands: Any) -> None:
    for operand in operands:
        if not isinstance(operand, int | float):
            raise TypeError(f"{symbol} needs numbers, got {operand!r}")


def _multiply(a: Any, b: Any) -> Any:
    _numbers("*", a, b)
    return a * b


def _modulo(a: Any, b: Any) -> Any:
    _numbers("%", a, b)
    return a % b


def _power(base: Any, exponent: Any) -> Any:
    _numbers("**", base, exponent)
    is_exact = isinstance(base, int) and isinstance(exponent, int)
    if is_exact and base.bit_length() * abs(exponent) > MAX_BITS:
        raise OverflowError(f"{base} ** {exponent} has more than {MAX_BITS} bits")
    result = base**exponent
    if isinstance(result, complex):
        raise TypeError(f"{base} ** {exponent} is not a real number")
    return result


def _shift_left(a: Any, b: Any) -> Any:
    if isinstance(b, int) and b > MAX_BITS:
        raise OverflowError(f"shift by {b} bits, more than {MAX_BITS}")
    return a << b


_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _multiply,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _modulo,
    ast.Pow: _power,
    ast.LShift: _shift_left,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
