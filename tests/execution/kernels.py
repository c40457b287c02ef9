"""A kernel for the fake device: its launch returns its time, and does harm at some MODEs."""

import ctypes
import os
import sys
import time
from pathlib import Path

import torch

from autotune_lab import KernelDefinition, Problem, Space

MODES = [
    "good", "slow", "abort", "exit", "segfault", "segfault_later", "hang", "raise", "stamp",
    "stamp_slow", "pid", "floods",
]  # fmt: skip
_calls = 0


def inputs(problem, device, generator):
    x = torch.randn(problem.n, device=device, generator=generator)
    return {"x": x, "out": torch.empty_like(x)}


def launch(args, config):
    global _calls
    _calls += 1
    args["out"].copy_(args["x"])
    match config["MODE"]:
        case "abort":
            print("about to abort", file=sys.stderr)
            os.abort()
        case "exit":
            print("leaving", file=sys.stderr)
            os._exit(7)
        case "segfault":
            ctypes.string_at(0)
        case "segfault_later":
            if _calls == 8:  # one launch is for verification: the seventh timed one
                ctypes.string_at(0)
        case "hang":
            time.sleep(600)
        case "raise":
            raise KeyError("no such key\nand more")
        case "stamp" | "stamp_slow":
            folder = Path(os.environ["STAMPS"])
            (folder / f"{config['MODE']}.start").write_text(str(time.time()))
            time.sleep(3.0 if config["MODE"] == "stamp_slow" else 0.0)
            (folder / f"{config['MODE']}.end").write_text(str(time.time()))
        case "pid":
            return float(os.getpid())
        case "floods":
            print("x" * 20_000)
    return 2.0 if config["MODE"] == "slow" else 1.0


harm = KernelDefinition(
    name="harm",
    space=Space(MODE=MODES),
    inputs=inputs,
    launch=launch,
    outputs=["out"],
    reference=lambda args: {"out": args["x"]},
    problems=[Problem(n=16, dtype="float32")],
)

unstable = KernelDefinition(
    name="unstable",
    space=Space(MODE=MODES),
    inputs=inputs,
    launch=launch,
    outputs=["out"],
    reference=lambda args: {"nothing": args["x"]},
    problems=harm.problems,
)
