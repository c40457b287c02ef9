"""What nearly every command imports; only the process that forks commands imports this file."""

import matplotlib.pyplot as plt  # noqa: F401
import optuna  # noqa: F401
import rich.table  # noqa: F401
import seaborn as sns  # noqa: F401
import torch  # noqa: F401
import triton  # noqa: F401

import autotune_lab.cli.app
import autotune_lab.cli.studying
import autotune_lab.reporting.making
import autotune_lab.store.frames  # noqa: F401
