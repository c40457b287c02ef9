"""An empty store in a file of its own."""

import shutil

import pytest

from autotune_lab.store.store import Store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lab.db"


@pytest.fixture(scope="session")
def empty(tmp_path_factory):
    """A store as it is made, to be copied: making one takes ten times as long."""
    made = tmp_path_factory.mktemp("empty") / "lab.db"
    Store.open(str(made)).close()
    return made


@pytest.fixture
def store(path, empty):
    shutil.copy(empty, path)
    with Store.open(f"sqlite:///{path}") as opened:
        yield opened
