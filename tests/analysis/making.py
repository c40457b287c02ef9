"""Hand-made trials and frames with the columns of ``store.frames``."""

import math
from itertools import count

import numpy as np
import pandas as pd

from autotune_lab.analysis.matrix import (
    DOES_NOT_RUN,
    MEASURED,
    NOT_MEASURED,
    Column,
    TimeMatrix,
)
from autotune_lab.definitions import Problem
from autotune_lab.records import (
    Context,
    DeviceModel,
    Environment,
    KernelIdentity,
    Measurement,
    Phase,
    Protocol,
    Resources,
    Source,
    SpaceSnapshot,
    Trial,
    TrialState,
)
from autotune_lab.spaces.config import Config

H200 = DeviceModel("NVIDIA H200", "nvidia", "sm_90", 132, 150_754_820_096, max_shared_bytes=232_448)


def context(timer="events", **changes):
    return Context(
        kernel=KernelIdentity("matmul", "c0de"),
        problem=Problem(M=4096, dtype="bfloat16"),
        model=H200,
        environment=Environment(triton="3.6.0"),
        protocol=Protocol(timer=timer, **changes),
        source=Source.GPU,
    )


def screen(ms, *, low=None, high=None, flags=()):
    return Measurement(Phase.SCREEN, (), ms, low_ms=low, high_ms=high, flags=flags)


def rounds(times, *, first=1, flags=()):
    return tuple(
        Measurement(Phase.PLAYOFF, (), ms, round=number, flags=flags)
        for number, ms in enumerate(times, start=first)
    )


def trial(block, ms=None, *, played=(), state=TrialState.OK, reason="", flags=(), **needs):
    look = () if ms is None else (screen(ms, flags=flags),)
    return Trial(
        context_id="c",
        config=Config(BLOCK=block),
        state=state,
        reason=reason,
        resources=Resources(**needs) if needs else None,
        measurements=(*look, *rounds(played)),
    )


class Table:
    """Builds the three frames of a little store, row by row."""

    def __init__(self):
        self.numbers = count(1)
        self.trials, self.measurements, self.contexts = [], [], {}

    def context(self, device="h200", problem="M=4096", environment="triton-3.6", **columns):
        """Add a context, or find it; returns its id."""
        context_id = columns.pop("context_id", f"{device}/{problem}/{environment}")
        fields = dict(item.split("=") for item in problem.split(","))
        self.contexts.setdefault(
            context_id,
            {
                "context_id": context_id,
                "kernel": "matmul",
                "code_hash": "c0de",
                "reference_hash": "",
                "problem": problem,
                "problem_fields": fields,
                "device_model": device,
                "device_model_id": f"id-{device}",
                "device_name": device.upper(),
                "architecture": "sm_90",
                "sm_count": 132,
                "partition": "",
                "environment_id": environment,
                "triton": environment,
                "driver": "575",
                "protocol_id": "p",
                "source": "gpu",
                "bytes": math.nan,
                "flops": math.nan,
                "space": SpaceSnapshot({}, (), (), 0),
                "copy_gbs": math.nan,
                "matmul_tflops": {},
                "launch_floor_ms": math.nan,
                "runs": 1,
                "model": H200,
            }
            | columns,
        )
        return context_id

    def trial(self, context_id, config, ms=None, *, state=None, **columns):
        """Add a trial; without a time it is a launch error."""
        config = config if isinstance(config, Config) else Config(c=config)
        state = state or ("ok" if ms is not None else "launch_error")
        trial_id = next(self.numbers)
        known = self.contexts[context_id]
        self.trials.append(
            {
                "trial_id": trial_id,
                "run_id": 1,
                "study": "s",
                "device_uuid": "GPU-1",
                "config_id": config.id,
                "config": config,
                "number": trial_id,
                "attempt": 1,
                "state": state,
                "reason": "",
                "time_ms": math.nan if ms is None or state != "ok" else ms,
                "low_ms": math.nan,
                "high_ms": math.nan,
                "samples": 10,
                "flags": (),
                "is_eligible": state == "ok",
                "shared_bytes": None,
                "registers": None,
                "spill_bytes": None,
                "threads": None,
                "finished_at": f"2026-01-01T00:00:{trial_id % 60:02d}",
            }
            | {name: known[name] for name in TRIAL_CONTEXT}
            | columns
        )
        return trial_id

    def measure(self, context_id, config, phase, times, *, is_eligible=True):
        """Add one measurement a round."""
        config = config if isinstance(config, Config) else Config(c=config)
        for number, ms in enumerate(times, start=1):
            self.measurements.append(
                {
                    "trial_id": 0,
                    "context_id": context_id,
                    "config_id": config.id,
                    "phase": phase,
                    "round": number if phase == "playoff" else 0,
                    "median_ms": ms,
                    "low_ms": ms,
                    "high_ms": ms,
                    "samples": 10,
                    "flags": (),
                    "is_eligible": is_eligible,
                    "sm_clock_mhz": None,
                    "power_w": np.nan,
                    "temperature_c": None,
                    "taken_at": "",
                }
            )

    def frames(self):
        """Return trials, measurements, contexts."""
        trials = pd.DataFrame(self.trials)
        for name in ("shared_bytes", "registers", "spill_bytes", "threads"):
            trials[name] = trials[name].astype("Int64")
        measured = pd.DataFrame(self.measurements, columns=MEASUREMENT_COLUMNS)
        return trials, measured, pd.DataFrame(list(self.contexts.values()))


TRIAL_CONTEXT = (
    "context_id", "kernel", "code_hash", "reference_hash", "problem", "problem_fields",
    "device_model", "device_model_id", "device_name", "architecture", "sm_count", "partition",
    "environment_id", "triton", "driver", "protocol_id", "source",
)  # fmt: skip
MEASUREMENT_COLUMNS = (
    "trial_id", "context_id", "config_id", "phase", "round", "median_ms", "low_ms", "high_ms",
    "samples", "flags", "is_eligible", "sm_clock_mhz", "power_w", "temperature_c", "taken_at",
)  # fmt: skip


def matrix_of(efficiency, devices=None, problems=None):
    """Return a matrix with these efficiencies: NaN was not measured, 0 does not run."""
    efficiency = np.asarray(efficiency, dtype=float)
    contexts = efficiency.shape[1]
    devices = devices or [f"d{i}" for i in range(contexts)]
    problems = problems or ["M=1"] * contexts
    states = np.where(np.isnan(efficiency), NOT_MEASURED, MEASURED)
    states[efficiency == 0] = DOES_NOT_RUN
    with np.errstate(divide="ignore"):
        times_ms = np.where(states == MEASURED, 1 / efficiency, np.nan)
    return TimeMatrix(
        columns=tuple(
            Column(f"{d}/{p}", "matmul", "c0de", "p", p, d, f"id-{d}", "e", "3.6", "575", "gpu", "")
            for d, p in zip(devices, problems, strict=True)
        ),
        configs=tuple(Config(c=row) for row in range(len(efficiency))),
        states=states.astype(np.int8),
        times_ms=times_ms,
        is_fresh=np.zeros(efficiency.shape, dtype=bool),
        efficiency=efficiency,
        winners=np.array([np.nan_to_num(column).argmax() for column in efficiency.T], dtype=int),
        reasons={},
    )
