"""Tables from files, folders, package data, the environment and functions; and damaged ones."""

import json
import logging
import subprocess
import sys

import pytest

from autotune_lab import tuned
from autotune_lab.errors import ExportError
from autotune_lab.runtime.sources import VARIABLE, load
from autotune_lab.spaces.config import Config
from tests.exporting.samples import A4000
from tests.runtime.tables import table, text, winner

PICKS = [winner(1), winner(16)]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "winners.json"
    path.write_text(text(PICKS))
    return path


def test_file_package_data_and_text_path_give_the_same(path):
    assert [len(load(source)) for source in (path, str(path))] == [2, 2]


def test_environment_variable_names_the_table(path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(path))
    assert len(load(None)) == 2


def test_no_table_at_all_names_the_variable(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(ExportError, match=VARIABLE):
        load(None)


def test_folder_is_one_table_of_its_files(path, tmp_path):
    (tmp_path / "other.json").write_text(text([winner(16, model=A4000)]))
    found = load(tmp_path)
    assert len(found) == 3
    assert len(found.kernel("matmul").models) == 2


def test_functions_give_picks_or_tables():
    assert len(load(lambda: PICKS)) == 2
    assert len(load(lambda: table(PICKS))) == 2


def test_changed_file_is_read_again(path):
    assert len(load(path)) == 2
    path.write_text(text([winner(1)]))
    assert len(load(path)) == 1


def test_contradicting_winners_are_named():

    other = winner(16, config=Config(BLOCK=8, num_warps=1), picked_at="2026-05-05")
    with pytest.raises(ExportError, match=r"two winners for one context.*2026-05-05"):
        load(lambda: [*PICKS, other])


def _foreign(document):
    return {"BLOCK_M": 128}


def _newer(document):
    return document | {"schema_version": 99}


def _without_config(document):
    del document["entries"][0]["config"]
    return document


def _forged_device(document):
    (device,) = document["devices"].values()
    device["sm_count"] = 1
    return document


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_foreign, "does not say schema"),
        (_newer, "newer than 1; upgrade"),
        (_without_config, "damaged: KeyError: 'config'"),
        (_forged_device, "does not have the identity"),
    ],
)
def test_damaged_tables_are_one_clear_error(path, damage, said):
    path.write_text(json.dumps(damage(json.loads(text(PICKS)))))
    with pytest.raises(ExportError, match=said) as caught:
        load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_truncated_tables_are_one_clear_error(path, share):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(ExportError, match="cut short"):
        load(path)


@pytest.mark.parametrize("noise", [b"\x00\xff\xfe\x80" * 9, b"[" * 100_000, b"nan", b"{}"])
def test_noise_is_one_clear_error(path, noise):
    path.write_bytes(noise)
    with pytest.raises(ExportError):
        load(path)


def test_absent_and_unreadable_are_two_messages(tmp_path):
    with pytest.raises(ExportError, match="does not exist; searched /"):
        load(tmp_path / "none.json")
    with pytest.raises(ExportError, match=r"folder without a \.json file"):
        load(tmp_path)


def test_bad_table_gives_defaults_only_if_asked(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        assert len(load(tmp_path / "none.json", on_bad_table="default")) == 0
    assert "none.json does not exist" in caplog.text


def test_kernel_that_the_table_lacks_needs_a_default(path):
    with pytest.raises(ExportError, match="no winner of kernel 'matmull'; did you mean matmul"):
        tuned("matmull", key=["M"], table=path)


def test_importing_the_runtime_loads_no_tuner():
    script = (
        "import sys, autotune_lab.runtime;"
        "print(*{'pandas', 'sqlalchemy', 'optuna', 'matplotlib'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
