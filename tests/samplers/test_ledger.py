"""The ledger tells failures, successes and trials without a result apart."""

import numpy as np

from autotune_lab import Space
from autotune_lab.records import TrialState
from autotune_lab.samplers.base import Ledger, Observation
from autotune_lab.spaces.config import Config


def test_reads_what_was_added_and_forgets_nothing():
    space = Space(A=[1, 2, 4, 8]).bind({})
    ledger = Ledger(space)
    history = [
        Observation(Config(A=2), TrialState.OK, 3.5),
        Observation(Config(A=4), TrialState.CRASHED),
        Observation(Config(A=3), TrialState.OK, 0.1),  # of a space that was wider once
    ]
    ledger.read(history)
    history.append(Observation(Config(A=8), TrialState.INTERRUPTED))
    ledger.read(history)
    assert ledger.rows == [1, 2]
    assert ledger.times_ms[0] == 3.5
    assert np.isnan(ledger.times_ms[1])
    assert list(ledger.tried) == [False, True, True, True]
    assert list(ledger.untried([])) == [True, False, False, False]
    assert not ledger.untried([Config(A=1)]).any()
