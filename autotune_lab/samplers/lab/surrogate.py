"""What is known of a context, as a Gaussian process on log times, at a bounded cost.

With sources to learn from, the process explains what they leave unexplained, for as long as that
makes the observations more likely than the process alone does.
"""

import numpy as np
from numpy.typing import NDArray

from autotune_lab.samplers.base import Ledger
from autotune_lab.samplers.lab.encoding import Encoding, Rows
from autotune_lab.samplers.lab.gaussian import Constants, Floats, GaussianProcess, Prediction
from autotune_lab.samplers.lab.prior import Prior
from autotune_lab.samplers.lab.targets import capped_logarithms

POINTS = 256  # observations that a prediction rests on: 10 ms for 4,000 candidates
FITTED_POINTS = 128  # observations that the constants are fitted to: 20 ms
FIRST_STEPS, STEPS = 40, 15  # of L-BFGS
SHARE_DEVIATION = (
    0.5  # of a source's share in the guess, which is believed to be 1 over all sources
)


class Surrogate:
    """Fitted again as the history grows; the constants less and less often.

    Attributes:
        shares: (sources,) how much of each source's losses is expected here; all 0 once the sources
            have turned out to mislead.
    """

    def __init__(self, encoding: Encoding, prior: Prior) -> None:
        self._encoding = encoding
        self._prior = prior
        self._constants = Constants.expected(encoding.owners)
        self._fitted_at = 0
        self.shares: Floats = np.zeros(len(prior.losses))

    def predict(self, ledger: Ledger, rows: Rows, rng: np.random.Generator) -> Prediction:
        """Return what is expected of some rows if they run, in logarithms of ms."""
        times = np.array(ledger.times_ms)
        ran = np.isfinite(times)
        observed = np.array(ledger.rows)[ran]
        targets = capped_logarithms(times[ran])
        if self._is_stale(len(observed)):
            self._fit(observed, targets, rng)
            self._fitted_at = len(observed)
        chosen = _subset(targets, POINTS, rng)
        x, y = self._encoding.points(observed[chosen]), targets[chosen]
        unexplained = y - self._guess(observed[chosen])
        process = GaussianProcess(self._constants, x, unexplained, _scale(y))
        prediction = process.predict(self._encoding.points(rows))
        prediction.mean += self._guess(rows)
        return prediction

    def _is_stale(self, count: int) -> bool:
        """Tell whether the history has grown by enough to fit the constants again."""
        patience = 4 if count < 60 else 8 if count < 120 else 16 if count < 500 else 64
        return not self._fitted_at or count - self._fitted_at >= patience

    def _fit(self, observed: Rows, targets: Floats, rng: np.random.Generator) -> None:
        """Fit the constants, with the sources and without them, and keep what explains more."""
        chosen = _subset(targets, FITTED_POINTS, rng)
        rows, y = observed[chosen], targets[chosen]
        x, scale = self._encoding.points(rows), _scale(y)
        steps = STEPS if self._fitted_at else FIRST_STEPS
        self.shares = np.zeros(len(self._prior.losses))
        constants, loss = self._constants.fitted(x, (y - y.mean()) / scale, steps)
        if len(self._prior.losses):
            shares = _shares(self._prior.losses[:, rows], y)
            rest = y - shares @ self._prior.losses[:, rows]
            other, other_loss = self._constants.fitted(x, (rest - rest.mean()) / scale, steps)
            if other_loss < loss:
                constants, self.shares = other, shares
        self._constants = constants

    def _guess(self, rows: Rows) -> Floats:
        """Return (rows,) by how much the sources say that a row is slower than the best."""
        return np.asarray(self.shares @ self._prior.losses[:, rows], dtype=np.float64)


def _shares(losses: NDArray[np.floating], y: Floats) -> Floats:
    """Return shares (sources,) that explain ``y`` (n,); the fewer data, the nearer to even ones."""
    sources = len(losses)
    even = np.full(sources, 1.0 / sources)
    centred = (losses - losses.mean(axis=1, keepdims=True)).astype(np.float64)
    rest = y - y.mean() - even @ centred
    weight = (float(rest.std()) / SHARE_DEVIATION) ** 2
    correction = np.linalg.solve(
        centred @ centred.T + (weight + 1e-9) * np.eye(sources), centred @ rest
    )
    shares: Floats = np.maximum(even + correction, 0.0)
    return shares


def _scale(y: Floats) -> float:
    return float(y.std()) or 1.0


def _subset(targets: Floats, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return positions of ``count`` observations: half of them the best, half any others."""
    if len(targets) <= count:
        return np.arange(len(targets))
    order = np.argsort(targets, kind="stable")
    best, others = order[: count // 2], order[count // 2 :]
    return np.sort(np.r_[best, rng.choice(others, count - len(best), replace=False)])
