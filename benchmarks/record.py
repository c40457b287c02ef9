"""Record whole spaces on this GPU: the measurements behind demo, tests and replay device.

    python benchmarks/record.py --out autotune_lab/recordings/2026-12-01-nvidia-h200.jsonl.gz

Tunes matmul on five problems, row_softmax and vector_add on three each, exhaustively and without
giving slow configs up, then row_softmax and the three smaller matmul problems on 64 and 32 SMs,
runs every winner in the other contexts of its kernel, and writes one compact file. An interrupted
run goes on where it stopped.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from autotune_lab import recording
from autotune_lab.definitions import Problem
from autotune_lab.records import Phase, Protocol
from autotune_lab.store import recorder
from autotune_lab.store.query import Query
from autotune_lab.store.store import Store
from autotune_lab.tuning.lines import PlainLines
from autotune_lab.tuning.running import run_study
from autotune_lab.tuning.study import Budget, Study

LARGE = [Problem(M=n, N=n, K=n, dtype="bfloat16") for n in (4096, 8192)]
SMALL = [
    Problem(M=16, N=8192, K=8192, dtype="bfloat16"),
    Problem(M=1000, N=4000, K=2000, dtype="bfloat16"),
    Problem(M=256, N=8192, K=4096, dtype="bfloat16"),
]
PROTOCOL = Protocol(screen_ratio=1e6, max_samples=25, budget_ms=60.0, warmup_ms=100.0)
EVERYTHING = {
    "samplers": ["exhaustive"],
    "budget": Budget(trials=None, equal_failures=1_000_000),
    "protocol": PROTOCOL,
    "phases": (Phase.SCREEN, Phase.PLAYOFF, Phase.TRANSFER),
}


def studies(device: str, kernels: list[str]) -> list[Study]:
    whole = Study(
        name="recording",
        kernels=kernels,
        problems={"matmul": [*LARGE, *SMALL]} if "matmul" in kernels else {},
        devices=[device],
        **EVERYTHING,
    )
    parts = Study(
        name="recording-parts",
        kernels=["matmul", "row_softmax"],
        problems={"matmul": SMALL},
        devices=[f"{device}@64sm", f"{device}@32sm"],
        **EVERYTHING,
    )
    return [whole, parts] if "matmul" in kernels else [whole]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--kernels", default="matmul,row_softmax,vector_add")
    parser.add_argument("--store", default="sqlite:///out/recording.db")
    parser.add_argument("--out", type=Path, default=Path("out/recording.jsonl.gz"))
    options = parser.parse_args()
    Path("out").mkdir(exist_ok=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    store = Store.open(options.store)
    try:
        for study in studies(options.device, options.kernels.split(",")):
            result = run_study(
                study, store, root=Path.cwd(), observe=PlainLines(sys.stderr, interval_s=20)
            )
            for failure in result.failures:
                print(f"failed: {failure.task}: {failure.error}")
    finally:
        contexts = recorder.dump(store, Query())
        recording.write(options.out, contexts)
        store.close()
        states = Counter(t.state.value for c in contexts for t in c.trials)
        print(f"{len(contexts)} contexts, {dict(states)}, {time.monotonic() - started:.0f} s")
        print(f"{options.out}: {options.out.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
