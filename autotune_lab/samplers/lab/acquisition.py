"""Which of the predicted points to measure next: those of the largest expected improvement."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from autotune_lab.samplers.lab.gaussian import Floats, Prediction

# Below this the surrogate has nothing left to offer, and has been wrong before: on one table it saw
# less than 0.1% to gain for 40 evaluations while a config 25% faster was there to be found.
WORTHWHILE = 0.01
DOUBT_STEP, MOST_DOUBT = 1.5, 50.0
TURNS = 2  # one of them close by

Mask = NDArray[np.bool_]


class Acquisition:
    """Takes one candidate after the other, each given those before it.

    Where none is expected to be worth while, it doubts the surrogate in two ways by turns. Close
    by, it takes what may be best one step from the best configs; far away, it stretches the
    deviations until something is worth while.

    Attributes:
        expected_gain: the most that was expected of any candidate, in logarithms of ms.
    """

    def __init__(
        self, prediction: Prediction, chance: Floats, near_best: Mask, best: float, turn: int
    ) -> None:
        """Look at the first points of a prediction; those after them are being measured.

        Args:
            prediction: it is conditioned on what is taken.
            chance: (candidates,), of each to run at all.
            near_best: (candidates,), which of them are one step from one of the best configs.
            best: what is to be improved on.
            turn: a number that says whose turn it is, close by or far away.
        """
        self._prediction = prediction
        self._chance = chance
        self._near_best = near_best
        self._best = best
        self._turn = turn
        self._left = np.ones(len(near_best), dtype=bool)
        self._doubt = 1.0
        self.expected_gain = float(self._gains(self._left, 1.0).max())

    def take(self) -> int:
        """Return the position of the best candidate that is left."""
        gains = self._gains(self._left, 1.0)
        if self.expected_gain < WORTHWHILE:
            self._turn += 1
            close_by = self._left & self._near_best
            is_close_by = self._turn % TURNS == 0 and close_by.any()
            gains = self._hopes(close_by) if is_close_by else self._doubted_gains()
        position = int(gains.argmax())
        self._left[position] = False
        self._prediction.assume(position)
        return position

    def _hopes(self, among: Mask) -> Floats:
        """Return how good each point is if luck is on its side."""
        count = len(among)
        hopes = self._prediction.deviation[:count] - self._prediction.mean[:count]
        return np.where(among, hopes, -np.inf)

    def _doubted_gains(self) -> Floats:
        gains = self._gains(self._left, self._doubt)
        while gains.max() < WORTHWHILE and self._doubt < MOST_DOUBT:
            self._doubt *= DOUBT_STEP
            gains = self._gains(self._left, self._doubt)
        return gains

    def _gains(self, among: Mask, doubt: float) -> Floats:
        count = len(among)
        deviation = doubt * self._prediction.deviation[:count]
        gains = expected_improvement(self._prediction.mean[:count], deviation, self._best)
        return np.where(among, self._chance * gains, -np.inf)


def expected_improvement(mean: Floats, deviation: Floats, best: float) -> Floats:
    """Return by how much each point is expected to fall below ``best``, none counting as 0."""
    z = (best - mean) / deviation
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    gains: Floats = deviation * (z * ndtr(z) + density)
    return gains
