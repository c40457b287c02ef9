import gzip
import json
import time
from pathlib import Path

import pytest

from autotune_lab.errors import ImportFailed
from autotune_lab.importing.reading import read
from autotune_lab.records import Source, TrialState
from autotune_lab.spaces.config import Config

RAW = Path(__file__).parents[2].parent / "shared" / "tables" / "raw"
needs_tables = pytest.mark.skipif(not RAW.is_dir(), reason="the published tables are not here")


def cache(**changes):
    """A Kernel Tuner cache of five configs: two ran, three failed in their own ways."""
    entries = {
        "16,1": {"block": 16, "pad": 1, "time": 9.0, "times": [1.0, 3.0, 2.0], "GFLOP/s": 1e9,
                 "compile_time": 892.9, "timestamp": "2023-12-22 09:53:48.691683+00:00"},
        "32,1": {"block": 32, "pad": 1, "time": 4.5},
        "64,1": {"block": 64, "pad": 1, "time": "CompilationFailedConfig"},
        "128,1": {"block": 128, "pad": 1, "time": "RuntimeFailedConfig"},
        "256,1": {"block": 256, "pad": 1, "__error__": "InvalidConfig"},
    }  # fmt: skip
    return {
        "device_name": "NVIDIA RTX A4000",
        "kernel_name": "convolution_kernel",
        "problem_size": [4096, 2048],
        "tune_params_keys": ["block", "pad"],
        "tune_params": {"block": [16, 32, 64, 128, 256], "pad": [1]},
        "objective": "time",
        "cache": entries,
    } | changes


def t4(results=None, **metadata):
    """A T4 file; by default one config that ran and one for each kind of failure."""
    kinds = ("timeout", "compile", "runtime", "correctness", "constraints")
    ran = {
        "timestamp": "2023-12-22 09:53:48+01:00",
        "configuration": {"block": 16, "mode": "a"},
        "times": {"compilation": 892.9, "runtimes": [1.0, 3.0, 2.0]},
        "invalidity": "correct",
        "correctness": 1,
        "measurements": [{"name": "time", "value": 9.0, "unit": ""}],
        "objectives": ["time"],
    }
    failures = [
        {
            "configuration": {"block": 32 + n, "mode": "a"},
            "times": {},
            "invalidity": kind,
            "correctness": 0,
            "measurements": [{"name": "time", "value": f"{kind} failed", "unit": ""}],
        }
        for n, kind in enumerate(kinds)
    ]
    return {
        "schema_version": "1.0.0",
        "metadata": {"timeunit": "miliseconds"} | metadata,
        "results": [ran, *failures] if results is None else results,
    }


@pytest.fixture
def write(tmp_path):
    def written(document, name="convolution_A4000.json"):
        text = document if isinstance(document, str) else json.dumps(document)
        path = tmp_path / name
        if name.endswith(".gz"):
            path.write_bytes(gzip.compress(text.encode()))
        else:
            path.write_text(text)
        return path

    return written


def only(path, **arguments):
    imported = read(path, **arguments)
    (entry,) = imported.contexts
    return entry, imported.notes


@pytest.mark.parametrize("name", ["x_y.json", "x_y.json.gz"])
def test_a_kernel_tuner_cache(write, name):
    entry, notes = only(write(cache(), name))
    context = entry.context
    assert (context.kernel.name, context.model.name) == ("convolution_kernel", "NVIDIA RTX A4000")
    assert (context.source, context.model.vendor) == (Source.IMPORTED, "nvidia")
    assert dict(context.problem) == {"x": 4096, "y": 2048}
    assert entry.space.parameters == {"block": (16, 32, 64, 128, 256), "pad": (1,)}
    assert (entry.space.ordered, entry.space.size) == (("block",), 5)
    assert notes == ()
    states = [trial.state for trial in entry.trials]
    assert states == [
        TrialState.OK,
        TrialState.OK,
        TrialState.COMPILE_ERROR,
        TrialState.LAUNCH_ERROR,
        TrialState.ILLEGAL,
    ]
    first = entry.trials[0]
    assert first.config == Config(block=16, pad=1)
    assert first.measurements[0].samples_ms == (1.0, 3.0, 2.0)
    assert first.screen_ms == 2.0  # the median of the samples, not the file's mean
    assert first.resources.compile_ms == 892.9
    assert first.finished_at == "2023-12-22T09:53:48.691683+00:00"
    assert entry.trials[1].screen_ms == 4.5
    assert entry.trials[2].reason == "CompilationFailedConfig"
    assert {trial.context_id for trial in entry.trials} == {context.id}


def test_a_cache_that_kernel_tuner_left_open(write):
    whole = json.dumps(cache(), indent="")
    left_open = whole[: whole.rindex("}\n}\n}")] + "},"
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(left_open)
    assert only(write(left_open))[0] == only(write(cache()))[0]


def test_a_cache_cut_inside_an_entry_is_refused_with_its_place(write):
    whole = json.dumps(cache(), indent="")
    with pytest.raises(ImportFailed, match=r"_A4000.json: line \d+, column \d+: .*damaged"):
        read(write(whole[: whole.index('"128,1"') + 30]))


def test_what_is_no_time_is_kept_as_text_and_never_as_a_number(write):
    entries = {
        str(n): {"block": n, "pad": 1, "time": value}
        for n, value in enumerate([float("nan"), float("inf"), 0.0, -1.0, None, "3.0", 1e20])
    }
    trials = only(write(cache(cache=entries)))[0].trials
    assert [trial.state for trial in trials] == [TrialState.BAD_TIMING] * 6 + [
        TrialState.LAUNCH_ERROR
    ]
    assert [trial.raw_time for trial in trials[:6]] == ["nan", "inf", "0.0", "-1.0", "None", "3.0"]
    assert all(trial.measurements == () for trial in trials)


