"""The catalog's kernels against their float64 references, in Triton's interpreter."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.search_spaces.cases import CASES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Run all cases in one process: the interpreter is switched on when a kernel is decorated."""
    out = tmp_path_factory.mktemp("interpreted") / "outcomes.json"
    command = [sys.executable, "-m", "tests.search_spaces.interpreting", str(out)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr[-2000:]
    return json.loads(out.read_text())


def test_every_case_has_a_name_of_its_own():
    assert len({case.id for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_kernel_agrees_with_its_reference(outcomes, case):
    assert outcomes[case.id] == ""
