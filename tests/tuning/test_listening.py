"""What plain autotuned kernels measure is stored, and their program never notices."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import triton
from triton import knobs

from autotune_lab import Query, Store
from autotune_lab.errors import NoDevice
from autotune_lab.records import Device, Environment, Source, TrialState
from autotune_lab.store import frames
from autotune_lab.tuning.listening import Listener, listening
from autotune_lab.tuning.overheard import TRITONS, UNKNOWN, Tuned, overheard
from tests import autotuned
from tests.tuning.labs import MODEL

HERE = Device(MODEL, uuid="GPU-1", source=Source.GPU)
ENVIRONMENT = Environment(driver="test")
PROGRAM = Path(__file__).with_name("listened.py")


class Bare:
    """Stands for the compiled kernel below an autotuner, where there is no GPU to launch it on."""

    __module__ = "triton"

    def __init__(self, kernel):
        self.fn, self.values, self.launches = kernel, None, 0

    def run(self, *args, **kwargs):
        self.launches += 1


def tuner(times=(3.0, 1.0, 2.0), key=("n_elements",), **options):
    """Return an autotuner whose timer says what it is told to."""
    answers = iter(times)
    autotuner = triton.autotune(
        configs=autotuned.configs(),
        key=list(key),
        do_bench=lambda call, quantiles: (call(), next(answers))[1],
        **options,
    )(autotuned.scaled_kernel.fn.fn.fn)
    autotuner.fn = Bare(autotuner.fn)
    return autotuner


def launch(autotuner, n=1000, y=None):
    x = torch.zeros(n)
    autotuner[(1,)](x, torch.zeros(n) if y is None else y, n, EVEN=False, SCALE=1)


@pytest.fixture
def listener(tmp_path):
    return Listener(str(tmp_path / "lab.db"), present=lambda: (HERE, ENVIRONMENT))


def stored(listener):
    with Store.open(listener.store, create=False) as store:
        (context,) = store.contexts()
        return context, store.trials(context.id)


needs_listener = pytest.mark.skipif(
    not hasattr(knobs.autotuning, "listener"), reason="this Triton has no autotuning listener"
)


def test_a_tuning_is_stored_with_all_its_configs(listener):
    with listening(listener):
        launch(
            tuner([[3.0, 2.9, 3.1], [float("inf")] * 3, [float("nan")] * 3]),
            y=torch.zeros(9).half(),
        )
    context, trials = stored(listener)
    assert (listener.tunings, listener.trials, listener.fault) == (1, 3, "")
    assert context.kernel.name == "scaled_kernel"
    assert dict(context.problem) == {
        "n_elements": 1000, "dtype": "float32", "dtype_y_ptr": "float16",
    }  # fmt: skip
    assert (context.source, context.model, context.protocol) == (Source.LISTENED, MODEL, UNKNOWN)
    assert [trial.state for trial in trials] == [
        TrialState.OK, TrialState.LAUNCH_ERROR, TrialState.BAD_TIMING,
    ]  # fmt: skip
    assert trials[0].screen_ms == 3.0
    assert dict(trials[0].config) == {"BLOCK": 64, "num_warps": 1, "num_stages": 3}
    assert {trial.device_uuid for trial in trials} == {"GPU-1"}


def test_every_new_key_is_heard_and_a_known_one_is_not(listener):
    autotuner = tuner(range(1, 20))
    with listening(listener):
        for n in (1000, 64, 1000, 64):
            launch(autotuner, n)
    launch(autotuner, 512)
    assert (listener.tunings, listener.trials) == (2, 6)


def test_the_same_tuning_in_another_process_adds_nothing(listener):
    for expected in (3, 3):
        with listening(listener):
            launch(tuner())
        assert listener.trials == expected


def test_a_study_of_its_own_ends_with_the_block(listener):
    with listening(listener):
        launch(tuner())
    with Store.open(listener.store) as store:
        (study,) = store.studies()
    assert (study.name, study.state, study.trials) == ("triton.autotune", "done", {"ok": 3})


def test_such_times_are_never_ranked_with_the_labs():
    assert TRITONS.id != UNKNOWN.id
    assert not Source.LISTENED.is_simulated
    assert "not verified" in Source.LISTENED.notice


@needs_listener
def test_a_listener_that_is_there_already_goes_on_hearing(listener, monkeypatch):
    events = []
    monkeypatch.setattr(knobs.autotuning, "listener", lambda **event: events.append(event))
    theirs = knobs.autotuning.listener
    with listening(listener):
        launch(tuner())
    assert (len(events), listener.tunings) == (1, 1)
    assert knobs.autotuning.listener is theirs


@needs_listener
def test_times_out_of_tritons_own_file_are_left_out(listener):
    with listening(listener):
        knobs.autotuning.listener(
            fn=autotuned.scaled_kernel, key=(1,), best_config=None, configs_timings={},
            duration=None, cache_hit=True,
        )  # fmt: skip
    assert (listener.tunings, listener.fault) == (0, "")


@needs_listener
def test_without_the_frame_the_fields_are_numbered(listener):
    timings = {config: [1.0, 1.0, 1.0] for config in autotuned.configs()}
    with listening(listener):
        knobs.autotuning.listener(
            fn=autotuned.scaled_kernel.fn.fn.fn, key=(1000, "torch.float32"), best_config=None,
            configs_timings=timings, duration=0.1, cache_hit=False,
        )  # fmt: skip
    context, trials = stored(listener)
    assert dict(context.problem) == {"key_0": 1000, "key_1": "torch.float32"}
    assert context.protocol == TRITONS
    assert len(trials) == 3


def absent():
    raise NoDevice("no GPU")


@pytest.mark.parametrize("fault", ["no device", "no folder", "no store"])
def test_whatever_fails_the_program_goes_on(listener, fault, caplog):
    if fault == "no device":
        listener = Listener(listener.store, present=absent)
    elif fault == "no folder":
        listener.store = "/proc/nowhere/lab.db"
    elif fault == "no store":
        Path(listener.store).write_bytes(b"SQLite format 3\0" + b"?" * 5000)
    autotuner = tuner(range(1, 7))
    with listening(listener):
        launch(autotuner)
        launch(autotuner, 64)
        assert autotuner.best_config.kwargs == {"BLOCK": 64}
        assert autotuner.fn.launches == 8
    assert listener.fault
    assert listener.tunings == 0
    assert len(caplog.records) == 1  # said once


@needs_listener
def test_an_event_of_another_shape_is_a_fault_and_no_error(listener):
    with listening(listener):
        knobs.autotuning.listener(nonsense=True)
    assert listener.fault.startswith("KeyError")


def test_errors_of_the_program_are_its_own(listener):
    with listening(listener), pytest.raises(StopIteration):
        launch(tuner([1.0]))
    assert (listener.tunings, listener.fault) == (0, "")


def test_nothing_is_left_behind(listener):
    run = triton.runtime.autotuner.Autotuner.run
    before = getattr(knobs.autotuning, "listener", None)
    with pytest.raises(RuntimeError), listening(listener):
        raise RuntimeError
    assert triton.runtime.autotuner.Autotuner.run is run
    assert getattr(knobs.autotuning, "listener", None) is before


def test_names_that_a_problem_can_not_have_are_changed():
    autotuner = tuner(key=["x_ptr"])
    autotuner.keys, autotuner.arg_names = ["id", "T"], ["id", "T"]
    tuned = Tuned(
        autotuner.fn.fn, (), {autotuner.configs[0]: 1.0}, autotuner,
        {"id": 5, "T": object},
    )  # fmt: skip
    problem = overheard(tuned, HERE, ENVIRONMENT).context.problem
    assert dict(problem) == {"id_": 5, "T": str(object)}


def run(tmp_path, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "autotune_lab", "--store", "lab.db", "listen", *arguments],
        cwd=tmp_path, env={"PATH": "", "HOME": str(tmp_path), **environment},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_a_program_is_listened_to_unchanged(tmp_path):
    done = run(tmp_path, "--", str(PROGRAM), "--twice", TRITON_INTERPRET="1")
    assert (done.returncode, done.stdout) == (0, "doubled --twice\n"), done.stderr
    assert "listened: 6 new trials of 2 tunings stored" in done.stderr
    with Store.open(str(tmp_path / "lab.db")) as store:
        query = Query(include_simulated=True)
        trials = frames.with_problem(frames.with_parameters(frames.trials(store, query)))
        # The interpreter's times mean nothing, whoever took them.
        assert len(frames.trials(store, Query())) == 0
    assert sorted(trials["problem.n"].unique()) == [100, 300]
    assert set(trials["source"]) == {"interpreter"}
    assert sorted(trials["state"]) == ["launch_error", *["ok"] * 5]
    assert set(trials["kernel"]) == {"double_kernel"}


def test_a_programs_own_failure_is_shown_and_is_its_own(tmp_path):
    script = tmp_path / "fails.py"
    script.write_text("import sys\nif sys.argv[1:]: sys.exit(5)\nraise KeyError('mine')\n")
    done = run(tmp_path, str(script))
    assert done.returncode == 1
    assert "KeyError: 'mine'" in done.stderr
    assert run(tmp_path, str(script), "x").returncode == 5
    assert "no such program" in run(tmp_path, "nowhere.py").stderr
