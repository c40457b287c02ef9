"""What is known of a context, as a Gaussian process on capped log times, at a bounded cost."""

import numpy as np
from numpy.typing import NDArray

from autotune_lab.samplers.base import Ledger
from autotune_lab.samplers.lab.encoding import Encoding, Rows
from autotune_lab.samplers.lab.gaussian import Constants, Floats, GaussianProcess, Prediction

POINTS = 256  # observations that a prediction rests on: 10 ms for 4,000 candidates
FITTED_POINTS = 128  # observations that the constants are fitted to: 20 ms
FIRST_STEPS, STEPS = 40, 15  # of L-BFGS
CAP = 2.0  # how far above the best, in distances from best to median, a slow config still counts


class Surrogate:
    """Fitted again as the history grows; the constants less and less often."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._constants = Constants.expected(encoding.owners)
        self._fitted_at = 0

    def predict(self, ledger: Ledger, rows: Rows, rng: np.random.Generator) -> Prediction:
        """Return what is expected of some rows, in logarithms of ms."""
        observed = np.array(ledger.rows)
        targets = capped_logarithms(np.array(ledger.times_ms))
        if self._is_stale(len(observed)):
            chosen = _subset(targets, FITTED_POINTS, rng)
            x, y = self._encoding.points(observed[chosen]), targets[chosen]
            standardised = (y - y.mean()) / (float(y.std()) or 1.0)
            steps = STEPS if self._fitted_at else FIRST_STEPS
            self._constants = self._constants.fitted(x, standardised, steps)
            self._fitted_at = len(observed)
        chosen = _subset(targets, POINTS, rng)
        x = self._encoding.points(observed[chosen])
        process = GaussianProcess(self._constants, x, targets[chosen])
        return process.predict(self._encoding.points(rows))

    def _is_stale(self, count: int) -> bool:
        """Tell whether the history has grown by enough to fit the constants again."""
        patience = 4 if count < 60 else 8 if count < 120 else 16 if count < 500 else 64
        return not self._fitted_at or count - self._fitted_at >= patience


def capped_logarithms(times_ms: Floats) -> Floats:
    """Return log times with the slow ones cut off, and failures as slow as the cut.

    Where the fast configs are is what matters: without the cut the length scales are spent on how
    slow the slow ones are.
    """
    logarithms: Floats = np.log(times_ms)
    ran = np.isfinite(logarithms)
    succeeded = logarithms[ran]
    best, median, worst = succeeded.min(), float(np.median(succeeded)), succeeded.max()
    ceiling = min(worst, best + CAP * (median - best))
    targets: Floats = np.where(ran, np.minimum(logarithms, ceiling), ceiling)
    return targets


def _subset(targets: Floats, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return positions of ``count`` observations: half of them the best, half any others."""
    if len(targets) <= count:
        return np.arange(len(targets))
    order = np.argsort(targets, kind="stable")
    best, others = order[: count // 2], order[count // 2 :]
    return np.sort(np.r_[best, rng.choice(others, count - len(best), replace=False)])
