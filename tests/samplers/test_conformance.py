"""Every sampler of the lab holds the contract, found as users find it."""

import pytest

from autotune_lab import plugins
from autotune_lab.testing.samplers import SamplerConformance

OWN = ("exhaustive", "lab", "random", "tpe")


@pytest.mark.parametrize("name", OWN, scope="class")
class TestOwnSamplers(SamplerConformance):
    @pytest.fixture(autouse=True)
    def _module(self, name):
        self.module = plugins.load("samplers", name)

    def create(self, seed):
        return self.module.create(seed)


def test_the_list_above_is_complete():
    assert tuple(plugins.find("samplers")) == OWN
