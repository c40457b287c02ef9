"""A compiling process: ``python -m autotune_lab.compiling.child``, the child's half of the pool."""

import functools
import os
import resource
from collections.abc import Callable, Sequence

from autotune_lab import catalog
from autotune_lab.codec import from_plain, to_plain
from autotune_lab.definitions import Arguments, Problem
from autotune_lab.processes import Handler, Message, serve
from autotune_lab.records import CompileJob

_NICE = 10


def open_handler(arguments: Sequence[str]) -> Handler:
    """Limit this process and load the compiler. Runs in a child.

    RLIMIT_DATA counts the memory that a process may write, not what torch maps of its libraries:
    beyond it an allocation fails, and this process ends instead of the machine running full.
    """
    os.nice(_NICE)
    memory_bytes = int(arguments[0])
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    # Imported late: torch takes seconds, and by now this process is tied to its parent's life.
    from autotune_lab.compiling.ahead import shapes_of_inputs, warm_up
    from autotune_lab.compiling.compiler import compile_config

    warm_up()
    load = functools.cache(catalog.load)

    @functools.lru_cache(maxsize=16)
    def shapes(kernel: str, problem: Problem) -> Arguments:
        return shapes_of_inputs(load(kernel), problem)

    def handle(message: Message, _progress: Callable[[int], None]) -> Message:
        job = from_plain(CompileJob, message)
        outcome = compile_config(
            load(job.kernel),
            job.problem,
            job.config,
            job.model,
            shapes=lambda: shapes(job.kernel, job.problem),
        )
        return {"outcome": to_plain(outcome)}

    return handle


if __name__ == "__main__":
    serve(open_handler)
