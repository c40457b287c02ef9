"""Times as what a surrogate learns: logarithms, slow ones cut off, failures as slow as the cut."""

import numpy as np

from autotune_lab.samplers.lab.gaussian import Floats

CAP = 2.0  # how far above the best, in distances from best to median, a slow config still counts


def capped_logarithms(times_ms: Floats) -> Floats:
    """Return (n,) logarithms of times in ms, NaN meaning a failure; at least one must be a time.

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
