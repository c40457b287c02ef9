import math

import pytest

from autotune_lab.analysis.roofline import placements
from tests.analysis.making import Table


def place(ms, **facts):
    made = Table()
    defaults = {
        "bytes": 1e9,
        "flops": 1e12,
        "copy_gbs": 4000.0,
        "matmul_tflops": {"bfloat16": 800.0},
        "launch_floor_ms": 0.002,
        "problem": "M=1,dtype=bfloat16",
    }
    made.trial(made.context("a", **(defaults | facts)), 1, ms)
    from tests.analysis.test_transfer import only

    (row,) = placements(only(made), made.frames()[2]).to_dict("records")
    return row


def test_compute_bound_with_the_figure_that_says_so():
    row = place(2.0)
    assert row["intensity"] == 1000.0
    assert row["tflops"] == pytest.approx(500.0)
    assert row["bandwidth_gbs"] == pytest.approx(500.0)
    assert row["tflops_share"] == pytest.approx(0.625)
    assert row["ridge_intensity"] == pytest.approx(200.0)
    assert (row["verdict"], row["reason"]) == (
        "compute-bound",
        "62% of the matmul rate measured here",
    )


def test_memory_bound_latency_bound_and_launch_bound():
    assert place(0.3, flops=1e9)["verdict"] == "memory-bound"
    assert place(50.0)["verdict"] == "latency-bound"
    short = place(0.003, bytes=1e6, flops=1e6)
    assert (short["verdict"], short["reason"]) == (
        "launch-bound",
        "3.0 us is under twice the 2.0 us of an empty launch",
    )


def test_what_is_not_known_is_not_made_up():
    row = place(2.0, bytes=math.nan, matmul_tflops={}, launch_floor_ms=math.nan)
    assert row["verdict"] == "unknown"
    assert math.isnan(row["tflops_share"])
    far_from_memory = place(2.0, matmul_tflops={"float16": 800.0})
    assert (far_from_memory["verdict"], far_from_memory["reason"]) == (
        "unknown",
        "12% of the copy bandwidth measured here, and no matmul of this dtype was measured",
    )
    assert place(2.0, flops=0.0, matmul_tflops={})["verdict"] == "latency-bound"
    by_memory_alone = place(0.3, flops=math.nan)
    assert by_memory_alone["verdict"] == "memory-bound"
