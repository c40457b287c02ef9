"""The figure of a sweep: a sentence, a frame, a picture that can be drawn of every case."""

import math

import pandas as pd
import pytest

from autotune_lab.reporting.figures.canvas import render
from autotune_lab.reporting.sweeps import finding, sweep_figure, write_sweep


def rows(efficiencies, *, over=None, held=1, parameter="BLOCK"):
    """One row for each efficiency; None does not run."""
    known = [e for e in efficiencies.values() if e is not None]
    return [
        {
            "context_id": str(over), "problem": f"n={over}", "over": over, "parameter": parameter,
            "value": value, "config": None, "state": "ok" if e else "crashed", "reason": "",
            "median_ms": 1 / e if e else math.nan, "low_ms": math.nan, "high_ms": math.nan,
            "rounds": 9, "efficiency": e or math.nan,
            "efficiency_low": e - 0.01 if e else math.nan,
            "efficiency_high": e + 0.01 if e else math.nan,
            "is_held": value == held, "is_best": bool(known) and e == max(known),
            "is_tied": bool(e) and e > 0.97,
        }
        for value, e in efficiencies.items()
    ]  # fmt: skip


ONE = pd.DataFrame(rows({1: 1.0, 2: 0.98, 4: 0.5, 8: None}))
TWO = pd.DataFrame([*rows({1: 1.0, 2: 0.7}, over=64), *rows({1: 0.4, 2: 1.0}, over=128)])


def test_the_sentence_names_the_winner_its_rivals_and_the_price():
    assert finding(ONE) == (
        "BLOCK=1 is the fastest, 1 can’t be told apart from it; the slowest value loses 50%"
    )
    assert finding(TWO, over="n") == (
        "Best BLOCK: 1 at n=64 and 2 at n=128; the wrong one loses up to 60%"
    )
    assert finding(pd.DataFrame(rows({1: None}))) == "No value of BLOCK runs"


def test_the_frame_keeps_every_row_with_what_is_shown():
    figure = sweep_figure(TWO, held="w=4 (the default)", over="n")
    assert list(figure.frame["label"]) == ["n=64", "n=64", "n=128", "n=128"]
    assert list(figure.frame["shown"]) == ["1", "2", "1", "2"]
    assert "w=4 (the default)" in figure.caption
    assert "2 values of BLOCK, 2 lines" in figure.alt


CASES = {
    "one line": ONE,
    "two lines": TWO,
    "one point": pd.DataFrame(rows({1: 1.0})),
    "words": pd.DataFrame(rows({"row": 1.0, "column": 0.5}, held="row")),
    "many long values": pd.DataFrame(rows({f"value-number-{n}": 0.5 + n / 50 for n in range(25)})),
    "many lines": pd.DataFrame([row for n in range(12) for row in rows({1: 1.0, 2: 0.5}, over=n)]),
}


@pytest.mark.parametrize("case", CASES)
def test_every_case_is_drawn_and_twice_the_same(case):
    figure = sweep_figure(CASES[case], held="nothing", over="n" if "lines" in case else "")
    first, second = (render(figure.draw, figure.frame, figure.title) for _ in range(2))
    assert first == second
    assert first[0].startswith(b"<?xml")


def test_the_picture_and_its_data_are_written(tmp_path):
    path = write_sweep(sweep_figure(ONE, held="nothing"), tmp_path / "new")
    assert path.name == "sweep_BLOCK.svg"
    assert sorted(p.suffix for p in path.parent.iterdir()) == [".csv", ".json", ".png", ".svg"]
    assert path.with_suffix(".csv").read_text().splitlines()[1].split(",")[4] == "1"
