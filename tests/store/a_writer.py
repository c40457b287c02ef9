"""A process that measures into a store.

    python -m tests.store.a_writer STORE FIRST COUNT [DIE_AT]

Waits for a line on its standard input, so that many can be let go together; prints each trial's
number once it is stored; with ``DIE_AT`` it is killed inside the commit of that trial's result.
"""

import os
import signal
import sys

from sqlalchemy import event

from autotune_lab.store.store import Store
from tests.store import making


def main(url, first, count, die_at=-1):
    print("ready", flush=True)
    sys.stdin.readline()
    store = Store.open(url)
    run_id, context_id = making.opened(store)
    for number in range(first, first + count):
        trial_id = store.claim(run_id, context_id, making.config(number), number)
        if trial_id is None:
            continue
        if number == die_at:
            event.listen(store._engine, "commit", lambda _: os.kill(os.getpid(), signal.SIGKILL))
        store.finish(trial_id, making.ok(1.0 + number), making.UUID)
        print(number, flush=True)
    store.end_run(run_id, "done")
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
