"""Tables for tests: winners of one kernel at some M, each with a config that tells it apart."""

from autotune_lab.definitions import Problem
from autotune_lab.exporting import json as json_format
from autotune_lab.exporting.base import Options
from autotune_lab.records import DeviceModel, Environment
from autotune_lab.runtime import Table
from autotune_lab.spaces.config import Config
from tests.exporting.samples import H200, MATMUL, TODAY, context, pick

DEFAULT = Config(BLOCK=64, num_warps=4)
H100 = DeviceModel("NVIDIA H100", "nvidia", "sm_90", 132, 85_520_809_984, power_limit_w=700)
SLICE = DeviceModel("NVIDIA H200", "nvidia", "sm_90", 16, 18 * 2**30, "1g.18gb")


def problem(m, dtype="bfloat16"):
    return Problem(M=m, N=4096, K=4096, dtype=dtype)


def winner(m, *, model=H200, environment=TODAY, kernel=MATMUL, dtype="bfloat16", **changes):
    made = {"config": Config(BLOCK=m, num_warps=8), "default_config": DEFAULT} | changes
    of = context(problem(m, dtype), model, kernel, environment)
    return pick(made.pop("config"), of=of, **made)


def text(picks, *, reach=None, portfolio=()):
    """Write a table; ``reach`` is every entry's, ``portfolio`` the kernel's."""
    options = Options(
        reaches={} if reach is None else {one.context.id: reach for one in picks},
        portfolios={MATMUL.id: portfolio} if portfolio else {},
    )
    return json_format.write(picks, options=options)


def table(picks, **options):
    return Table.parse(text(picks, **options), "test")


def small_environment(**changes):
    return Environment(**({"driver": TODAY.driver, "triton": TODAY.triton} | changes))
