"""Real kernels in Triton's interpreter: what it can't see, guard zones and a stand-in dtype can."""

import json
import os
import subprocess
import sys

import pytest

from autotune_lab.devices.interpreter import VARIABLES
from autotune_lab.records import Source


@pytest.fixture(scope="module")
def seen():
    done = subprocess.run(
        [sys.executable, "-m", "tests.measuring.interpreted"],
        env={**os.environ, **VARIABLES},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_known_limits_of_the_interpreter_still_stand(seen):
    """When one of these fails, Triton has mended it and a rule can go."""
    assert seen["limits"]["takes three warps and writes past a view"] == 6
    assert seen["limits"]["error of a bfloat16 dot"] > 1e6


def test_a_right_kernel_is_ok(seen):
    assert seen["masked"]["state"] == "ok"


def test_guards_notice_an_unmasked_store_past_a_view(seen):
    assert seen["unmasked"]["state"] == "wrong_result"
    assert seen["unmasked"]["reason"] == "wrote outside of 'y'"


def test_bfloat16_tensors_are_computed_in_float32_and_that_is_said(seen):
    outcome = seen["bfloat16 inputs"]
    assert outcome["state"] == "ok"
    assert "a is bfloat16, computed in float32 here" in outcome["detail"]
    assert outcome["numerics"]["tolerance"] == 2e-2


def test_a_bfloat16_dot_inside_a_kernel_does_not_pass_for_right(seen):
    assert seen["bfloat16 inside"]["state"] == "wrong_result"


def test_its_numbers_are_marked_as_simulated(seen):
    assert Source(seen["device"]["source"]).is_simulated
    assert seen["device"]["model"]["vendor"] == "none"
