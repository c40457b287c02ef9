"""What the lab itself costs per trial: ask, claim, store, progress, on a replay that takes no time.

    python benchmarks/overhead.py [--trials 1000] [SAMPLER ...]

Runs each sampler over a synthetic recording of 4,096 configs with the plain display, the playoff
left out. Prints milliseconds per trial, of wall clock and of CPU, and those of each quarter of the
study, so that a cost that grows with the history is seen; and how far memory grew after the first
quarter. The CPU figure is judged: the wall clock of a busy machine is not the lab's doing.
"""

import argparse
import io
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from autotune_lab import Budget, Phase, Protocol, Store, Study, run_study
from autotune_lab.tuning.events import Event, TrialFinished
from autotune_lab.tuning.lines import PlainLines
from tests.tuning.labs import Lab

LIMIT_MS = 8.0
SPACE = "Space(a=range(16), b=range(16), c=range(16))"


class Stopwatch:
    """An observer that notes when trials end and what memory is then, and shows them as lines."""

    def __init__(self) -> None:
        self.show = PlainLines(io.StringIO())
        self.ends: list[float] = []
        self.cpu_s: list[float] = []
        self.memory_kib: list[int] = []

    def __call__(self, event: Event) -> None:
        """Note an event."""
        self.show(event)
        if isinstance(event, TrialFinished):
            self.ends.append(time.perf_counter())
            self.cpu_s.append(time.process_time())
            self.memory_kib.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def measure(sampler: str, trials: int, folder: Path) -> Stopwatch:
    """Screen ``trials`` configs into a new store."""
    lab = Lab(folder)
    lab.write(space=SPACE)
    device = lab.record(lambda c: 1.0 + abs(c["a"] - 5) + abs(c["b"] - 9) / 4 + c["c"] / 50)
    watch = Stopwatch()
    study = Study(
        kernels=[lab.reference],
        devices=[device],
        samplers=[sampler],
        budget=Budget(trials=trials),
        protocol=Protocol(),
        phases=[Phase.SCREEN],
    )
    with Store.open(f"sqlite:///{folder}/lab.db") as store:
        run_study(study, store, root=folder, observe=watch)
    return watch


def main() -> int:
    """Print a line per sampler; exit with 1 if one is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("samplers", nargs="*", default=["random", "tpe"])
    parser.add_argument("--trials", type=int, default=1000)
    options = parser.parse_args()
    print(
        f"{'sampler':<12}{'ms/trial':>9}{'of CPU':>8}   by quarter                   memory growth"
    )
    worst = 0.0
    for sampler in options.samplers:
        with tempfile.TemporaryDirectory() as folder:
            watch = measure(sampler, options.trials, Path(folder))
        ends = watch.ends
        quarter = len(ends) // 4
        parts = [
            (ends[(i + 1) * quarter - 1] - ends[i * quarter]) / (quarter - 1) * 1e3
            for i in range(4)
        ]
        mean = (ends[-1] - ends[0]) / (len(ends) - 1) * 1e3
        cpu = (watch.cpu_s[-1] - watch.cpu_s[0]) / (len(ends) - 1) * 1e3
        growth = (watch.memory_kib[-1] - watch.memory_kib[quarter]) / 1024
        quarters = "  ".join(f"{part:5.2f}" for part in parts)
        print(f"{sampler:<12}{mean:9.2f}{cpu:8.2f}   {quarters}   {growth:8.1f} MiB")
        worst = max(worst, cpu)
    return int(worst > LIMIT_MS)


if __name__ == "__main__":
    raise SystemExit(main())
