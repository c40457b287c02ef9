"""The wheel holds the package and its data, and runs where there is no checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="the wheel is built with hatchling")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A folder with nothing but the wheel's files."""
    folder = tmp_path_factory.mktemp("installed")
    options = ["--no-deps", "--no-index", "--no-compile", "--target", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", *options, str(wheel)], check=True)
    return folder


def call(installed, where, *arguments, script=""):
    """Run Python outside the checkout, with the installed files before all others."""
    command = [sys.executable, *(["-c", script] if script else ["-m", "autotune_lab"]), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    return subprocess.run(
        command, cwd=where, env=environment, capture_output=True, text=True, check=False
    )


def test_its_only_top_level_is_the_package(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"autotune_lab"}


@pytest.mark.parametrize(
    "part",
    [
        "search_spaces/matmul.py", "templates/studies/first.py", "store/migrations/env.py",
        "recordings/",
    ],
)  # fmt: skip
def test_data_travels_with_it(wheel, part):
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.startswith(f"autotune_lab/{part}") for name in names)


def test_it_runs_outside_the_checkout(installed, tmp_path):
    found = call(installed, tmp_path, script="import autotune_lab; print(autotune_lab.__file__)")
    assert found.stdout.startswith(str(installed))
    listed = call(installed, tmp_path, "kernels")
    assert listed.returncode == 0, listed.stderr
    for name in ("matmul", "row_softmax", "vector_add", "vector_copy"):
        assert name in listed.stdout
    assert {path.name for path in installed.glob("[!_]*") if path.suffix != ".dist-info"} <= {
        "autotune_lab", "bin",
    }  # fmt: skip


def test_a_lab_is_begun_tuned_reported_and_exported_from_it(installed, tmp_path):
    assert call(installed, tmp_path, "init", "mine", "--kernel", "vector_add").returncode == 0
    mine = tmp_path / "mine"
    assert {path.name for path in mine.iterdir()} >= {
        "search_spaces", "studies", "reports", "pyproject.toml", ".gitignore",
    }  # fmt: skip
    tuned = call(
        installed, mine, "tune", "vector_add", "--device", "replay", "--trials", "12",
        "--problem", "n=268435456,dtype=float32",
    )  # fmt: skip
    assert tuned.returncode == 0, tuned.stderr
    assert "replayed from recorded GPU measurements" in tuned.stderr
    for arguments, made in ((["report"], "out/report"), (["export"], "out/export")):
        done = call(installed, mine, *arguments)
        assert done.returncode == 0, done.stderr
        assert any((mine / made).iterdir())
    planned = call(installed, mine, "run", "studies/first.py", "--dry-run")
    assert planned.returncode == 0, planned.stderr


def test_init_overwrites_nothing(installed, tmp_path):
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies/first.py").write_text("mine")
    done = call(installed, tmp_path, "init", ".")
    assert done.returncode == 2
    assert "first.py" in done.stderr
    assert (tmp_path / "studies/first.py").read_text() == "mine"
    assert not (tmp_path / "search_spaces").exists()
