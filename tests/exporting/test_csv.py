import csv
import io

from hypothesis import given, settings
from hypothesis import strategies as st

from autotune_lab.exporting import csv as format_
from autotune_lab.exporting.base import Options, ordered
from autotune_lab.spaces.config import Config

from .samples import pick, picks


@settings(max_examples=30)
@given(st.lists(picks, min_size=1, max_size=4))
def test_a_row_per_winner_with_its_own_time(made):
    text = format_.write(made, options=Options())
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [float(row["median_ms"]) for row in rows] == [p.median_ms for p in ordered(made)]


def test_whole_numbers_stay_whole_where_another_row_has_none():
    made = [pick(Config(BLOCK_M=128)), pick(Config(BLOCK_N=64))]
    rows = list(csv.DictReader(io.StringIO(format_.write(made, options=Options()))))
    assert sorted((row["config.BLOCK_M"], row["config.BLOCK_N"]) for row in rows) == [
        ("", "64"),
        ("128", ""),
    ]
