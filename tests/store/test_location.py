"""What a store is called, and what can be said of its file before it is opened."""

from pathlib import Path

import pytest

from autotune_lab.errors import StoreError
from autotune_lab.store.location import NETWORK_FILE_SYSTEMS, file_system, locate
from autotune_lab.store.store import Store


@pytest.mark.parametrize(
    ("text", "path", "display"),
    [
        ("lab.db", Path("lab.db"), "lab.db"),
        ("sqlite:///lab.db", Path("lab.db"), "lab.db"),
        ("sqlite:////tmp/lab.db", Path("/tmp/lab.db"), "/tmp/lab.db"),
        ("/tmp/a folder/lab.db", Path("/tmp/a folder/lab.db"), "/tmp/a folder/lab.db"),
        ("sqlite:///~/lab.db", Path.home() / "lab.db", str(Path.home() / "lab.db")),
        ("sqlite://", None, "sqlite in memory"),
        ("sqlite:///:memory:", None, "sqlite in memory"),
    ],
)
def test_a_url_or_a_path_names_a_file(text, path, display):
    location = locate(text)
    assert (location.path, location.display) == (path, display)
    assert location.is_sqlite
    assert location.is_memory == (path is None)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql+psycopg://ada:s3cret@db.example:5433/lab",
        "postgresql+psycopg://ada:s3cret@db.example:5433/lab?password=s3cret&sslkey=s3cret",
        "postgresql+psycopg://s3cret@db.example:5433/lab",
    ],
)
def test_credentials_are_never_shown(text):
    assert locate(text).display == "postgresql://db.example:5433/lab"


@pytest.mark.parametrize("text", ["://ada:s3cret@host", "what ever://ada:s3cret@host/db:x:y"])
def test_an_unreadable_url_is_refused_without_being_repeated(text):
    with pytest.raises(StoreError, match="can't be parsed") as caught:
        locate(text)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_server_that_is_not_there_is_named_without_credentials():
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError) as caught:
        Store.open("postgresql+psycopg://ada:s3cret@127.0.0.1:1/lab")
    assert "postgresql://127.0.0.1:1/lab" in str(caught.value)
    assert "s3cret" not in str(caught.value)


MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/vdb /home/local xfs rw 0 0
//share /mnt/with\\040space cifs rw 0 0
server:/old /data nfs rw 0 0
tmpfs /data tmpfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/lab.db", "ext4"),
        ("/home/ada/lab.db", "nfs4"),
        ("/home/local/lab.db", "xfs"),
        ("/homes/lab.db", "ext4"),
        ("/mnt/with space/lab.db", "cifs"),
        ("/data/lab.db", "tmpfs"),
    ],
)
def test_the_file_system_is_that_of_the_nearest_mount(tmp_path, path, kind):
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    assert file_system(Path(path), mounts=mounts) == kind


def test_an_unknown_file_system_is_no_network(tmp_path):
    kind = file_system(tmp_path, mounts=tmp_path / "absent")
    assert kind == ""
    assert kind not in NETWORK_FILE_SYSTEMS
