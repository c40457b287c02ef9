"""The code of the how-to pages is run: files are written, commands typed, and end as promised."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "how-to"
FILE = re.compile(r"^```python\n# (search_spaces/\w+\.py)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [page.stem for page in sorted(FOLDER.glob("*.md")) if FILE.search(page.read_text("utf-8"))]
NEEDS_NO_GPU = ("--device interpreter", "kernels ", "trials ")


def run(lab, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "autotune_lab", *arguments],
        cwd=lab, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.fixture
def lab(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.autotune-lab]\n")
    (tmp_path / "search_spaces").mkdir()
    return tmp_path


def write_files(page, lab):
    """Write the files that a page shows, and return the names of their kernels."""
    names = []
    for path, text in FILE.findall((FOLDER / f"{page}.md").read_text("utf-8")):
        (lab / path).write_text(text)
        names.append(Path(path).stem)
    return names


def commands(page):
    """Return the commands of a page that can be run anywhere."""
    text = (FOLDER / f"{page}.md").read_text("utf-8")
    lines = [line for block in BLOCK.findall(text) for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if any(part in line for part in NEEDS_NO_GPU)]


def test_there_are_pages_with_code():
    assert {"add-a-kernel", "bring-your-own-autotuner"} <= set(PAGES)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_runs(page, lab):
    names = write_files(page, lab)
    assert names
    for words in commands(page):
        done = run(lab, *words)
        assert done.returncode == 0, done.stderr
    listed = run(lab, "trials", "--include-simulated", "--json")
    trials = json.loads(listed.stdout)
    assert {trial["kernel"] for trial in trials} == set(names)
    assert {trial["state"] for trial in trials} <= {"ok", "pruned"}  # whatever was slow just then


@pytest.mark.slow
def test_a_missing_mask_looks_as_the_page_says(lab):
    write_files("add-a-kernel", lab)
    path = lab / "search_spaces" / "swiglu.py"
    text = path.read_text()
    broken = text.replace("element_ty), mask=inside)", "element_ty))")
    assert broken != text
    path.write_text(broken)
    command = next(words for words in commands("add-a-kernel") if words[0] == "tune")
    assert run(lab, *command).returncode == 1
    (first, *_) = json.loads(run(lab, "trials", "--include-simulated", "--json").stdout)
    page = (FOLDER / "add-a-kernel.md").read_text("utf-8")
    assert first["state"] == "wrong_result"
    assert f"`{first['reason']}`" in page
