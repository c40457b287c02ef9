"""What a store is called, and what can be said of its file before it is opened."""

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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
        "postgresql://ada:s3cret@db.example:5433/lab",
        "postgresql://ada:s3cret/#s3cret?@db.example:5433/lab",
        "postgresql://ada:s3cret%40s3cret@db.example:5433/lab",
    ],
)
def test_credentials_are_never_shown(text):
    location = locate(text)
    assert location.display == "postgresql://db.example:5433/lab"
    assert location.url.drivername == "postgresql+psycopg"
    assert "s3cret" not in repr(location)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("://ada:s3cret@host", "can't be parsed"),
        ("what ever://ada:s3cret@host/db:x:y", "can't be parsed"),
        ("postgresql://ada:s3cret@host:s3cret/db", "can't be parsed"),
        ("postgresql://ada:pass@s3cret@host/db", "has an @ beside"),
        ("postgresql://ada/x:s3cret@host/db", "has an @ beside"),
        ("mysql://ada:s3cret@host/db", "names a 'mysql' database"),
        ("postgresql+asyncpg://ada:s3cret@host/db", "asks for driver 'asyncpg'"),
        ("sqlite+pysqlcipher://:s3cret@/lab.db", "asks for driver 'pysqlcipher'"),
        ("sqlite://lab.db", "has two slashes and a name"),
        ("sqlite:///lab.db?mode=ro", "asks for options of SQLite"),
        ("sqlite:///file:lab.db", "asks for options of SQLite"),
        ("sqlite:///a\x00b", "holds a NUL"),
    ],
)
def test_a_url_of_no_store_is_refused_without_being_repeated(text, fault):
    with pytest.raises(StoreError, match=f"the store's URL {fault}") as caught:
        locate(text)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None


@given(st.text(max_size=60))
@example("sqlite:///~nobody_of_that_name/lab.db")
@example("~nobody_of_that_name/lab.db")
@example("postgresql+psycopg://[::1]:5/lab")
def test_any_text_is_a_place_or_one_line(text):
    with contextlib.suppress(StoreError):
        assert locate(text).display


def test_a_missing_driver_is_named_with_its_install_command():
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from autotune_lab.errors import StoreError\n"
        "from autotune_lab.store.store import Store\n"
        "try: Store.open('postgresql://ada:s3cret@host/lab')\n"
        "except StoreError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "postgresql://host/lab: PostgreSQL needs a driver; pip install 'autotune-lab[postgres]'\n"
    )


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
ada@host: /mnt/données fuse.sshfs rw 0 0
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
        ("/mnt/données/lab.db", "fuse.sshfs"),
    ],
)
def test_the_file_system_is_that_of_the_nearest_mount(tmp_path, path, kind):
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS, encoding="utf-8")
    assert file_system(Path(path), mounts=mounts) == kind


def test_an_unknown_file_system_is_no_network(tmp_path):
    kind = file_system(tmp_path, mounts=tmp_path / "absent")
    assert kind == ""
    assert kind not in NETWORK_FILE_SYSTEMS
