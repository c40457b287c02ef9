"""Kernel Tuner's strategies on a table, by its simulation mode; needs pip install kernel_tuner."""

import contextlib
import io
import json
import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
from tables import Table

KERNEL = "simulated"


def kernel_tuner_run(strategy: str, table: Table, seed: int, budget: int) -> list[int]:
    """Return the rows in the order in which a strategy evaluated them, without repeats."""
    import kernel_tuner
    from constraint import FunctionConstraint

    names = table.space.names
    valid = {tuple(config[name] for name in names) for config in table.space}
    with tempfile.TemporaryDirectory() as folder, _silence():
        cache = Path(folder) / "cache.json"
        cache.write_text(json.dumps(_cache(table)))
        results, _ = kernel_tuner.tune_kernel(
            KERNEL,
            f"__global__ void {KERNEL}() {{}}",
            [1],
            [],
            {p.name: list(p.values) for p in table.space.parameters},
            restrictions=[FunctionConstraint(lambda *values: values in valid)],
            lang="CUDA",
            strategy=strategy,
            strategy_options={"max_fevals": budget},
            simulation_mode=True,
            cache=str(cache),
            quiet=True,
            seed=seed,
        )
    rows = [table.space.index({name: result[name] for name in names}) for result in results]
    return list(dict.fromkeys(rows))[:budget]


def _cache(table: Table) -> dict:
    """Return the table as the cache file that the simulation answers from."""
    entries = {}
    for config, time_ms in zip(table.space, table.times_ms, strict=True):
        values = {name: config[name] for name in table.space.names}
        entry = {**values, "compile_time": 0, "verification_time": 0, "benchmark_time": 0}
        if np.isnan(time_ms):
            entry |= {"time": "RuntimeFailedConfig", "__error__": "RuntimeFailedConfig"}
        else:
            entry |= {"time": float(time_ms), "times": [float(time_ms)]}
        entries[",".join(str(value) for value in values.values())] = entry
    parameters = {p.name: list(p.values) for p in table.space.parameters}
    return {
        "device_name": table.device,
        "kernel_name": KERNEL,
        "problem_size": [1],
        "tune_params_keys": list(parameters),
        "tune_params": parameters,
        "cache": entries,
    }


@contextlib.contextmanager
def _silence():
    """Keep its progress and its warnings off the terminal."""
    with warnings.catch_warnings(), open(os.devnull, "w") as nowhere:  # noqa: PTH123
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(io.StringIO()):
            yield
