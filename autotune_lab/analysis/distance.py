"""How far apart two problems are."""

import math
from collections.abc import Mapping
from typing import Any

Problem = Mapping[str, Any]


def octaves(one: Problem, other: Problem) -> float:
    """Return how far two problems are apart: the sum of ``|log2 ratio|`` over positive integers.

    Infinite if they differ in anything else.
    """
    if one.keys() != other.keys():
        return math.inf
    total = 0.0
    for name, value in one.items():
        second = other[name]
        if type(value) is int and type(second) is int and value > 0 and second > 0:
            total += abs(math.log2(value / second))
        elif type(value) is not type(second) or value != second:
            return math.inf
    return total
