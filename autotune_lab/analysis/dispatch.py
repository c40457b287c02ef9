"""From trials to a rule that names a config for any problem: one config, or a small tree.

The few configs that keep all problems within a loss are chosen first; a tree over the problem's
fields then says which of them serves. Each way is judged on problems that it was not made from.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from autotune_lab.analysis.distance import octaves
from autotune_lab.analysis.matrix import Floats, TimeMatrix
from autotune_lab.analysis.portfolio import portfolios, smallest
from autotune_lab.records import Branch, DecisionRule

MOST_FOLDS = 24
MOST_CONFIGS = 8

Problem = Mapping[str, Any]
Choose = Callable[[Problem], int]


@dataclass(frozen=True, slots=True)
class Question:
    """A column of the tree's features: a number, or whether a field has a value.

    Attributes:
        is_size: all its numbers are positive; then borders lie half-way between two octaves.
    """

    field: str
    value: Any = None
    is_size: bool = False

    def answer(self, problem: Problem) -> float:
        """Return the number, or 1 for yes and 0 for no."""
        held = problem.get(self.field)
        if self.value is not None:
            return float(held == self.value)
        return math.log2(held) if self.is_size and held else float(held or 0)

    def limit(self, threshold: float) -> int | float:
        """Return the largest number that lies below a threshold between answers."""
        return math.floor(2**threshold) if self.is_size else threshold


def rule(
    matrix: TimeMatrix,
    problems: Sequence[Problem],
    *,
    loss: float = 0.05,
    default: int = -1,
) -> DecisionRule:
    """Return the simplest rule whose loss on held-out problems is within a bound.

    If none is, the one with the least mean loss on held-out problems.

    Args:
        matrix: of one kernel on one device; a column for each problem.
        problems: fields of each column's problem.
        loss: the worst loss that is allowed, 1 - efficiency.
        default: row of the default config, or -1.

    Raises:
        ValueError: there is no problem in which anything ran.
    """
    ran = [column for column, winner in enumerate(matrix.winners) if winner >= 0]
    if not ran:
        raise ValueError("nothing ran in any problem, so there is nothing to choose from")
    matrix, problems = matrix.only(ran), [problems[column] for column in ran]
    efficiency = np.nan_to_num(matrix.efficiency, nan=0.0)
    held_out = _held_out(matrix, problems, loss=loss, default=default)
    kind = _simplest(held_out, loss)
    make = _single if kind == "single" else _tree
    root, rows = make(matrix, problems, loss)
    used = sorted(set(_leaves(root)))
    served = [efficiency[rows[_ask(root, p)], column] for column, p in enumerate(problems)]
    return DecisionRule(
        kind=kind,
        configs=tuple(matrix.configs[rows[number]] for number in used),
        root=_renumbered(root, {number: place for place, number in enumerate(used)}),
        problems=len(problems),
        worst_loss=1.0 - float(min(served)),
        held_out=held_out,
        bound=loss,
    )


def choose(rule_: DecisionRule, problem: Problem) -> int:
    """Return the number of the config that a rule names for a problem."""
    return _ask(rule_.root, problem)


def _held_out(
    matrix: TimeMatrix, problems: Sequence[Problem], *, loss: float, default: int
) -> dict[str, tuple[float, float]]:
    """Judge each way on problems that it was not made from."""
    efficiency = np.nan_to_num(matrix.efficiency, nan=0.0)
    losses: dict[str, list[float]] = {}
    for held in _folds(len(problems)):
        kept = [column for column in range(len(problems)) if column not in held]
        if not kept:
            continue
        part, known = matrix.only(kept), [problems[column] for column in kept]
        ways = _ways(part, known, loss)
        for column in held:
            for name, way in ways.items():
                chosen = efficiency[way(problems[column]), column]
                losses.setdefault(name, []).append(1.0 - float(chosen))
    if default >= 0 and not np.isnan(matrix.efficiency[default]).any():
        losses["default"] = list(1.0 - efficiency[default])
    return {name: (max(found), sum(found) / len(found)) for name, found in losses.items()}


def _ways(matrix: TimeMatrix, problems: Sequence[Problem], loss: float) -> dict[str, Choose]:
    single, rows = _single(matrix, problems, loss)
    tree, few = _tree(matrix, problems, loss)

    def nearest(problem: Problem) -> int:
        distances = [octaves(problem, known) for known in problems]
        column = int(np.argmin(distances))
        return int(matrix.winners[column]) if math.isfinite(distances[column]) else rows[0]

    return {
        "single": lambda _: rows[int(_ask(single, {}))],
        "tree": lambda problem: few[_ask(tree, problem)],
        "nearest": nearest,
    }


def _folds(count: int) -> Iterator[set[int]]:
    """Yield the problems to hold out together: one at a time, or every n-th of many."""
    folds = min(count, MOST_FOLDS)
    return (set(range(first, count, folds)) for first in range(folds))


def _simplest(held_out: Mapping[str, tuple[float, float]], loss: float) -> str:
    for name in ("single", "tree"):
        if name not in held_out:
            return "single"
        if held_out[name][0] <= loss:
            return name
    return min(("single", "tree"), key=lambda name: held_out[name][1])


def _single(
    matrix: TimeMatrix, problems: Sequence[Problem], loss: float
) -> tuple[Branch | int, list[int]]:
    del problems, loss
    (one, *_) = portfolios(matrix, most=1)
    return 0, [matrix.row(config.id) for config in one.configs]


def _tree(
    matrix: TimeMatrix, problems: Sequence[Problem], loss: float
) -> tuple[Branch | int, list[int]]:
    """Grow the tree with the fewest leaves that keeps all problems within the loss."""
    found = portfolios(matrix, most=MOST_CONFIGS)
    few = smallest(found, loss) or found[-1]
    rows = [matrix.row(config.id) for config in few.configs]
    efficiency = np.nan_to_num(matrix.efficiency[rows], nan=0.0)
    questions = _questions(problems)
    labels = efficiency.argmax(axis=0)
    one = int(efficiency.min(axis=1).argmax())
    best: Branch | int = one
    best_worst = float(efficiency[one].min())
    features = np.array([[q.answer(p) for q in questions] for p in problems])
    leaves = 2
    while best_worst < 1.0 - loss and questions and leaves <= min(4 * len(rows), len(problems)):
        model = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0)
        model.fit(features, labels)
        root = _node(model.tree_, 0, questions, model.apply(features), efficiency)
        worst = min(
            float(efficiency[_ask(root, problem), column])
            for column, problem in enumerate(problems)
        )
        if worst > best_worst:
            best, best_worst = root, worst
        leaves += 1
    return best, rows


def _questions(problems: Sequence[Problem]) -> list[Question]:
    """List what may be asked: each field that varies."""
    found = []
    for field in dict.fromkeys(name for problem in problems for name in problem):
        values = {problem.get(field) for problem in problems}
        if len(values) < 2:
            continue
        if all(type(value) in (int, float) for value in values):
            is_size = all(type(value) is int and value > 0 for value in values)
            found.append(Question(field, is_size=is_size))
        else:
            known = sorted((value for value in values if value is not None), key=str)
            found += [Question(field, value) for value in known]
    return found


def _node(
    tree: Any, number: int, questions: Sequence[Question], places: Any, efficiency: Floats
) -> Branch | int:
    """Turn a fitted tree into branches; a leaf takes the config with the best worst case in it."""
    if tree.children_left[number] < 0:
        inside = np.flatnonzero(places == number)
        return int(efficiency[:, inside].min(axis=1).argmax())
    question = questions[tree.feature[number]]
    low, high = (
        _node(tree, child[number], questions, places, efficiency)
        for child in (tree.children_left, tree.children_right)
    )
    if low == high:
        return low
    if question.value is not None:
        return Branch(question.field, question.value, yes=high, no=low)
    return Branch(question.field, question.limit(float(tree.threshold[number])), yes=low, no=high)


def _ask(node: Branch | int, problem: Problem) -> int:
    while isinstance(node, Branch):
        held = problem.get(node.field)
        is_number = type(node.limit) in (int, float)
        is_yes = (held or 0) <= node.limit if is_number else held == node.limit
        node = node.yes if is_yes else node.no
    return node


def _leaves(node: Branch | int) -> Iterator[int]:
    if isinstance(node, Branch):
        yield from _leaves(node.yes)
        yield from _leaves(node.no)
    else:
        yield node


def _renumbered(node: Branch | int, numbers: Mapping[int, int]) -> Branch | int:
    if isinstance(node, Branch):
        yes, no = _renumbered(node.yes, numbers), _renumbered(node.no, numbers)
        return Branch(node.field, node.limit, yes, no)
    return numbers[node]
