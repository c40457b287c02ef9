"""A lab folder for each test."""

from pathlib import Path

import pytest

from tests.tuning.labs import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    (tmp_path / "pyproject.toml").write_text("[tool.autotune-lab]\n")
    return Lab(tmp_path)
