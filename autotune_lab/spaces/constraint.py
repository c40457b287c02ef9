"""Constraints: what makes a config illegal or not worth trying, with a reason to count."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from autotune_lab.errors import DefinitionError
from autotune_lab.spaces.expression import parse


@dataclass(frozen=True, slots=True)
class Constraint:
    """A rule over parameters, problem fields and ``device.`` fields.

    Attributes:
        text: what reports call it: the expression, or a function's reason.
        names: what it reads.
        evaluate: namespace -> whether a config may pass.
        is_heuristic: what it rejects is legal but not proposed.
    """

    text: str
    names: frozenset[str]
    evaluate: Callable[[Mapping[str, Any]], Any]
    is_heuristic: bool = False


def constraint(
    rule: str | Callable[..., Any], *, reason: str = "", is_heuristic: bool = False
) -> Constraint:
    """Return a constraint from an expression, or from a function of named values.

    Raises:
        DefinitionError: the expression is not allowed, or a function comes without a reason or with
            arguments that are not plain names.
    """
    if isinstance(rule, str):
        parsed = parse(rule)
        return Constraint(reason or rule, parsed.names, parsed.evaluate, is_heuristic)
    where = f"constraint {getattr(rule, '__name__', rule)!r}"
    if not callable(rule):
        raise DefinitionError(where, ["it is neither an expression nor a function"])
    if not reason:
        raise DefinitionError(where, ["a function needs a reason, so that reports can name it"])
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = []
    for name, parameter in inspect.signature(rule).parameters.items():
        if parameter.kind not in kinds:
            raise DefinitionError(where, [f"argument {name!r} must be a plain name"])
        names.append(name)

    def evaluate(scope: Mapping[str, Any]) -> Any:
        return rule(**{name: scope[name] for name in names})

    return Constraint(reason, frozenset(names), evaluate, is_heuristic)
