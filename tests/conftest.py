"""What every test needs: locks on devices of its own, so that tests never wait for one another."""

import pytest


@pytest.fixture(autouse=True)
def own_device_locks(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
