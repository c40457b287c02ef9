"""The process agrees with its own formulas where these are easy to work out."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from autotune_lab.samplers.lab import gaussian
from autotune_lab.samplers.lab.gaussian import Constants, GaussianProcess

OWNERS = np.array([0, 1, 1])


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    x = rng.random((30, 3))
    y = np.sin(4 * x[:, 0])
    return x, (y - y.mean()) / y.std()


def test_the_gradient_is_that_of_the_loss(data):
    x, y = data
    differences = (x[:, None] - x) ** 2
    squares = np.array([differences[..., 0], differences[..., 1:].sum(axis=-1)])
    at = np.array([-0.3, 0.2, 0.4, -2.0])
    error = check_grad(
        lambda v: gaussian._loss(v, squares, y)[0],
        lambda v: gaussian._loss(v, squares, y)[1],
        at,
    )
    assert error < 1e-3


def test_fitting_finds_which_parameter_matters(data):
    x, y = data
    expected = Constants.expected(OWNERS)
    fitted, loss = expected.fitted(x, y, 50)
    assert loss < expected.fitted(x, y, 0)[1]
    assert fitted.column_scales[0] < fitted.column_scales[1] == fitted.column_scales[2]


def test_observed_points_are_expected_as_observed_and_others_are_uncertain(data):
    x, y = data
    constants, _ = Constants.expected(OWNERS).fitted(x, y, 50)
    process = GaussianProcess(constants, x, y, 1.0)
    at_observed = process.predict(x)
    far_away = process.predict(np.full((1, 3), 9.0))
    assert np.abs(at_observed.mean - y).max() < 0.1
    assert at_observed.deviation.max() < 0.2 * far_away.deviation[0]


def test_assuming_points_equals_observing_what_is_expected_of_them(data):
    x, y = data
    constants = Constants.expected(OWNERS)
    asked = np.random.default_rng(6).random((8, 3))
    prediction = GaussianProcess(constants, x, y, 1.0).predict(asked)
    means = prediction.mean.copy()
    for position in (2, 5):
        prediction.assume(position)
    told = GaussianProcess(constants, np.vstack([x, asked[[2, 5]]]), np.r_[y, means[[2, 5]]], 1.0)
    assert prediction.deviation == pytest.approx(told.predict(asked).deviation, abs=2e-3)
    assert prediction.deviation[2] < 0.5
