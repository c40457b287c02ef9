import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autotune_lab.errors import ExportError
from autotune_lab.exporting import csv, json, t4, triton, vllm
from autotune_lab.exporting.base import Options, doubts, export_path, write_atomically, write_files
from autotune_lab.records import FLAG_THROTTLED, Environment, KernelIdentity, Source

from .samples import A4000, H200, context, models, pick, picks

FORMATS = [csv, json, t4, triton, vllm]
AWKWARD_NAMES = [
    "NVIDIA H200", "NVIDIA H200 NVL", "NVIDIA A100-SXM4-80GB", "NVIDIA/H200", "NVIDIA\\H200",
    "NVIDIA:H200", 'NVIDIA "H200"', ".hidden", "..", "", " ", "Intel(R) Arc(TM) Pro B60 Graphics",
    "显卡", "a" * 400,
    "NVIDIA\nH200", "CON", "nvidia h200", "NVIDIA-H200", "../../etc/passwd", "-rf",
]  # fmt: skip


def is_portable(name: str) -> bool:
    return (
        name.isascii()
        and len(name.encode()) <= 200
        and not name.startswith(".")
        and not re.search(r"[/\\:'\"\s]", name)
    )


@pytest.mark.parametrize("module", FORMATS, ids=lambda m: m.FORMAT.name)
@settings(max_examples=25)
@given(made=picks)
def test_file_names_are_portable_whatever_the_device_is_called(module, made, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    path = export_path(folder, made, module.FORMAT)
    assert is_portable(path.name)
    assert path.parent == folder


def test_names_that_sanitise_alike_get_different_files(tmp_path):
    made = [replace(H200, name=name) for name in AWKWARD_NAMES]
    paths = {export_path(tmp_path, model, json.FORMAT) for model in made}
    assert len(paths) == len(AWKWARD_NAMES)
    assert all(is_portable(path.name) for path in paths)


@given(first=models, second=models)
def test_two_models_share_a_file_only_if_they_are_one(first, second, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    paths = [export_path(folder, model, json.FORMAT) for model in (first, second)]
    assert (paths[0] == paths[1]) == (first.id == second.id)


def test_a_slice_with_the_cards_name_gets_its_own_file(tmp_path):
    part = replace(H200, sm_count=16, memory_bytes=18 * 2**30)
    written = write_files([pick(), pick(of=context(model=part))], json, tmp_path)
    assert len(written) == 2


@pytest.mark.parametrize("module", FORMATS, ids=lambda m: m.FORMAT.name)
def test_exporting_twice_gives_identical_bytes_in_any_order(module, tmp_path):
    made = [
        pick(of=context(problem=context().problem.__class__(M=m, N=8192, K=8192, dtype="bfloat16")))
        for m in (16, 4096, 1)
    ]
    first = write_files(made, module, tmp_path / "a")
    second = write_files(reversed(made), module, tmp_path / "b")
    assert [p.name for p in first] == [p.name for p in second]
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_simulated_winners_are_refused_unless_asked_for(tmp_path):
    simulated = pick(of=context(source=Source.INTERPRETER))
    with pytest.raises(ExportError, match="times say nothing about any GPU"):
        write_files([simulated, pick()], json, tmp_path)
    assert list(tmp_path.iterdir()) == []
    (path,) = write_files([simulated], json, tmp_path, options=Options(include_simulated=True))
    assert "times say nothing about any GPU" in path.read_text()


def test_nothing_to_export_leaves_an_older_file_as_it_was(tmp_path):
    (path,) = write_files([pick()], json, tmp_path)
    before = path.read_bytes()
    with pytest.raises(ExportError, match="no winner"):
        write_files([], json, tmp_path)
    assert path.read_bytes() == before


def test_a_format_that_fails_writes_no_file_at_all(tmp_path):
    def write(picks, *, options):
        if picks[0].context.model == A4000:
            raise ExportError("can't say it")
        return "fine"

    fragile = SimpleNamespace(FORMAT=json.FORMAT, write=write)
    with pytest.raises(ExportError, match="can't say it"):
        write_files([pick(), pick(of=context(model=A4000))], fragile, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "options", "reason"),
    [
        ({"flags": (FLAG_THROTTLED,)}, Options(), "flagged throttled"),
        ({"rounds": 0}, Options(), "not re-measured"),
        ({"flags": ("below_launch_floor",)}, Options(), "shorter than a launch"),
        (
            {},
            Options(code={"matmul": KernelIdentity("matmul", "new")}),
            "code is new today, it was c0de",
        ),
        ({}, Options(environment=Environment(triton="3.9.0")), "triton 3.6.0 -> 3.9.0"),
    ],
)
def test_strict_refuses_doubtful_winners_and_names_the_doubt(changes, options, reason, tmp_path):
    made = pick(**changes)
    assert any(reason in doubt for doubt in doubts(made, options))
    write_files([made], json, tmp_path, options=options)
    with pytest.raises(ExportError, match="refused by --strict"):
        write_files([made], json, tmp_path, options=replace(options, strict=True))


def test_strict_takes_a_sound_winner(tmp_path):
    today = Options(
        strict=True, environment=context().environment, code={"matmul": context().kernel}
    )
    assert write_files([pick()], json, tmp_path, options=today)


@given(content=st.binary(max_size=200))
def test_atomic_write_leaves_the_file_and_nothing_else(content, tmp_path_factory):
    folder = tmp_path_factory.mktemp("atomic")
    write_atomically(folder / "table.json", b"old")
    write_atomically(folder / "table.json", content)
    assert [p.name for p in folder.iterdir()] == ["table.json"]
    assert (folder / "table.json").read_bytes() == content


def test_a_folder_that_is_a_file_is_one_clear_line(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(ExportError, match=r"can't write .*taken"):
        write_files([pick()], json, tmp_path / "taken")
