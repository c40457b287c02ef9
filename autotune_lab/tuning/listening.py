"""Records what plain ``@triton.autotune`` users measure, without a change to their code.

Inside ``with autotune_lab.listen():`` each tuning by Triton goes into the store too. From Triton
3.8 on its autotuning listener tells of it; before, and in the interpreter, a wrapper around
``Autotuner.run`` does. Whatever fails here is logged once and never reaches the user's program.
"""

import contextlib
import functools
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from autotune_lab.errors import NoDevice
from autotune_lab.records import Device, Environment, Work
from autotune_lab.settings import Settings
from autotune_lab.store.store import Store
from autotune_lab.tuning.overheard import Tuned, overheard

Present = Callable[[], tuple[Device, Environment]]
STUDY = "triton.autotune"

_log = logging.getLogger(__name__)


class Listener:
    """What was heard so far.

    Attributes:
        store: where it goes, as ``Store.open`` takes it.
        tunings: how many tunings were stored.
        trials: how many trials of those were new.
        fault: why the last one was not stored; ``""`` while nothing went wrong.
    """

    def __init__(self, store: str, *, study: str = STUDY, present: Present) -> None:
        self.store = store
        self.tunings = 0
        self.trials = 0
        self.fault = ""
        self._study = study
        self._present = present
        self._run_id: int | None = None
        self._lock = threading.Lock()

    def hear(self, tell: Callable[[], Tuned]) -> None:
        """Store the tuning that a function tells of; never raises."""
        with self._lock, self._quietly():
            device, environment = self._present()
            found = overheard(tell(), device, environment)
            with Store.open(self.store) as store:
                if self._run_id is None:
                    self._run_id = store.begin_run(self._study, {"listened": True})
                store.add_context(found.context, space=found.space, work=Work(), hello=None)
                ids = store.record_all(found.context.id, found.trials, run_id=self._run_id)
            self.tunings += 1
            self.trials += sum(trial_id is not None for trial_id in ids)

    def end(self) -> None:
        """Say in the store that nothing more will come; never raises."""
        with self._lock, self._quietly():
            if self._run_id is not None:
                with Store.open(self.store) as store:
                    store.end_run(self._run_id, "done")
                self._run_id = None

    @contextlib.contextmanager
    def _quietly(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the program that we listen to must not notice
            if not self.fault:
                _log.warning("what triton.autotune measured is not stored: %s", error)
            self.fault = f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def listen(store: str | None = None, *, study: str = STUDY) -> Iterator[Listener]:
    """Store what ``@triton.autotune`` measures inside the block.

    Args:
        store: a URL or a file's path; by default the store of the working folder's lab.
        study: the study's name in the store.

    Yields:
        A ``Listener``, which counts what it hears.
    """
    url = Settings.discover(Path.cwd(), store=store).store_url
    with listening(Listener(url, study=study, present=_present)) as listener:
        yield listener


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[Listener]:
    """Let a listener hear what Triton measures inside the block."""
    knobs = _knobs()
    try:
        if knobs is not None and hasattr(knobs.autotuning, "listener"):
            with _as_listener(knobs, listener), _around_run(listener, only_interpreted=True):
                yield listener
        else:
            with _around_run(listener, only_interpreted=False):
                yield listener
    finally:
        listener.end()


@contextlib.contextmanager
def _as_listener(knobs: Any, listener: Listener) -> Iterator[None]:
    """Set Triton's own listener; one that is there still hears everything."""
    earlier = knobs.autotuning.listener
    if knobs.runtime.interpret:  # there Triton looks for a compiled kernel, and fails
        yield
        return

    def hear(**event: Any) -> None:
        if earlier is not None:
            earlier(**event)
        if not event.get("cache_hit"):  # a file's times may be of another GPU
            caller = sys._getframe(1)
            listener.hear(lambda: _told(event, caller))

    knobs.autotuning.listener = hear
    try:
        yield
    finally:
        if knobs.autotuning.listener is hear:
            knobs.autotuning.listener = earlier


def _told(event: dict[str, Any], caller: FrameType) -> Tuned:
    """Return what Triton tells its listener, with what it does not tell: names and arguments.

    They are in the frame of ``Autotuner.run``, which calls the listener. Where a later Triton has
    them elsewhere, the fields of the problem are numbered.
    """
    told = Tuned(event["fn"], tuple(event["key"]), dict(event["configs_timings"]))
    seen: dict[str, Any] = caller.f_locals
    autotuner, arguments = seen.get("self"), seen.get("_args")
    if autotuner is None or not isinstance(arguments, dict):
        return told
    return replace(told, kernel=autotuner.fn, autotuner=autotuner, arguments=arguments)


@contextlib.contextmanager
def _around_run(listener: Listener, *, only_interpreted: bool) -> Iterator[None]:
    """Watch ``Autotuner.run`` for a tuning that it has just done."""
    autotuners = _autotuners(only_interpreted=only_interpreted)
    if autotuners is None:
        yield
        return
    run = autotuners.run

    @functools.wraps(run)
    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = vars(self).get("bench_time")
        returned = run(self, *args, **kwargs)
        if vars(self).get("bench_time") is not before:
            listener.hear(lambda: _seen(self, args, kwargs))
        return returned

    autotuners.run = watched
    try:
        yield
    finally:
        if autotuners.run is watched:
            autotuners.run = run


def _seen(autotuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tuned:
    given = {**dict(zip(autotuner.arg_names, args, strict=False)), **kwargs}
    return Tuned(
        kernel=autotuner.fn,
        key=next(reversed(autotuner.cache), ()),
        timings=dict(autotuner.configs_timings),
        autotuner=autotuner,
        arguments={name: given[name] for name in autotuner.arg_names if name in given},
    )


def _knobs() -> Any:
    """Return Triton's settings, None without Triton: then nobody tunes, and nothing is heard."""
    try:
        from triton import knobs
    except ImportError:
        return None
    return knobs


def _autotuners(*, only_interpreted: bool) -> Any:
    """Return the class to watch, or None if Triton's own listener hears everything."""
    knobs = _knobs()
    if knobs is None or (only_interpreted and not knobs.runtime.interpret):
        return None
    from triton.runtime.autotuner import Autotuner

    return Autotuner


def _present() -> tuple[Device, Environment]:
    """Return what a launch would run on now: the interpreter, or torch's current GPU.

    Raises:
        NoDevice: there is neither.
    """
    import torch
    from triton import knobs

    if knobs.runtime.interpret:
        from autotune_lab.devices.interpreter import InterpreterDevice

        interpreter = InterpreterDevice()
        return interpreter.probe(), interpreter.environment()
    if not torch.cuda.is_available():
        raise NoDevice("there is no GPU that its times could be of")
    from autotune_lab.devices.cuda.device import read_device, read_driver
    from autotune_lab.devices.cuda.software import read_environment

    index = torch.cuda.current_device()
    return read_device(index), read_environment(read_driver(index))
