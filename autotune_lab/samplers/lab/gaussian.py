"""A Gaussian process over encoded configs: what is expected of each one, and how sure that is.

Matern 5/2 kernel, one length scale for each parameter, constants by maximum a posteriori. Written
out because scikit-learn's is much slower at its gradient and can't condition on what is pending.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Owners = NDArray[np.intp]

# Priors of the constants' logarithms, as (mean, deviation); targets are standardised.
LENGTH_SCALE, AMPLITUDE, NOISE = (np.log(0.7), 1.0), (0.0, 1.0), (np.log(0.02), 1.5)
JITTER = 1e-6


@dataclass(frozen=True, slots=True)
class Constants:
    """The kernel's constants.

    Attributes:
        logarithms: (parameters + 2,), a length scale for each parameter, the amplitude, the noise.
        owners: (columns,), the parameter that each column of an encoded config belongs to.
    """

    logarithms: Floats
    owners: Owners

    @classmethod
    def expected(cls, owners: Owners) -> "Constants":
        """Return what is believed before anything is measured."""
        scales = np.full(int(owners.max()) + 1, LENGTH_SCALE[0])
        return cls(np.r_[scales, AMPLITUDE[0], NOISE[0]], owners)

    @property
    def column_scales(self) -> Floats:
        """Length scale of each column."""
        scales: Floats = np.exp(self.logarithms[:-2])[self.owners]
        return scales

    @property
    def amplitude(self) -> float:
        """Variance of the function."""
        return float(np.exp(self.logarithms[-2]))

    @property
    def noise(self) -> float:
        """Variance of one measurement."""
        return float(np.exp(self.logarithms[-1]))

    def fitted(self, x: Floats, y: Floats, steps: int) -> tuple["Constants", float]:
        """Return constants that explain ``y`` (n,) at ``x`` (n, columns) better, by L-BFGS.

        The second value is what is left to explain, a negative log posterior: less is better.
        """
        parameters = len(self.logarithms) - 2
        bounds = [(-4.0, 3.0)] * parameters + [(-3.0, 3.0), (-9.0, 0.0)]
        squares = np.zeros((parameters, len(x), len(x)))
        for column, owner in enumerate(self.owners):
            squares[owner] += np.subtract.outer(x[:, column], x[:, column]) ** 2
        found = minimize(
            _loss,
            self.logarithms,
            (squares, y),
            "L-BFGS-B",
            jac=True,
            bounds=bounds,
            options={"maxiter": steps},
        )
        return Constants(np.asarray(found.x), self.owners), float(found.fun)


class GaussianProcess:
    """Constants and observations, ready to predict; ``scale`` is the unit of the constants."""

    def __init__(self, constants: Constants, x: Floats, y: Floats, scale: float) -> None:
        self._constants = constants
        self._location, self._scale = float(y.mean()), scale
        self._x = (x / constants.column_scales).astype(np.float32)
        covariance = constants.amplitude * _matern(_distances(self._x, self._x)).astype(np.float64)
        covariance[np.diag_indices(len(x))] += constants.noise + JITTER
        lower = np.linalg.cholesky(covariance)
        self._inverse = solve_triangular(lower, np.eye(len(x)), lower=True).astype(np.float32)
        self._weights = self._inverse.T @ (
            self._inverse @ ((y - self._location) / self._scale).astype(np.float32)
        )

    def predict(self, x: Floats) -> "Prediction":
        """Return what is expected at ``x`` (m, columns)."""
        amplitude = np.float32(self._constants.amplitude)
        points = (x / self._constants.column_scales).astype(np.float32)
        cross = amplitude * _matern(_distances(points, self._x))
        projected = cross @ self._inverse.T
        return Prediction(
            points=points,
            mean=self._location + self._scale * (cross @ self._weights).astype(np.float64),
            projected=projected,
            variance=amplitude - np.einsum("ij,ij->i", projected, projected),
            constants=self._constants,
            scale=self._scale,
        )


@dataclass(slots=True)
class Prediction:
    """Means and variances at some points, which can be conditioned on points still to be measured.

    Attributes:
        mean: (m,) in the unit of the targets.
        variance: (m,) of standardised targets.
    """

    points: Singles
    mean: Floats
    projected: Singles
    variance: Singles
    constants: Constants
    scale: float
    gains: list[Singles] = field(default_factory=list)

    @property
    def deviation(self) -> Floats:
        """(m,) in the unit of the targets."""
        floor = JITTER * self.constants.amplitude
        deviation: Floats = self.scale * np.sqrt(
            np.maximum(self.variance, floor).astype(np.float64)
        )
        return deviation

    def assume(self, position: int) -> None:
        """Take the point as measured, as expected: its surroundings grow more certain."""
        point = self.points[position : position + 1]
        prior = np.float32(self.constants.amplitude) * _matern(_distances(self.points, point))[:, 0]
        covariance = prior - self.projected @ self.projected[position]
        for gain in self.gains:
            covariance -= gain * gain[position]
        gain = covariance / np.sqrt(max(float(self.variance[position]), 0.0) + self.constants.noise)
        self.variance = self.variance - gain**2
        self.gains.append(gain)


def _distances(a: Singles, b: Singles) -> Singles:
    """Return (n, m) scaled Euclidean distances times the square root of 5."""
    squares = a @ (-2 * b.T)
    squares += np.einsum("ij,ij->i", a, a)[:, None]
    squares += np.einsum("ij,ij->i", b, b)
    np.maximum(squares, 0, out=squares)
    squares *= 5
    roots: Singles = np.sqrt(squares, out=squares)
    return roots


def _matern(r: Singles) -> Singles:
    """Return (1 + r + r^2 / 3) exp(-r)."""
    polynomial = r * np.float32(1 / 3)
    polynomial += 1
    polynomial *= r
    polynomial += 1
    polynomial *= np.exp(-r)
    return polynomial


def _loss(logarithms: Floats, squares: Floats, y: Floats) -> tuple[float, Floats]:
    """Return the negative log posterior of the constants and its gradient.

    ``squares`` (parameters, n, n) are squared differences of each parameter's columns.
    """
    inverse_squares = np.exp(-2 * logarithms[:-2])
    amplitude, noise = np.exp(logarithms[-2:])
    r = np.sqrt(5 * np.tensordot(inverse_squares, squares, 1))
    decay = np.exp(-r)
    kernel = amplitude * (1 + r + r * r / 3) * decay
    try:
        lower = np.linalg.cholesky(kernel + (noise + JITTER) * np.eye(len(y)))
    except np.linalg.LinAlgError:
        return 1e10, np.zeros_like(logarithms)
    half = solve_triangular(lower, np.eye(len(y)), lower=True)
    inverse = half.T @ half
    weights = inverse @ y
    slack = inverse - np.outer(weights, weights)
    slope = slack * (amplitude * 5 / 3) * (1 + r) * decay
    gradient = np.empty_like(logarithms)
    gradient[:-2] = 0.5 * inverse_squares * np.tensordot(squares, slope, 2)
    gradient[-2] = 0.5 * np.sum(slack * kernel)
    gradient[-1] = 0.5 * noise * np.trace(slack)
    centres = np.r_[np.full(len(squares), LENGTH_SCALE[0]), AMPLITUDE[0], NOISE[0]]
    widths = np.r_[np.full(len(squares), LENGTH_SCALE[1]), AMPLITUDE[1], NOISE[1]]
    offsets = (logarithms - centres) / widths
    gradient += offsets / widths
    loss = 0.5 * float(y @ weights) + float(np.log(np.diag(lower)).sum())
    return loss + 0.5 * float(offsets @ offsets), gradient
