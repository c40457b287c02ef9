"""What a production table costs: python benchmarks/loading.py [--entries 100000].

Prints the CPU time of loading it, the memory that it keeps, and the CPU time that importing
``autotune_lab.runtime`` adds to importing torch and Triton. Needs no GPU.
"""

import argparse
import os
import subprocess
import sys
import time
import tracemalloc

from autotune_lab import Problem, catalog, recording
from autotune_lab.exporting import table
from autotune_lab.exporting.base import Options
from autotune_lab.records import Context, Pick
from autotune_lab.runtime import Table

RECORDING = "recordings/2026-12-01-nvidia-h200.jsonl.gz"
IMPORT = """
import time, torch, triton
begin = time.process_time()
import autotune_lab.runtime
print(time.process_time() - begin)
"""


def text_of(entries: int) -> str:
    """Export the config of recorded trials as winners of as many problems."""
    whole = recording.read(catalog.bundled(RECORDING)).contexts[0]
    of, configs = whole.context, [trial.config for trial in whole.trials]
    picks = (
        Pick(
            context=Context(
                of.kernel, Problem(**{**of.problem, "M": m}), of.model, of.environment,
                of.protocol, of.source,
            ),
            config=configs[m % len(configs)],
            median_ms=1.0,
            picked_at="2026-12-01T00:00:00Z",
        )
        for m in range(1, entries + 1)
    )  # fmt: skip
    return table.write(list(picks), options=Options())


def import_ms() -> float:
    """Import the runtime in a fresh process, which may write bytecode as an installation does."""
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", IMPORT]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return 1e3 * float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=100_000)
    text = text_of(parser.parse_args().entries)
    begin = time.process_time()
    found = Table.parse(text, "benchmark")
    load_s = time.process_time() - begin
    count = len(found)
    del found
    tracemalloc.start()
    kept = Table.parse(text, "benchmark")
    held_mib = tracemalloc.get_traced_memory()[0] / 2**20
    imports_ms = min(import_ms() for _ in range(4))
    print(f"entries             {count:>10,} of {len(kept):,}; {len(text) / 1e6:.1f} MB of text")
    print(f"load                {load_s:>10.2f} s of CPU   target < 1")
    print(f"kept                {held_mib:>10.1f} MiB       target < 64")
    print(f"import of runtime   {imports_ms:>10.1f} ms of CPU  target < 50")


if __name__ == "__main__":
    main()
