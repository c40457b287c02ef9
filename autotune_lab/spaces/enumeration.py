"""Exact enumeration that prunes as it goes: parameters and rules to a matrix of value indices.

Breadth first over the parameters. Each constraint is applied as soon as the last parameter that it
reads is bound, and evaluated once for each distinct combination of the values that it reads, so
that plain Python rules keep their meaning and 10^6 combinations stay cheap.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autotune_lab.errors import DefinitionError
from autotune_lab.spaces.constraint import Constraint
from autotune_lab.spaces.parameter import Parameter

Codes = NDArray[np.uint16]


def enumerate_codes(
    parameters: Sequence[Parameter], rules: Sequence[Constraint], scope: Mapping[str, Any]
) -> tuple[Codes, dict[str, int]]:
    """Return the valid combinations in lexicographic order, and what each rule rejected.

    Args:
        parameters: in the order in which they are bound.
        rules: constraints over parameters and the names in ``scope``.
        scope: values of problem and device fields.

    Returns:
        codes: (valid, parameters) uint16; positions in each parameter's values.
        rejections: rule text -> raw combinations that it was the first to reject.

    Raises:
        DefinitionError: a rule fails for some combination; it is named with the values.
    """
    codes = np.zeros((1, 0), dtype=np.uint16)
    rejections = {rule.text: 0 for rule in rules}
    names = [parameter.name for parameter in parameters]
    waiting = list(rules)
    for bound in range(len(parameters) + 1):
        if bound:
            codes = _extend(codes, len(parameters[bound - 1].values))
        known = set(names[:bound])
        due = [rule for rule in waiting if rule.names & set(names) <= known]
        waiting = [rule for rule in waiting if rule not in due]
        remaining = int(np.prod([len(p.values) for p in parameters[bound:]], dtype=object))
        for rule in due:
            keep = _passes(codes, parameters[:bound], rule, scope)
            rejections[rule.text] += int((~keep).sum()) * remaining
            codes = codes[keep]
    return codes, rejections


def _extend(codes: Codes, count: int) -> Codes:
    """Append a column that runs through all values for every row, keeping lexicographic order."""
    column = np.tile(np.arange(count, dtype=np.uint16), len(codes))
    return np.column_stack([np.repeat(codes, count, axis=0), column])


def _passes(
    codes: Codes, parameters: Sequence[Parameter], rule: Constraint, scope: Mapping[str, Any]
) -> NDArray[np.bool_]:
    """Evaluate a rule on each distinct combination that it reads, and spread the answers."""
    columns = [i for i, parameter in enumerate(parameters) if parameter.name in rule.names]
    if not columns:
        return np.full(len(codes), _holds(rule, dict(scope)), dtype=bool)
    key = np.zeros(len(codes), dtype=np.int64)
    for column in columns:
        key = key * len(parameters[column].values) + codes[:, column]
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    answers = np.empty(len(first), dtype=bool)
    for position, row in enumerate(first):
        values = {
            parameters[column].name: parameters[column].values[codes[row, column]]
            for column in columns
        }
        answers[position] = _holds(rule, {**scope, **values}, values)
    return answers[inverse]


def _holds(
    rule: Constraint, scope: Mapping[str, Any], values: Mapping[str, Any] | None = None
) -> bool:
    try:
        return bool(rule.evaluate(scope))
    except Exception as error:  # a user's rule may raise anything
        shown = " ".join(f"{name}={value}" for name, value in (values or {}).items())
        raise DefinitionError(
            f"constraint {rule.text!r}",
            [f"it fails for {shown or 'this problem'}: {type(error).__name__}: {error}"],
        ) from error
