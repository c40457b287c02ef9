"""Tests that need a CUDA GPU; without one they are skipped, with the reason."""

from pathlib import Path

import pytest

from autotune_lab.devices.cuda import missing


def pytest_collection_modifyitems(items):
    folder = Path(__file__).parent
    fault = missing()
    for item in items:
        if folder in item.path.parents:
            item.add_marker(pytest.mark.gpu)
            if fault:
                item.add_marker(pytest.mark.skip(reason=fault))


@pytest.fixture(autouse=True)
def triton_cache(tmp_path, monkeypatch):
    folder = tmp_path / "triton"
    monkeypatch.setenv("TRITON_CACHE_DIR", str(folder))
    return folder
