"""The table by column says what the table by entry says, in a fraction of the space."""

import json
import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autotune_lab.definitions import Problem
from autotune_lab.errors import ExportError
from autotune_lab.exporting import json as by_entry
from autotune_lab.exporting import table
from autotune_lab.exporting.base import Options
from autotune_lab.runtime import Table
from autotune_lab.spaces.config import Config
from tests.exporting.samples import A4000, MATMUL, context, pick, picks
from tests.runtime.tables import winner

MANY = 100_000


def contents(text):
    found = Table.parse(text, "test")
    return [
        (name, model, tuple(sorted(problem.items())), entry)
        for name in found
        for model, shelf in found.kernel(name).shelves.items()
        for problem, entry in shelf
    ]


@settings(max_examples=40, deadline=None)
@given(st.lists(picks, min_size=1, max_size=6, unique_by=lambda one: one.context.id))
def test_both_formats_hold_the_same_winners(made):
    options = Options(reaches={one.context.id: 1.5 for one in made[::2]})
    by_column, by_row = (
        contents(module.write(made, options=options)) for module in (table, by_entry)
    )
    assert sorted(map(str, by_column)) == sorted(map(str, by_row))


def test_order_of_picks_does_not_matter():
    made = [winner(m, model=model) for m in (1, 16, 4096) for model in (A4000, context().model)]
    shuffled = random.Random(3).sample(made, len(made))
    assert table.write(made, options=Options()) == table.write(shuffled, options=Options())


def test_portfolio_is_kept():
    portable = Config(BLOCK=32, num_warps=4)
    text = table.write([winner(1)], options=Options(portfolios={MATMUL.id: [portable]}))
    assert Table.parse(text, "test").kernel("matmul").portfolio == (portable,)


def test_tuples_and_booleans_of_problems_come_back():
    problem = Problem(block=(128, 64), is_causal=True, n=1)
    (found,) = contents(table.write([pick(of=context(problem))], options=Options()))
    assert dict(found[2]) == dict(problem)


def many():
    """Write a table of 100,000 winners: a small one with its columns drawn out."""
    document = json.loads(table.write([winner(m) for m in (1, 2)], options=Options()))
    (shelf,) = document["shelves"]
    shelf["values"] = [
        [4096] * MANY if name in "KN" else list(range(1, MANY + 1)) if name == "M" else ["x"] * MANY
        for name in shelf["fields"]
    ]
    for name, column in shelf.items():
        if isinstance(column, list) and name not in ("fields", "values"):
            shelf[name] = (column * MANY)[:MANY]
    return json.dumps(document)


def test_a_hundred_thousand_winners_take_less_than_64_mib():
    text = many()
    tracemalloc.start()
    try:
        kept = Table.parse(text, "test")
        assert len(kept) == MANY
        assert tracemalloc.get_traced_memory()[0] < 64 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("share", [0.2, 0.6, 0.999])
def test_truncated_table_is_one_clear_error(share):
    text = table.write([winner(1)], options=Options())
    with pytest.raises(ExportError, match="cut short"):
        Table.parse(text[: int(len(text) * share)], "test")


def test_columns_of_different_lengths_are_damage():
    document = json.loads(table.write([winner(1), winner(2)], options=Options()))
    document["shelves"][0]["config"].pop()
    with pytest.raises(ExportError, match="damaged"):
        Table.parse(json.dumps(document), "test")


def test_newer_schema_is_refused():
    document = json.loads(table.write([winner(1)], options=Options())) | {"schema_version": 2}
    with pytest.raises(ExportError, match="newer than 1"):
        Table.parse(json.dumps(document), "test")
