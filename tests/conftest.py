"""What every test needs: locks on devices of its own, an order, and patience on busy machines."""

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no fault of a test: only what a property says may fail it.
settings.register_profile("lab", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lab")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Run files with slow tests first: the last file of two workers should be a short one."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(autouse=True)
def own_device_locks(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
