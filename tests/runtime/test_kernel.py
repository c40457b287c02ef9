"""Launching through a table: in the interpreter, and up to the driver's door without a GPU."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from autotune_lab.definitions import Problem
from autotune_lab.records import KernelIdentity
from autotune_lab.runtime.present import NO_GPU
from autotune_lab.spaces.config import Config
from tests.exporting.samples import context, pick
from tests.runtime.tables import text

ROOT = Path(__file__).parents[2]


def test_interpreter_launches_with_the_config_of_the_problem(tmp_path):
    scale = KernelIdentity("scale", "5ca1e", "4ef", "scale")
    of = [context(Problem(n=n, dtype="float32"), NO_GPU, scale) for n in (64, 1000)]
    picks = [
        pick(Config(BLOCK=block), of=one, default_config=Config(BLOCK=32))
        for one, block in zip(of, (16, 128), strict=True)
    ]
    path = tmp_path / "table.json"
    path.write_text(text([replace(one, resources=None) for one in picks]))
    done = subprocess.run(
        [sys.executable, "-m", "tests.runtime.interpreted", str(path)],
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        [1, "default", 32, True],
        [37, "default", 32, True],
        [64, "exact", 16, True],
        [1000, "exact", 128, True],
    ]
    assert done.stderr.count("default: BLOCK=32 for n=1") == 1
