"""The process that owns a device: ``python -m autotune_lab.execution.child``, the child's half."""

from collections.abc import Callable, Sequence

from autotune_lab.codec import from_plain, to_plain
from autotune_lab.processes import Handler, Message, serve
from autotune_lab.records import MeasureJob


def open_handler(arguments: Sequence[str]) -> Handler:
    """Open the device named by the first argument. Runs in a child."""
    # Imported late: torch takes seconds, and by now this process is tied to its parent's life. A
    # missing driver is told before that.
    from autotune_lab.devices.opening import open_device

    device = open_device(arguments[0])
    from autotune_lab.execution.session import Session

    session = Session(device)

    def handle(message: Message, progress: Callable[[int], None]) -> Message:
        if "hello" in message:
            return {"hello": to_plain(session.hello())}
        if "ceilings" in message:
            return {"hello": to_plain(session.ceilings())}
        if "present" in message:
            return {}
        job = from_plain(MeasureJob, message["measure"])
        return {"outcome": to_plain(session.measure(job, progress=progress))}

    return handle


if __name__ == "__main__":
    serve(open_handler)
