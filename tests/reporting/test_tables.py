import csv
import io
import json
import math

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from autotune_lab.reporting import tables
from autotune_lab.spaces.config import Config

FRAME = pd.DataFrame(
    {
        "label": ['a,\n"b"', "<script>"],
        "count": pd.array([128, None], dtype="Int64"),
        "time_ms": [0.25, math.nan],
        "bound": [math.inf, -math.inf],
        "config": [Config(BLOCK_M=128, flag=True), Config(BLOCK_M=64, flag=None)],
        "flags": [("noisy",), ()],
        "value": pd.Series([1, None], dtype=object),
    }
)


def test_csv_keeps_whole_numbers_whole_and_missing_empty():
    rows = list(csv.DictReader(io.StringIO(tables.to_csv(FRAME), newline="")))
    assert [row["count"] for row in rows] == ["128", ""]
    assert [row["time_ms"] for row in rows] == ["0.25", ""]
    assert json.loads(rows[0]["config"]) == {"BLOCK_M": 128, "flag": True}
    assert rows[0]["label"] == 'a,\n"b"'
    assert [row["value"] for row in rows] == ["1", ""]


def test_json_is_strict_and_says_null_for_what_is_missing():
    rows = json.loads(tables.to_json(FRAME), parse_constant=lambda word: 1 / 0)
    assert rows[0] == {
        "label": 'a,\n"b"',
        "count": 128,
        "time_ms": 0.25,
        "bound": None,
        "config": {"BLOCK_M": 128, "flag": True},
        "flags": ["noisy"],
        "value": 1,
    }
    assert (rows[1]["count"], rows[1]["time_ms"], rows[1]["value"]) == (None, None, None)


def test_an_empty_frame_has_its_header():
    empty = FRAME.head(0)
    assert tables.to_csv(empty).strip() == ",".join(FRAME.columns)
    assert json.loads(tables.to_json(empty)) == []


@given(st.lists(st.floats() | st.integers(-(2**40), 2**40), max_size=8))
def test_csv_and_json_say_the_same(values):
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    told = [row["x"] for row in json.loads(tables.to_json(frame))]
    read = [row["x"] for row in csv.DictReader(io.StringIO(tables.to_csv(frame)))] if values else []
    if len(values) > 1:  # a lone empty cell is an empty line
        read = [line.strip('"') for line in tables.to_csv(frame).splitlines()[1:]]
    assert [v if v is None else float(v) for v in told] == [
        None if text in ("", '""') else float(text) for text in read
    ] or len(values) == 1


def test_numpy_values_become_plain():
    assert tables.plain(np.int64(3)) == 3
    assert type(tables.plain(np.int64(3))) is int
    assert tables.plain({"a": np.nan, "b": (np.float32(1),)}) == {"a": None, "b": [1.0]}
