"""An empty store in a file of its own."""

import pytest

from autotune_lab.store.store import Store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lab.db"


@pytest.fixture
def store(path):
    with Store.open(f"sqlite:///{path}") as opened:
        yield opened
