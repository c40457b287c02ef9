"""Kernel files load by path and by name, each folder apart, and fail in one line."""

import os
import subprocess
import sys
import time

import pytest

from autotune_lab import DefinitionError, UnknownKernel, UsageError, catalog
from tests.making import KERNEL_FILE, edited, write_kernel

TWO_KERNELS = KERNEL_FILE + "\n\nother = KernelDefinition(**{**vars(scale), 'name': 'other'})\n"


@pytest.fixture
def lab(tmp_path):
    """Return a lab folder with one kernel, ``scale``."""
    (tmp_path / "pyproject.toml").write_text("[tool.autotune-lab]\n", encoding="utf-8")
    write_kernel(tmp_path / "search_spaces")
    return tmp_path


def run_python(script, *, folder, **variables):
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_a_name_is_found_in_the_labs_folder(lab):
    assert catalog.load("scale", root=lab).name == "scale"
    (lab / "sub").mkdir()
    assert catalog.load("scale", root=lab / "sub") is catalog.load("scale", root=lab)


def test_a_path_is_relative_to_the_working_folder_then_to_the_lab(lab, monkeypatch):
    path = lab / "search_spaces" / "scale.py"
    kernel = catalog.load(str(path))
    monkeypatch.chdir(lab)
    assert catalog.load("search_spaces/scale.py") is kernel
    monkeypatch.chdir(lab / "search_spaces")
    assert catalog.load("scale.py:scale") is kernel
    assert catalog.load("search_spaces/scale.py", root=lab) is kernel


def test_bundled_kernels_are_the_last_resort(lab):
    assert catalog.load("vector_add", root=lab).name == "vector_add"
    write_kernel(lab / "search_spaces", "vector_add")
    assert catalog.load("vector_add", root=lab).name == "scale"


def test_the_listing_says_where_each_comes_from(lab):
    write_kernel(lab / "search_spaces", "vector_add")
    write_kernel(lab / "search_spaces", "_shared")
    write_kernel(lab / "search_spaces", "broken", "def f(:\n")
    entries = {entry.name: entry for entry in catalog.listing(lab)}
    assert list(entries) == sorted(entries)
    assert "_shared" not in entries
    assert entries["scale"] == catalog.Entry("scale", "search_spaces/scale.py", "Scale a vector.")
    assert entries["vector_add"].origin == "search_spaces/vector_add.py, instead of bundled"
    assert entries["matmul"].origin == "bundled"
    assert entries["broken"].error.startswith("broken.py:1: SyntaxError")


def test_listing_imports_no_kernel(lab):
    write_kernel(lab / "search_spaces", "loud", "raise SystemExit('imported')\n")
    script = (
        "from pathlib import Path; from autotune_lab import catalog; import sys;"
        "names = [e.name for e in catalog.listing(Path.cwd())];"
        "print('loud' in names, 'torch' in sys.modules, 'triton' in sys.modules)"
    )
    assert run_python(script, folder=lab) == "True False False"


@pytest.mark.parametrize("name", ["scal", "sclae"])
def test_a_misspelt_name_gets_a_suggestion(lab, name):
    with pytest.raises(UnknownKernel, match="did you mean scale"):
        catalog.load(name, root=lab)


@pytest.mark.parametrize("name", ["_shared", "", "no/such/file.py", "no/such"])
def test_what_is_not_there_is_an_error(lab, name):
    write_kernel(lab / "search_spaces", "_shared")
    with pytest.raises(UsageError):
        catalog.load(name, root=lab)


def test_equal_file_names_in_two_folders_coexist(tmp_path):
    first = write_kernel(tmp_path / "a", text=edited("BLOCK=[64, 128]", "BLOCK=[1]"))
    second = write_kernel(tmp_path / "b", text=edited("BLOCK=[64, 128]", "BLOCK=[2]"))
    assert catalog.load(str(first)).space.parameters[0].values == (1,)
    assert catalog.load(str(second)).space.parameters[0].values == (2,)


def test_relative_imports_work_and_the_path_stays_as_it_was(tmp_path):
    (tmp_path / "_sizes.py").write_text("BLOCKS = [32]\n", encoding="utf-8")
    text = edited("BLOCK=[64, 128]", "BLOCK=BLOCKS").replace(
        "import torch\n", "import torch\n\nfrom ._sizes import BLOCKS\n"
    )
    before = list(sys.path)
    kernel = catalog.load(str(write_kernel(tmp_path, text=text)))
    assert kernel.space.parameters[0].values == (32,)
    assert sys.path == before


def test_an_attribute_picks_one_of_several(tmp_path):
    path = write_kernel(tmp_path, text=TWO_KERNELS)
    assert catalog.load(str(path)).name == "scale"
    assert catalog.load(f"{path}:other").name == "other"
    with pytest.raises(DefinitionError, match=r"no kernel 'othr'; did you mean other\?"):
        catalog.load(f"{path}:othr")


