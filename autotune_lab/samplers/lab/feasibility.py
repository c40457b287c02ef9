"""How likely a config is to run at all, from which ones failed; cheap, and apart from the times.

Told as slow configs, failures bend the surrogate where it matters: the best configs of a GPU often
lie one step from those that ask for too much of it.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from autotune_lab.samplers.lab.encoding import Encoding, Rows
from autotune_lab.samplers.lab.gaussian import Constants, Floats, GaussianProcess

POINTS = 128  # observations that a chance rests on
NOISE = 0.05  # of a failure seen as -1 and a success as 1: the border is never known exactly


def chance_to_run(
    encoding: Encoding,
    observed: Rows,
    ran: NDArray[np.bool_],
    rows: Rows,
    rng: np.random.Generator,
) -> Floats:
    """Return (rows,) chances, 1 everywhere while nothing has failed.

    Args:
        encoding: of the space.
        observed: what was tried, oldest first.
        ran: (observed,), whether it ran.
        rows: what to judge.
        rng: picks those that count where many were tried.
    """
    if ran.all():
        return np.ones(len(rows))
    chosen = np.arange(len(observed))
    if len(chosen) > POINTS:
        chosen = np.sort(rng.choice(chosen, POINTS, replace=False))
    constants = Constants.expected(encoding.owners)
    signs = np.where(ran[chosen], 1.0, -1.0)
    process = GaussianProcess(constants, encoding.points(observed[chosen]), signs, 1.0)
    prediction = process.predict(encoding.points(rows))
    chances: Floats = ndtr(prediction.mean / np.sqrt(prediction.deviation**2 + NOISE))
    return chances
