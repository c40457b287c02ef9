import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune_lab.analysis.convergence import best_so_far, random_search, trials_to_reach
from tests.analysis.making import Table


def test_best_so_far_by_trial():
    made = Table()
    context = made.context("a")
    for config, ms in enumerate([None, 3.0, 4.0, 1.0, 1.02]):
        made.trial(context, config, ms)
    made.trial(context, 5, 0.1, is_eligible=False)
    made.trial(context, 6, state="running")
    other = made.context("b")
    made.trial(other, 0, 7.0)
    history = best_so_far(made.frames()[0])
    best = history[history["context_id"] == context]
    assert best["trials"].tolist() == [1, 2, 3, 4, 5, 6]
    assert best["best_ms"].tolist() == pytest.approx([np.nan, 3, 3, 1, 1, 1], nan_ok=True)
    assert best["device_ms"].tolist()[:5] == pytest.approx([0, 30, 70, 80, 90.2])
    reached = trials_to_reach(history).set_index("context_id")
    assert reached.loc[context, ["trials_needed", "trials", "best_ms"]].tolist() == [4, 6, 1.0]
    assert reached.loc[other, "trials_needed"] == 1


@given(st.lists(st.sampled_from([1.0, 2.0, 5.0, np.nan]), min_size=1, max_size=6))
def test_random_search_equals_the_mean_over_all_orders(times):
    found = random_search(np.array(times), len(times))
    ran = [ms for ms in times if ms == ms]
    if not ran:
        assert np.isnan(found).all()
        return
    for draws in range(1, len(times) + 1):
        bests = [
            min((ms for ms in drawn if ms == ms), default=max(ran))
            for drawn in itertools.combinations(times, draws)
        ]
        assert found[draws - 1] == pytest.approx(sum(bests) / len(bests), abs=1e-12)
