"""Settings come from the flag, then the environment, then the nearest lab, then the default."""

from pathlib import Path

import pytest

from autotune_lab import UsageError
from autotune_lab.settings import KEYS, Settings


def discover(start: Path, store=None, **variables):
    return Settings.discover(start, store, environment=variables)


def declare(folder: Path, *lines: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join(["[tool.autotune-lab]", *lines])
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return folder


def test_a_folder_without_a_marker_is_a_lab_itself(tmp_path):
    settings = discover(tmp_path)
    assert settings.root == tmp_path
    assert settings.store_url == f"sqlite:///{tmp_path / 'lab.db'}"
    assert settings.search_spaces == tmp_path / "search_spaces"
    assert settings.studies == tmp_path / "studies"
    assert settings.reports == tmp_path / "reports"


def test_the_nearest_marker_above_is_the_root(tmp_path):
    outer = declare(tmp_path / "outer", 'studies = "outer"')
    inner = declare(outer / "inner", 'studies = "inner"')
    (inner / "deep").mkdir()
    (inner / "deep" / "pyproject.toml").write_text("[tool.black]\n", encoding="utf-8")
    settings = discover(inner / "deep")
    assert settings.root == inner
    assert settings.studies == inner / "inner"
    assert discover(outer).studies == outer / "outer"


def test_flag_beats_variable_beats_file_beats_default(tmp_path):
    lab = declare(tmp_path, 'store = "sqlite:///file.db"')
    variables = {"AUTOTUNE_LAB_STORE": "sqlite:///variable.db"}
    assert discover(lab, "sqlite:///flag.db", **variables).store_url == "sqlite:///flag.db"
    assert discover(lab, **variables).store_url == "sqlite:///variable.db"
    assert discover(lab).store_url == f"sqlite:///{lab / 'file.db'}"
    assert discover(lab, AUTOTUNE_LAB_STORE="").store_url == f"sqlite:///{lab / 'file.db'}"


def test_a_subfolder_finds_the_same_store(tmp_path):
    lab = declare(tmp_path)
    (lab / "sub").mkdir()
    assert discover(lab / "sub").store_url == discover(lab).store_url


@pytest.mark.parametrize(
    "url",
    ["sqlite://", "sqlite:///:memory:", "sqlite:////abs/lab.db", "postgresql+psycopg://h/lab"],
)
def test_other_urls_stay_as_they_are(tmp_path, url):
    assert discover(declare(tmp_path, f'store = "{url}"')).store_url == url


def test_unknown_keys_are_all_named_with_what_is_allowed(tmp_path):
    lab = declare(tmp_path, 'stores = "x"', 'search_spaces = "y"', "studies = 3", 'verbose = "1"')
    with pytest.raises(UsageError) as caught:
        discover(lab)
    message = str(caught.value)
    assert str(lab / "pyproject.toml") in message
    assert "'stores'" in message
    assert "'verbose'" in message
    assert "studies is 3" in message
    assert ", ".join(KEYS) in message
    assert "\n" not in message


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool", encoding="utf-8")
    with pytest.raises(UsageError, match=r"pyproject\.toml is not readable TOML"):
        discover(tmp_path)


def test_a_store_in_the_table_is_relative_to_it_however_it_is_written(tmp_path):
    lab = declare(tmp_path / "lab", 'store = "results/lab.db"')
    (lab / "sub").mkdir()
    assert discover(lab / "sub").store_url == f"sqlite:///{lab / 'results/lab.db'}"


def test_nothing_that_is_shown_of_settings_holds_a_password(tmp_path):
    assert "s3cret" not in repr(discover(tmp_path, "postgresql+psycopg://me:s3cret@host/lab"))
    with pytest.raises(UsageError) as caught:
        discover(declare(tmp_path, 'store = ["postgresql://me:s3cret@host/lab"]'))
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "tool = 1",
        "[tool]\nautotune-lab = 'x'",
        "a = " + "[" * 5000,
        '[tool.autotune-lab]\nstudies = "a\\u0000b"',
        "\udc80",
    ],
)
def test_a_file_that_makes_no_sense_is_one_line_or_no_lab(tmp_path, text):
    (tmp_path / "pyproject.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    faults = []
    try:
        discover(tmp_path)
    except UsageError as error:
        faults.append(str(error))
    assert all(str(tmp_path / "pyproject.toml") in fault for fault in faults)
    assert faults or text == "tool = 1"


def test_a_folder_above_that_everybody_writes_to_is_no_lab(tmp_path):
    """Else whoever may write to /tmp could name the code that runs in everybody's folders there."""
    shared = declare(tmp_path / "shared", 'search_spaces = "theirs"')
    (shared / "mine").mkdir()
    assert discover(shared / "mine").root == shared
    shared.chmod(0o1777)
    assert discover(shared / "mine").root == shared / "mine"
    assert discover(shared).search_spaces == shared / "theirs"


def test_the_process_environment_is_read_by_default(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOTUNE_LAB_STORE", "sqlite:///from_process.db")
    assert Settings.discover(tmp_path).store_url == "sqlite:///from_process.db"