def test_an_empty_device_name_is_taken_from_the_user_or_else_the_file(write):
    path = write(cache(device_name=""), "dedispersion_MI250X.json")
    entry, notes = only(path)
    assert (entry.context.model.name, entry.context.model.vendor) == ("MI250X", "amd")
    assert notes == (
        f"{path}: names no device; took 'MI250X' from the file's name (set it with --device-name)",
    )
    entry, notes = only(path, device_name="AMD Instinct MI250X")
    assert (entry.context.model.name, notes) == ("AMD Instinct MI250X", ())
    with pytest.raises(ImportFailed, match="names no device"):
        read(write(cache(device_name=""), "x.json"))


def test_tables_of_one_name_with_other_parameters_are_other_code(write):
    first = only(write(cache()))[0].context
    wider = cache(tune_params_keys=["block"])
    second = only(write(wider))[0].context
    moved = only(write(cache(device_name="AMD Radeon PRO W6600")))[0].context
    assert first.kernel.code_hash != second.kernel.code_hash
    assert first.kernel == moved.kernel
    assert first.id != moved.id
    assert moved.model.vendor == "amd"


def test_a_problem_size_that_is_no_list(write):
    for size, fields in ((4096, {"x": 4096}), ("callable", {"x": "callable"}), (None, UNKNOWN)):
        assert dict(only(write(cache(problem_size=size)))[0].context.problem) == fields


UNKNOWN = {"size": "unknown"}


def test_a_t4_file(write):
    entry, notes = only(write(t4(), "convolution_A4000_T4.json"))
    assert (entry.context.kernel.name, entry.context.model.name) == ("convolution", "A4000")
    assert len(notes) == 2
    assert [trial.state.value for trial in entry.trials] == [
        "ok", "timeout", "compile_error", "launch_error", "wrong_result", "illegal",
    ]  # fmt: skip
    assert entry.trials[0].screen_ms == 2.0
    assert entry.trials[0].finished_at == "2023-12-22T08:53:48+00:00"
    assert entry.trials[1].reason == "timeout failed"
    assert entry.space.parameters["block"] == (16, 32, 33, 34, 35, 36)
    assert entry.space.ordered == ("block",)


def test_t4_metadata_names_kernel_device_problem_and_unit(write):
    document = t4(kernel="matmul", device="NVIDIA H200", problem={"M": 16}, timeunit="seconds")
    entry, notes = only(write(document, "any.json"))
    assert entry.context.label == "matmul M=16 on nvidia-h200"
    assert entry.trials[0].measurements[0].samples_ms == (1000.0, 3000.0, 2000.0)
    assert notes == ()


def test_a_config_twice_in_t4_keeps_all_its_samples(write):
    results = t4()["results"]
    entry, _ = only(write(t4([results[0], results[0]])))
    assert len(entry.trials) == 1
    assert len(entry.trials[0].measurements) == 2


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ("", "line 1, column 1"),
        ("[1]", "holds a list"),
        ("{}", "no known format .*none.*kernel_tuner, t4"),
        ('{"a": 1}', "its keys: a"),
        (cache(cache={}), "holds no configs"),
        (cache(cache=[1]), "holds no configs"),
        (cache(cache={"1": 2}), "cache entry '1': is 2"),
        (cache(cache={"1": {"block": 1}}), "cache entry '1': has no value for pad"),
        (cache(cache={"1": {"block": 1, "pad": {}}}), "cache entry '1': .*dict"),
        (cache(cache={"1": {"block": 1, "pad": 1, "times": 3}}), "times is 3"),
        (cache(tune_params_keys="ab"), "tune_params_keys is 'ab'"),
        (cache(tune_params=[1]), "tune_params is"),
        (cache(device_name=7), "device_name is 7"),
        (t4([]), "results is empty"),
        (t4([3]), "result 1: has no configuration"),
        (t4([{"configuration": {"a": 1}}, {"configuration": {"b": 1}}]), "result 2: sets b, not a"),
        (t4([{"configuration": {"a": 1}, "invalidity": "odd"}]), "result 1: invalidity is 'odd'"),
        (t4(timeunit="fortnights"), "'fortnights' is not one of"),
        (t4() | {"schema_version": "2.0.0"}, "schema '2.0.0'"),
        ("[" * 100_000, "nested"),
    ],
)
def test_a_bad_file_is_named_with_place_and_reason(write, document, why):
    path = write(document)
    with pytest.raises(ImportFailed, match=why) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_files_that_are_cut_absent_or_binary(write, tmp_path):
    cut = write(cache(), "cut_A4000.json.gz")
    cut.write_bytes(cut.read_bytes()[:100])
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe\xfa")
    for path in (cut, binary, tmp_path / "absent.json", tmp_path):
        with pytest.raises(ImportFailed, match=str(path)):
            read(path)


@needs_tables
def test_a_published_table_of_11130_configs_is_read_in_time():
    start = time.perf_counter()
    entry, notes = only(RAW / "dedispersion_MI250X.json.gz")
    assert time.perf_counter() - start < 15
    assert len(entry.trials) == 11_130
    assert all(len(trial.measurements[0].samples_ms) == 32 for trial in entry.trials)
    assert "MI250X" in notes[0]


@needs_tables
def test_both_formats_of_one_published_table_say_the_same():
    from_cache = only(RAW / "convolution_A4000.json.gz")[0]
    from_t4 = only(RAW / "convolution_A4000_T4.json.gz")[0]
    assert len(from_cache.trials) == 4362

    def told(entry):
        return {trial.config: (trial.state, trial.screen_ms) for trial in entry.trials}

    assert told(from_cache) == told(from_t4)
