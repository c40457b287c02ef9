"""The process that owns a device: ``python -m autotune_lab.execution.child``, the child's half."""

from collections.abc import Callable, Sequence

from autotune_lab.codec import from_plain, to_plain
from autotune_lab.errors import AutotuneLabError
from autotune_lab.processes import Handler, Message, serve
from autotune_lab.records import MeasureJob


def open_handler(arguments: Sequence[str]) -> Handler:
    """Open the device named by the first argument. Runs in a child.

    A device that can't be opened answers every message with its error, so that the parent learns
    the reason instead of an exit code.
    """
    # Imported late: torch takes seconds, and by now this process is tied to its parent's life.
    from autotune_lab.devices.opening import open_device
    from autotune_lab.execution.session import Session

    try:
        session = Session(open_device(arguments[0]))
        hello = session.hello()
    except AutotuneLabError as error:
        refusal = _refusal(error)
        return lambda _message, _progress: refusal

    def handle(message: Message, progress: Callable[[int], None]) -> Message:
        if "hello" in message:
            return {"hello": to_plain(hello)}
        job = from_plain(MeasureJob, message["measure"])
        try:
            return {"outcome": to_plain(session.measure(job, progress=progress))}
        except AutotuneLabError as error:
            return _refusal(error)

    return handle


def _refusal(error: AutotuneLabError) -> Message:
    return {"error": {"class": type(error).__name__, "message": str(error)}}


if __name__ == "__main__":
    serve(open_handler)
