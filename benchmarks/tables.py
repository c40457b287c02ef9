"""Tables: every config of a kernel on one GPU with its time, as spaces to search without a GPU."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from autotune_lab import recording
from autotune_lab.samplers.base import PriorTask
from autotune_lab.spaces.bound import BoundSpace
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.parameter import Parameter


@dataclass(frozen=True, eq=False)
class Table:
    """One kernel and problem on one device.

    Attributes:
        times_ms: (rows of the space,), NaN where the config fails.
    """

    kernel: str
    device: str
    space: BoundSpace
    times_ms: NDArray[np.float64]

    @property
    def name(self) -> str:
        """Kernel, problem and device."""
        return f"{self.kernel} {self.device}"

    @property
    def efficiencies(self) -> NDArray[np.float64]:
        """(rows,): the best time over the row's, 0 where it fails."""
        return np.nan_to_num(np.nanmin(self.times_ms) / self.times_ms)

    def as_prior(self) -> PriorTask:
        """Return the whole table as what another context has measured."""
        times = [None if np.isnan(time) else float(time) for time in self.times_ms]
        return PriorTask(list(self.space), times, self.device)


def load(folder: Path) -> list[Table]:
    """Return the tables and recordings of a folder, by name; winners-only files are passed over."""
    tables = [table for path in sorted(folder.glob("*.gz")) for table in read(path)]
    return sorted(tables, key=lambda table: table.name)


def read(path: Path) -> Iterator[Table]:
    """Yield the tables of one file: a compact brute-force table, or a recording of the lab."""
    with gzip.open(path, "rt") as file:
        try:
            document = json.load(file)
        except json.JSONDecodeError:  # JSON lines: a recording
            yield from _recorded(path)
            return
    if {"kernel", "device", "params", "rows"} <= document.keys():
        yield _compact(document)


def _compact(document: dict) -> Table:
    parameters = [Parameter(name, values) for name, values in document["params"].items()]
    names = [parameter.name for parameter in parameters]
    configs = [Config(dict(zip(names, row, strict=False))) for row in document["rows"]]
    times = [row[-1] for row in document["rows"]]
    return _table(document["kernel"], document["device"], parameters, configs, times)


def _recorded(path: Path) -> Iterator[Table]:
    for entry in recording.read(path).contexts:
        space = entry.space
        parameters = [Parameter(n, v, n in space.ordered) for n, v in space.parameters.items()]
        context = entry.context
        yield _table(
            f"{context.kernel.name} {context.problem}",
            context.model.slug,
            parameters,
            [trial.config for trial in entry.trials],
            [trial.screen_ms for trial in entry.trials],
        )


def _table(kernel, device, parameters, configs, times) -> Table:
    space = BoundSpace.from_rows(parameters, configs)
    times_ms = np.full(space.size, np.nan)
    for config, time_ms in zip(configs, times, strict=True):
        if time_ms is not None:
            times_ms[space.index(config)] = time_ms
    return Table(kernel, device, space, times_ms)
