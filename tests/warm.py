"""Runs the command line in a process of its own that has its imports done: forked, not started.

A command takes seconds of imports (torch above all) before its first line, and the suite gives
hundreds of commands. The process forked here is as real as a started one: it has its own id, dies
by ``kill -9`` alone, and its children are started as ever.
"""

import atexit
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.warm_imports"])


class Command:
    """A running ``autotune-lab``, with the few methods of ``subprocess.Popen`` that tests use."""

    def __init__(
        self, arguments: tuple[str, ...], cwd: Path, env: Mapping[str, str] | None = None
    ) -> None:
        self.args = ["autotune-lab", *arguments]
        self._folder = Path(tempfile.mkdtemp(prefix="command-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._process = _CONTEXT.Process(
            target=_run,
            args=(self.args, str(cwd), {**os.environ, **(env or {})}, str(self._folder)),
        )
        self._process.start()

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end, and return what was printed.

        Raises:
            TimeoutExpired: it still runs.
        """
        deadline = time.monotonic() + (timeout or 240.0)
        self._process.join(max(0.0, deadline - time.monotonic()))
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 240.0)
        return self.printed("stdout"), self.printed("stderr")

    def printed(self, stream: str) -> str:
        """What it has written so far to ``stdout`` or ``stderr``."""
        path = self._folder / stream
        return path.read_text(errors="replace") if path.exists() else ""


def call(
    arguments: tuple[str, ...], cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    command = Command(arguments, cwd, env)
    try:
        out, err = command.communicate()
    finally:
        command.kill()
    return subprocess.CompletedProcess(command.args, command.returncode or 0, out, err)


def _run(arguments: list[str], cwd: str, env: dict[str, str], folder: str) -> None:
    """Be the command line. Runs in the forked process, as its whole life."""
    from autotune_lab.cli.app import main

    for number, stream in enumerate(("stdout", "stderr"), start=1):
        file = os.open(f"{folder}/{stream}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = arguments
    try:
        main()
    finally:
        atexit._run_exitfuncs()
