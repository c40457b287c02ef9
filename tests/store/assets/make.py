"""Makes the store of the current schema that later versions must be able to upgrade.

Run once when a schema is released, and commit what it writes:

    python -m tests.store.assets.make
"""

from pathlib import Path

from autotune_lab.records import Phase, Source, TrialState
from autotune_lab.store.store import Store
from autotune_lab.store.upgrade import HEAD
from tests.store import making


def main():
    path = Path(__file__).parent / f"v{HEAD}.db"
    with Store.open(str(path)) as store:
        run_id, context_id = making.opened(store)
        made = making.opened(store, making.context(model=making.A4000, source=Source.IMPORTED))[1]
        first = making.measure(store, run_id, context_id, 0)
        making.measure(store, run_id, context_id, 1, making.failed(TrialState.CRASHED))
        store.claim(run_id, context_id, making.config(2), 2)
        for number in (1, 2):
            taken = making.measurement(1.0 + number, phase=Phase.PLAYOFF, round=number)
            store.add_measurement(first, taken)
        imported = making.context(model=making.A4000, source=Source.IMPORTED)
        store.record(made, making.trial(0, 4.5, of=imported))
        store.add_pick(making.pick())
        store.end_run(run_id, "done")
    print(path)


if __name__ == "__main__":
    main()
