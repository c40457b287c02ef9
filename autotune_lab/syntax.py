"""Finds the syntax tree of a function or class that is loaded, and describes trees for hashing.

The description leaves out positions, comments, blank lines and docstrings, and is the same under
every Python version that the lab supports.
"""

import ast
import copy
import functools
import linecache
import sys
import types
from collections.abc import Iterator
from typing import Any

from autotune_lab.errors import DefinitionError

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_IGNORED_FIELDS = frozenset({"ctx", "kind", "type_comment"})


def function_node(function: types.FunctionType) -> FunctionNode:
    """Return the definition of a function, decorators included.

    Raises:
        DefinitionError: its source is in no file, so that no other process could import it either.
    """
    code = function.__code__
    tree = _tree_of(code.co_filename)
    found = [] if tree is None else [n for n in ast.walk(tree) if _starts_as(n, code)]
    if len(found) > 1 and code.co_name == "<lambda>":
        found = sorted(found, key=lambda node: _misfit(node, code))
    if not found:
        raise DefinitionError(
            f"function {function.__qualname__!r}",
            [f"{code.co_filename} can't be read; move it to a file, search_spaces/<kernel>.py"],
        )
    return found[0]  # type: ignore[return-value]


def class_node(kind: type) -> ast.ClassDef | None:
    """Return the definition of a class, or None if its source can't be found."""
    path = getattr(sys.modules.get(kind.__module__), "__file__", None)
    node: ast.AST | None = _tree_of(path) if path else None
    for name in kind.__qualname__.split("."):
        body = getattr(node, "body", ())
        node = next((n for n in body if isinstance(n, ast.ClassDef) and n.name == name), None)
    return node if isinstance(node, ast.ClassDef) else None


def without_decorator(node: FunctionNode, name: str) -> FunctionNode:
    """Return a function's tree without decorators that are calls of something of that name."""
    if isinstance(node, ast.Lambda):
        return node
    kept = [d for d in node.decorator_list if _called_name(d) != name]
    if len(kept) == len(node.decorator_list):
        return node
    bare = copy.copy(node)
    bare.decorator_list = kept
    return bare


def _called_name(node: ast.expr) -> str:
    called = node.func if isinstance(node, ast.Call) else None
    return getattr(called, "attr", "") or getattr(called, "id", "")


def shape(node: Any) -> Any:
    """Describe a tree as nested lists; equal descriptions mean equal code."""
    if isinstance(node, ast.AST):
        fields = [
            [name, shape(value)]
            for name, value in ast.iter_fields(node)
            if name not in _IGNORED_FIELDS and value is not None and value != []
        ]
        return [type(node).__name__, *fields]
    if isinstance(node, list):
        return [shape(item) for item in _without_docstring(node)]
    return [type(node).__name__, repr(node)]


def dotted_names(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """Yield each name that a tree reads, with the attributes that follow it: ``("tl", "load")``."""
    for inner in ast.walk(node):
        attributes: list[str] = []
        while isinstance(inner, ast.Attribute):
            attributes.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
            yield inner.id, *reversed(attributes)


def own_names(node: ast.AST) -> set[str]:
    """Return what a function binds in its own scope: arguments, assignments, loop variables.

    What only an inner function or comprehension binds is left out, since the same name may be read
    from outside elsewhere: reading one name too many is the safe mistake.
    """
    names: set[str] = set()
    arguments = getattr(node, "args", None)
    if isinstance(arguments, ast.arguments):
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        names |= {a.arg for a in (*every, arguments.vararg, arguments.kwarg) if a is not None}
    body = getattr(node, "body", ())
    pending: list[ast.AST] = [*body] if isinstance(body, list) else []
    while pending:
        inner = pending.pop()
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(inner.name)
        elif not isinstance(inner, _SCOPES):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                names.add(inner.id)
            pending.extend(ast.iter_child_nodes(inner))
    return names


def _tree_of(path: str) -> ast.Module | None:
    text = "".join(linecache.getlines(path))
    return _parse(text) if text else None


@functools.lru_cache(maxsize=64)
def _parse(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:
        return None


def _starts_as(node: ast.AST, code: types.CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name != code.co_name:
        return False
    return code.co_firstlineno in (node.lineno, *(d.lineno for d in node.decorator_list[:1]))


def _misfit(node: ast.AST, code: types.CodeType) -> int:
    """Count instructions that lie outside a lambda's body, to tell several on one line apart.

    A nested lambda is its own code, so the innermost body that holds all instructions is the right
    one; its length breaks the tie.
    """
    assert isinstance(node, ast.Lambda)
    body = node.body
    start = (body.lineno, body.col_offset)
    end = (body.end_lineno or 0, body.end_col_offset or 0)
    outside = sum(
        1
        for line, end_line, column, end_column in code.co_positions()
        if None not in (line, end_line, column, end_column)
        and (line, column) != (code.co_firstlineno, 0)
        and not (start <= (line, column) and (end_line, end_column) <= end)
    )
    width = (end[0] - start[0]) * 10_000 + end[1] - start[1]
    return outside * 1_000_000_000 + width


def _without_docstring(body: list[Any]) -> list[Any]:
    """Drop a text that stands alone as the first statement of a body."""
    first = body[0] if body else None
    is_text = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    return body[1:] if is_text else body
