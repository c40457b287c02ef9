"""A Triton cache of its own for each test, and no warning about a default that is to change."""

import pytest


@pytest.fixture(autouse=True)
def triton_cache(tmp_path, monkeypatch):
    folder = tmp_path / "triton"
    monkeypatch.setenv("TRITON_CACHE_DIR", str(folder))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    return folder
