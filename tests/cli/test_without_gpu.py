"""Without a driver, and without Triton, everything but measuring works; simulations stay apart."""

import json
import os
import subprocess
import sys
import time

import pytest

from tests.tuning.labs import Lab

# A start-up file for child processes: Triton can't be imported, and any driver call raises.
HIDE = """
import builtins, sys
hidden = set({hidden!r})
real = builtins.__import__

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in hidden:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)

sys.meta_path.insert(0, Hide())
"""
DRIVER = """
import sys
import types

class Guard(types.ModuleType):
    # torch imports NVML's bindings; only calling the driver through them is a touch.
    def __getattr__(self, name):
        if name.startswith("nvmlInit"):
            raise AssertionError("the driver was touched: pynvml")
        raise AttributeError(name)

sys.modules["pynvml"] = Guard("pynvml")
"""


def call(lab, *arguments, start=""):
    """Run the command line with a start-up file in every process of it."""
    folder = lab.root / "start"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(start)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return lab.call(*arguments, env={"PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": ""})


ALL = ["triton", "torch", "pynvml"]


def test_a_space_is_listed_without_triton(tuned):
    done = call(tuned, "kernels", "vector_copy", start=HIDE.format(hidden=["triton"]))
    assert done.returncode == 0, done.stderr
    assert "BLOCK_SIZE" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["kernels"],
        ["best"],
        ["trials", "--json"],
        ["report", "--out", "page"],
        ["export", "--out", "files"],
        ["plugins"],
    ],
    ids=" ".join,
)
def test_reading_works_without_triton_or_torch(tuned, arguments):
    done = call(tuned, *arguments, start=HIDE.format(hidden=ALL))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_importing_the_package_touches_no_driver(tuned):
    done = call(tuned, "--version", start=DRIVER)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("autotune-lab ")


def test_a_benchmark_without_a_driver_fails_at_once_and_says_what_to_do(tuned):
    tuned.call("--version")  # the first command of a suite waits for the imports of all
    began = time.monotonic()
    done = tuned.call("tune", "scripted", "--device", "cuda")
    assert time.monotonic() - began < 5.0
    assert done.returncode == 3
    (line,) = done.stderr.splitlines()
    assert "driver" in line
    assert "--device replay" in line


def test_the_driver_is_not_asked_by_compiling_processes(tuned):
    done = call(
        tuned, "feasibility", "vector_copy", "--configs", "default", "--targets", "sm_80",
        "--problem", "n=4099,dtype=float32", "--json", start=DRIVER,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (answer,) = json.loads(done.stdout)
    assert answer["fits"] is True


def test_simulated_results_are_left_out_unless_asked_for(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.autotune-lab]\n")
    lab = Lab(tmp_path)
    lab.write(space="Space(a=[0, 1])")
    tuned = lab.call("tune", "scripted", "--device", "fake", "--json")
    assert tuned.returncode == 0, tuned.stderr
    assert "fake timer: times are scripted" in tuned.stderr
    assert json.loads(tuned.stdout)["picks"][0]["source"] == "fake"
    assert lab.call("best").returncode == 1
    assert (
        json.loads(lab.call("best", "--include-simulated", "--json").stdout)[0]["source"] == "fake"
    )
    assert json.loads(lab.call("trials", "--json").stdout) == []
    assert lab.call("export", "--out", "files").returncode == 1
    assert not (tmp_path / "files").exists()
    assert lab.call("record", "all.jsonl.gz").returncode == 2
    page = json.loads(lab.call("report", "--out", "page", "--json").stdout)["report"]
    assert "BLOCK" not in (tmp_path / page).read_text()


KERNEL_IN_MAIN = """
from autotune_lab import KernelDefinition, Problem, Space
from autotune_lab.fingerprint import identify
import torch

def inputs(problem, device, generator):
    return {"x": torch.ones(4), "out": torch.empty(4)}

scale = 1
made = KernelDefinition(
    name="made", space=Space(a=[1]), inputs=inputs,
    launch=lambda args, config: args["out"].copy_(args["x"] * scale), outputs=["out"],
    reference=lambda args: {"out": args["x"]}, problems=[Problem(n=4)],
)
try:
    print(identify(made, "made").code_hash)
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("how", ["file", "stdin"])
def test_a_kernel_of_main_works_or_says_how_to_make_it_importable(tmp_path, how):
    path = tmp_path / "script.py"
    path.write_text(KERNEL_IN_MAIN)
    command = [sys.executable, str(path)] if how == "file" else [sys.executable, "-"]
    done = subprocess.run(
        command, input=None if how == "file" else KERNEL_IN_MAIN, capture_output=True, text=True,
        check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    if how == "file":
        assert len(line) == 16
    else:
        assert line.startswith("DefinitionError ")
        assert "search_spaces/" in line


def test_an_error_in_the_report_leaves_the_store_and_no_process_behind(tuned):
    (tuned.root / "taken").write_text("a file where the folder should be")
    done = tuned.call("report", "--out", "taken")
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert tuned.call("store", "check").returncode == 0
