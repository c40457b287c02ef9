"""Launches kernels with the winners of a table: quick, explained, and without a tuner."""

from autotune_lab.runtime.decision import Decision, Step
from autotune_lab.runtime.decorator import tuned
from autotune_lab.runtime.policy import Policy
from autotune_lab.runtime.table import Table

__all__ = ["Decision", "Policy", "Step", "Table", "tuned"]
