"""Which config is launched for a problem, and what is said about it."""

import pytest

from autotune_lab.errors import EnvironmentMismatch, ExportError
from autotune_lab.records import KernelIdentity, Resources
from autotune_lab.runtime.decision import Step
from autotune_lab.runtime.ladder import Ladder
from autotune_lab.runtime.policy import Policy
from autotune_lab.runtime.present import Present
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.space import Space
from tests.exporting.samples import A4000, H200, TODAY
from tests.runtime.tables import (
    DEFAULT,
    H100,
    SLICE,
    problem,
    small_environment,
    table,
    winner,
)

CASE = [winner(1), winner(16), winner(4096)]


def ladder(picks=CASE, *, here=H200, reach=4.0, portfolio=(), today=None, **options):
    policy = Policy(
        options.pop("octaves", 1.0),
        options.pop("on_miss", "default"),
        options.pop("on_stale", "use"),
    )
    present = Present(here, today or small_environment())
    kernel = table(picks, reach=reach, portfolio=portfolio).kernel("matmul")
    return Ladder(kernel, present, policy, DEFAULT, **options)


def test_tuned_problem_is_exact():
    found = ladder().decide(problem(16))
    assert (found.step, found.config["BLOCK"], found.stale) == (Step.EXACT, 16, ())


def test_near_problem_is_served_by_the_nearest_and_marked():
    found = ladder().decide(problem(20))
    assert (found.step, found.config["BLOCK"]) == (Step.NEAREST, 16)
    assert found.tuned_problem["M"] == 16
    assert found.distance_octaves == pytest.approx(0.3219, abs=1e-4)
    assert "tuned for" in str(found)


def test_problem_outside_the_tuned_range_gets_the_default():
    found = ladder().decide(problem(100_000))
    assert (found.step, found.config) == (Step.DEFAULT, DEFAULT)
    assert "M=100000 is outside the tuned range 1 to 4096" in found.reason


def test_problem_outside_the_tuned_range_is_an_error_if_asked():
    with pytest.raises(ExportError, match="outside the tuned range"):
        ladder(on_miss="error").decide(problem(100_000))


def test_other_dtype_is_a_miss():
    found = ladder().decide(problem(16, "float16"))
    assert found.step is Step.DEFAULT
    assert "dtype" in found.reason


def test_problem_in_a_gap_gets_the_default():
    assert ladder().decide(problem(256)).step is Step.DEFAULT


@pytest.mark.parametrize("reach", [None, 0.0, 0.25])
def test_neighbour_without_good_evidence_is_not_used(reach):
    found = ladder(reach=reach).decide(problem(20))
    assert (found.step, found.config) == (Step.DEFAULT, DEFAULT)


def test_partial_table_of_small_problems_leaves_large_ones_to_the_default():
    small = [winner(m) for m in (1, 2, 4, 8, 16)]
    for m in (17, 64, 1024, 8192):
        assert ladder(small, octaves=100.0, reach=100.0).decide(problem(m)).step is Step.DEFAULT


def test_same_architecture_and_sm_count_serves_another_card():
    found = ladder(here=H100).decide(problem(16))
    assert (found.step, found.device) == (Step.SAME_ARCHITECTURE, "nvidia-h200")


@pytest.mark.parametrize("here", [SLICE, A4000])
def test_part_of_the_card_and_another_card_are_served_by_nobody(here):
    found = ladder(here=here).decide(problem(16))
    assert (found.step, found.config) == (Step.DEFAULT, DEFAULT)
    assert here.slug in found.reason


def test_portfolio_serves_a_card_that_nothing_was_tuned_on():
    portable = Config(BLOCK=32, num_warps=4)
    found = ladder(here=A4000, portfolio=[portable]).decide(problem(16))
    assert (found.step, found.config) == (Step.PORTFOLIO, portable)


def test_portfolio_does_not_serve_what_is_outside_the_tuned_range():
    found = ladder(portfolio=[Config(BLOCK=32, num_warps=4)]).decide(problem(100_000))
    assert found.step is Step.DEFAULT


def test_config_whose_constraint_fails_for_the_asked_problem_is_refused():
    space = Space(BLOCK=[16, 64], num_warps=[4, 8]).where("BLOCK * 256 <= M * 200")
    found = ladder([winner(16), winner(64)], space=space).decide(problem(20))
    assert found.step is Step.DEFAULT
    assert "rejects it" in found.refused[0]


def test_config_that_can_not_fit_the_present_card_is_refused():
    large = winner(16, resources=Resources(shared_bytes=200_000, threads=256))
    assert ladder([large], here=H100).decide(problem(16)).step is Step.SAME_ARCHITECTURE
    small_card = type(H100)(
        "NVIDIA H100 mini", "nvidia", "sm_90", 132, 2**36, max_shared_bytes=2**16
    )
    found = ladder([large], here=small_card).decide(problem(16))
    assert found.step is Step.DEFAULT
    assert "shared memory" in found.refused[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [({"triton": "3.9.0"}, "triton 3.6.0 -> 3.9.0"), ({"driver": "9.1"}, "driver 575.57 -> 9.1")],
)
def test_stale_winner_is_used_and_marked(change, said):
    found = ladder(today=small_environment(**change)).decide(problem(16))
    assert (found.step, found.stale) == (Step.EXACT, (said,))


def test_stale_winner_is_passed_over_if_asked():
    today = small_environment(triton="3.9.0")
    found = ladder(today=today, on_stale="fallback").decide(problem(16))
    assert found.step is Step.DEFAULT
    assert "stale: triton 3.6.0 -> 3.9.0" in found.refused[0]


def test_stale_winner_is_an_error_if_asked():
    with pytest.raises(EnvironmentMismatch, match=r"triton 3\.6\.0 -> 3\.9\.0"):
        ladder(today=small_environment(triton="3.9.0"), on_stale="error").decide(problem(16))


def test_other_source_is_stale():
    found = ladder(code_hash="beef").decide(problem(16))
    assert found.stale == ("source c0de -> beef",)


def test_winner_of_the_present_software_is_preferred_to_a_newer_one():
    newer = TODAY.__class__(driver="575.57", triton="3.9.0")
    picks = [winner(16), winner(16, environment=newer, config=Config(BLOCK=8, num_warps=4),
                                picked_at="2026-01-01T00:00:00Z")]  # fmt: skip
    assert ladder(picks).decide(problem(16)).config["BLOCK"] == 16
    found = ladder(picks, today=small_environment(triton="3.9.0")).decide(problem(16))
    assert (found.config["BLOCK"], found.stale) == (8, ())


def test_partial_search_loses_to_a_whole_one_whatever_the_order():
    other = KernelIdentity("matmul", "c0de", "4ef0", "matmul")
    whole = winner(16)
    partial = winner(16, kernel=other, config=Config(BLOCK=8, num_warps=4), flags=("partial",),
                     picked_at="2030-01-01")  # fmt: skip
    for picks in ([whole, partial], [partial, whole]):
        assert ladder(picks).decide(problem(16)).config["BLOCK"] == 16