def test_several_without_one_of_the_files_name_must_be_chosen_from(tmp_path):
    path = write_kernel(tmp_path, "pair", TWO_KERNELS)
    with pytest.raises(DefinitionError, match=r"pair\.py:scale or .*pair\.py:other"):
        catalog.load(str(path))
    only = write_kernel(tmp_path, "alias", KERNEL_FILE + "\nsame = scale\n")
    assert catalog.load(str(only)).name == "scale"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\nboom = 1 / 0\n", r"scale\.py:2: ZeroDivisionError"),
        ("def f(:\n", r"scale\.py:1: SyntaxError"),
        ("import no_such_module_anywhere\n", r"scale\.py:1: ModuleNotFoundError"),
        ("import sys\nsys.exit(3)\n", r"scale\.py:2: SystemExit"),
        ("x = 1\n", "no KernelDefinition"),
        (
            edited('outputs=["out"]', "outputs=[]"),
            r"scale\.py:46: kernel 'scale': outputs is empty",
        ),
        ("import triton\n\nkernel = triton.jit(lambda x_ptr: None)\n", r"scale\.py:3: "),
    ],
)
def test_a_file_that_fails_is_one_line_with_its_place(tmp_path, text, said):
    started = time.monotonic()
    with pytest.raises(DefinitionError, match=said) as caught:
        catalog.load(str(write_kernel(tmp_path, text=text)))
    assert "\n" not in str(caught.value)
    assert time.monotonic() - started < 10


def test_a_file_that_was_mended_loads(tmp_path):
    path = write_kernel(tmp_path, text="1 / 0\n")
    with pytest.raises(DefinitionError):
        catalog.load(str(path))
    write_kernel(tmp_path)
    assert catalog.load(str(path)).name == "scale"


def test_a_file_name_that_is_no_identifier_is_refused(tmp_path):
    with pytest.raises(DefinitionError, match="rename it"):
        catalog.load(str(write_kernel(tmp_path, "my-kernel")))


def test_nothing_is_written_beside_a_kernel_and_an_edit_is_seen_at_once(tmp_path):
    path = write_kernel(tmp_path, text=edited("BLOCK=[64, 128]", "BLOCK=[1]"))
    stamp = path.stat().st_mtime_ns
    script = (
        f"from autotune_lab import catalog; "
        f"print(catalog.load({str(path)!r}).space.parameters[0].values)"
    )
    assert run_python(script, folder=tmp_path) == "(1,)"
    write_kernel(tmp_path, text=edited("BLOCK=[64, 128]", "BLOCK=[2]"))
    os.utime(path, ns=(stamp, stamp))
    assert run_python(script, folder=tmp_path) == "(2,)"
    assert [p.name for p in tmp_path.iterdir()] == ["scale.py"]


def test_loading_every_bundled_kernel_leaves_the_gpu_alone(tmp_path):
    script = (
        "from pathlib import Path; from autotune_lab import catalog; import torch, triton\n"
        "def refuse(*_): raise RuntimeError('driver touched')\n"
        "triton.runtime.driver._active = None\n"
        "type(triton.runtime.driver).active = property(refuse)\n"
        "torch.cuda._lazy_init = refuse\n"
        "print(len([catalog.load(e.name) for e in catalog.listing(Path.cwd())]))\n"
        "print(torch.cuda.is_initialized())"
    )
    count, initialised = run_python(script, folder=tmp_path).split()
    assert int(count) >= 4
    assert initialised == "False"


def test_every_bundled_file_is_named_after_its_kernel():
    for entry in catalog.listing():
        assert catalog.load(entry.name).name == entry.name
        assert entry.summary
        assert not entry.error


def test_installed_packages_bring_kernels(lab, tmp_path, monkeypatch):
    site = tmp_path / "site"
    write_kernel(site, "brought_by_test", TWO_KERNELS)
    info = site / "lab_kernels-3.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: lab-kernels\nVersion: 3.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[autotune_lab.kernels]\nfar = brought_by_test:other\nbad = no_such_module_anywhere\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(site))
    assert catalog.load("far", root=lab).name == "other"
    entries = {entry.name: entry.origin for entry in catalog.listing(lab)}
    assert entries["far"] == "lab-kernels 3.0"
    with pytest.raises(DefinitionError, match="no_such_module_anywhere"):
        catalog.load("bad", root=lab)
    del sys.modules["brought_by_test"]


def test_bundled_files_are_found_in_a_checkout_and_in_a_wheel(tmp_path, monkeypatch):
    assert (catalog.bundled("search_spaces") / "matmul.py").is_file()
    package = tmp_path / "autotune_lab"
    (package / "search_spaces").mkdir(parents=True)
    (tmp_path / "search_spaces").mkdir()
    monkeypatch.setattr(catalog, "__file__", str(package / "catalog.py"))
    assert catalog.bundled("search_spaces") == package / "search_spaces"
    (package / "search_spaces").rmdir()
    assert catalog.bundled("search_spaces") == tmp_path / "search_spaces"
    with pytest.raises(UsageError, match="reinstall"):
        catalog.bundled("nothing")
