"""The child's half: answer messages, report progress, and end with the parent."""

import ctypes
import mmap
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence

from autotune_lab import errors
from autotune_lab.processes.frames import Message, take_frame, write_frame

Handler = Callable[[Message, Callable[[int], None]], Message]


def serve(open_handler: Callable[[Sequence[str]], Handler]) -> None:
    """Answer the parent's messages until it goes away. Runs in a child, as its whole life.

    Args:
        open_handler: called with the child's arguments once the process is tied to its parent;
            makes the slow imports and returns ``handler(message, progress) -> reply``. Errors of
            the lab, from it or from the handler, are raised in the parent; any other ends the
            process.
    """
    requests, replies, counter, parent, bind = (int(text) for text in sys.argv[1:6])
    for descriptor in (requests, replies, counter):
        os.set_inheritable(descriptor, False)
    inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_watch, args=(requests, inbox), daemon=True).start()
    if bind:
        _die_with(parent)
    shared = memoryview(mmap.mmap(counter, 8)).cast("Q")

    def report(count: int) -> None:
        shared[0] = count

    try:
        handler = open_handler(sys.argv[6:])
    except errors.AutotuneLabError as error:
        handler = _raising(error)
    write_frame(replies, {"ready": True})
    while True:
        message = inbox.get()
        started = time.perf_counter()
        try:
            answer: Message = {"reply": handler(message, report)}
        except errors.AutotuneLabError as error:
            answer = {"error": [type(error).__name__, str(error)]}
        elapsed_ms = (time.perf_counter() - started) * 1e3
        write_frame(replies, {**answer, "elapsed_ms": elapsed_ms})


def _raising(error: errors.AutotuneLabError) -> Handler:
    def refuse(_message: Message, _progress: Callable[[int], None]) -> Message:
        raise error

    return refuse


def _watch(requests: int, inbox: "queue.SimpleQueue[Message]") -> None:
    """Feed messages to the main thread, and end the process group when the parent is gone."""
    buffer = bytearray()
    while chunk := os.read(requests, 2**16):
        buffer += chunk
        while (frame := take_frame(buffer)) is not None:
            inbox.put(frame)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _die_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends, even inside foreign code.

    The watching thread takes the whole process group along, but needs the interpreter lock. So the
    death signal is SIGHUP, which is number 1, and its handler is libc's ``alarm``: the call is
    ``alarm(1)``, and SIGALRM ends a process whose thread did not get to run within that second.
    """
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None)
    pr_set_pdeathsig = 1
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    libc.signal(int(signal.SIGHUP), ctypes.cast(libc.alarm, ctypes.c_void_p))
    libc.prctl(pr_set_pdeathsig, int(signal.SIGHUP), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)
