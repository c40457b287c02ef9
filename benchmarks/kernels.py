"""The catalog's kernels against torch and against the copy bandwidth, ratios in one run.

    python benchmarks/kernels.py                # all cases; compiles on all cores first
    python benchmarks/kernels.py --only matmul  # the cases whose name contains a word
    python benchmarks/kernels.py --store lab.db # with the winners of a store among the configs

Each case sweeps a few configs, then times the best three of them and torch's own operation in
turns, on a cold L2 and with the queue kept full, and compares medians. A group of cases runs in a
process of its own: a kernel that takes its process along costs one line of the table. Ends with
what must hold, each ratio beside its target, and exits with 1 if one does not. Writes every number
to ``--out`` as JSON. Takes under four minutes of an H200; what has no target is left out when time
runs short.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kernel_cases import MUST_HOLD, Case, Config, cases

ROOT = Path(__file__).resolve().parents[1]
COPY_ELEMENTS = 2**28
PROCESS_S = 75  # a group takes under half of it
COMPILE_S = 90
WHOLE_S = 200  # after that no group without a target is begun
MOST_SKIPPED = 4
TRYING = "trying "


@dataclass
class Result:
    """The best config of a case, its median and the other side's, in ms."""

    case: str
    goal: float
    against: str
    kernel: str = ""
    config: Config = field(default_factory=dict)
    time_ms: float = 0.0
    other_ms: float = 0.0
    ratio: float = 0.0
    rate: str = ""
    faults: list[str] = field(default_factory=list)


class Timer:
    """Times launches one by one as the lab does: on a cold L2, and never waiting for the host."""

    def __init__(self) -> None:
        import torch

        from autotune_lab.devices.cuda.device import read_model
        from autotune_lab.devices.cuda.events import EventTimer

        self.torch = torch
        self.model = read_model(0)
        self.events = EventTimer("cuda", self.model.l2_bytes)

    def samples(self, launch: Callable[[], Any], count: int) -> list[float]:
        """Return each launch's time in ms."""
        return self.events.time(launch, count, prepare=lambda: None, is_cold=True)

    def in_turns(self, launches: list[Callable[[], Any]], rounds: int) -> list[float]:
        """Return each launch's median over rounds that visit all of them."""
        times: list[list[float]] = [[] for _ in launches]
        for _ in range(rounds):
            for launch, found in zip(launches, times, strict=True):
                found += self.samples(launch, 4)
        return [statistics.median(found) for found in times]

    def warm(self) -> None:
        """Load the GPU for 200 ms, so that clock and temperature are those of work."""
        a = self.torch.randn(4096, 4096, device="cuda", dtype=self.torch.bfloat16)
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            self.torch.matmul(a, a)
            self.torch.cuda.synchronize()


def run_case(case: Case, timer: Timer, skipped: list[str]) -> Result:
    """Sweep a case's configs, then time the best against the other side, in turns."""
    torch = timer.torch
    result = Result(case.name, case.goal, case.against)
    found = []
    for kernel, pool in case.candidates.items():
        definition, problem, args = prepare(kernel, case.problem, torch)
        expected = definition.replaces(args)
        expected = expected["out"] if isinstance(expected, dict) else expected
        expected = expected.clone()
        valid = definition.space.bind(problem, timer.model, heuristics=False)
        timer.warm()
        for config in pool:
            if config not in valid:
                continue
            label = f"{case.name}: {kernel} {config}"
            if label in skipped:
                result.faults.append(f"{label}: killed or hung its process")
                continue
            print(f"{TRYING}{label}", file=sys.stderr, flush=True)

            def launch(d: Any = definition, a: Any = args, c: Config = config) -> None:
                d.launch(a, c)

            try:
                output = args[definition.outputs[-1]]
                output.fill_(float("nan"))
                launch()
                if error := disagreement(output, expected, torch):
                    result.faults.append(f"{label}: wrong by {error:.1e}")
                    continue
                found.append((statistics.median(timer.samples(launch, 7)), kernel, config, launch))
            except Exception as error:
                lines = str(error).splitlines() or [type(error).__name__]
                result.faults.append(f"{label}: {lines[0][:100]}")
    if not found:
        return result
    found.sort(key=lambda entry: entry[0])
    others = baselines(case, definition, args, torch)
    best = found[:3]
    timer.warm()
    medians = timer.in_turns([entry[3] for entry in best] + list(others.values()), rounds=12)
    time_ms, (_, kernel, config, _) = min(
        zip(medians, best, strict=False), key=lambda pair: pair[0]
    )
    other_ms = min(medians[len(best) :])
    work = definition.work(problem)
    result.kernel, result.config = kernel, config
    result.time_ms, result.other_ms = time_ms, other_ms
    bandwidth, rate = work["bytes"] / time_ms / 1e6, work["flops"] / time_ms / 1e9
    if case.against == "copy":
        result.ratio = bandwidth / (2 * COPY_ELEMENTS * 4 / other_ms / 1e6)
        result.rate = f"{bandwidth:.0f} GB/s"
    else:
        result.ratio = other_ms / time_ms
        result.rate = f"{rate:.0f} TFLOP/s"
    return result


def prepare(kernel: str, text: str, torch: Any) -> tuple[Any, Any, dict[str, Any]]:
    """Return the definition, its problem, and fresh inputs on the GPU."""
    from autotune_lab import Problem, catalog

    definition = catalog.load(kernel, root=ROOT)
    problem = Problem.parse(text)
    generator = torch.Generator("cuda").manual_seed(0)
    return definition, problem, definition.inputs(problem, torch.device("cuda"), generator)


def disagreement(output: Any, expected: Any, torch: Any) -> float:
    """Return how far two tensors are apart, relative to value and root mean square; 0 if near."""
    a, b = output.float(), expected.float()
    error = ((a - b).abs() / (b.abs() + b.square().mean().sqrt() + 1e-30)).max().item()
    near = 1e-4 if output.dtype == torch.float32 else 4e-2
    return 0.0 if error <= near else error


def baselines(case: Case, definition: Any, args: dict[str, Any], torch: Any) -> dict[str, Any]:
    """Return what the kernel is held against: name -> launch."""
    if case.against == "copy":
        source = torch.randn(COPY_ELEMENTS, device="cuda")
        target = torch.empty_like(source)
        return {"copy": lambda: target.copy_(source)}
    if case.group != "attention":
        return {"torch": lambda: definition.replaces(args)}
    from torch.nn.attention import SDPBackend, sdpa_kernel

    found: dict[str, Any] = {"torch": lambda: definition.replaces(args)}
    for name in ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION"):

        def launch(name: str = name) -> None:
            with sdpa_kernel(getattr(SDPBackend, name)):
                definition.replaces(args)

        try:
            launch()
            torch.cuda.synchronize()
            found[name] = launch
        except RuntimeError as error:
            print(f"{name} does not run: {str(error).splitlines()[0]}", file=sys.stderr)
    return found


def with_winners(selected: list[Case], store: str) -> list[Case]:
    """Return the cases with the winners that a store has of their problems among the configs."""
    if not store:
        return selected
    from autotune_lab import Problem, Query, Store
    from autotune_lab.analysis import winners

    with Store.open(store, create=False) as opened:
        picks = winners.best(opened, Query())
    found = []
    for case in selected:
        problem = Problem.parse(case.problem)
        candidates = {
            kernel: [*pool, *(dict(pick.config) for pick in picks if _is_of(pick, kernel, problem))]
            for kernel, pool in case.candidates.items()
        }
        found.append(replace(case, candidates=candidates))
    return found


def _is_of(pick: Any, kernel: str, problem: Any) -> bool:
    return pick.context.kernel.name == kernel and pick.context.problem == problem


def child(names: list[str], skipped: list[str], store: str) -> None:
    """Run the named cases and print one JSON line for each."""
    timer = Timer()
    for case in with_winners(list(cases()), store):
        if case.name in names:
            try:
                result = run_case(case, timer, skipped)
            except Exception as error:
                result = Result(case.name, case.goal, case.against)
                result.faults.append(f"{type(error).__name__}: {error}"[:200])
            print(json.dumps(asdict(result)), flush=True)
            timer.torch.cuda.empty_cache()


def compile_ahead(selected: list[Case], log_dir: Path) -> None:
    """Fill Triton's cache for all candidates with processes that have no GPU."""
    from autotune_lab import Problem, catalog
    from autotune_lab.compiling.pool import CompilePool
    from autotune_lab.devices.opening import open_device
    from autotune_lab.processes import wait
    from autotune_lab.records import CompileJob, Limits
    from autotune_lab.spaces.config import Config as LabConfig

    model = open_device("cuda:0").probe().model
    pool = CompilePool(max(1, (os.cpu_count() or 2) - 1), Limits(compile_s=60), log_dir=log_dir)
    deadline = time.monotonic() + COMPILE_S
    for case in selected:
        problem = Problem.parse(case.problem)
        for kernel, candidates in case.candidates.items():
            space = catalog.load(kernel, root=ROOT).space
            valid = space.bind(problem, model, heuristics=False)
            for config in filter(valid.__contains__, candidates):
                job = CompileJob(kernel, problem, LabConfig(config), model)
                pool.submit(f"{case.name} {config}", job)
    while pool.pending and time.monotonic() < deadline:
        wait(pool.children, 1.0)
        for key, outcome in pool.collect():
            if outcome.state != "ok":
                print(f"{outcome.state}: {key}: {outcome.reason[:90]}", file=sys.stderr)
    pool.close()


def run_groups(selected: list[Case], store: str, started: float) -> list[Result]:
    """Run each group in a process; a config that kills or hangs it is left out of a second try."""
    results: list[Result] = []
    for name, group in itertools.groupby(selected, key=Case.process):
        waiting, skipped = list(group), list[str]()
        if time.monotonic() - started > WHOLE_S and not any(case.goal for case in waiting):
            print(f"{name} is left out: {WHOLE_S} s are over", file=sys.stderr)
            continue
        while waiting:
            done, lost = run_process([case.name for case in waiting], skipped, store)
            results += done
            waiting = waiting[len(done) :]
            if not waiting:
                break
            if lost in skipped or len(skipped) == MOST_SKIPPED:
                case = waiting.pop(0)
                results.append(Result(case.name, case.goal, case.against, faults=[f"lost: {lost}"]))
            skipped.append(lost)
    return results


def run_process(names: list[str], skipped: list[str], store: str) -> tuple[list[Result], str]:
    """Run cases in a process; return the finished ones, and what it tried when it ended early."""
    command = [sys.executable, __file__, "--child", json.dumps([names, skipped, store])]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=out, stderr=log, cwd=ROOT)
        try:
            ended = f"exit {process.wait(PROCESS_S)}"
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            ended = f"killed after {PROCESS_S} s"
        out.seek(0)
        log.seek(0)
        done = [Result(**json.loads(line)) for line in out if line.startswith("{")]
        lines = [line.strip() for line in log if line.strip()]
    tried = [line.removeprefix(TRYING) for line in lines if line.startswith(TRYING)]
    lost = tried[-1] if tried else "start"
    if len(done) < len(names):
        print(f"{ended} while trying {lost}: {lines[-1][:200] if lines else ''}", file=sys.stderr)
    return done, lost


def table(results: list[Result]) -> Iterator[str]:
    """Yield the lines of a compact table; a case without a goal is neither hit nor miss."""
    for result in results:
        verdict = ("ok  " if result.ratio >= result.goal else "MISS") if result.goal else "    "
        sizes = ",".join(p.split("=")[1] for p in result.case.split(" ")[-1].split(","))
        group = result.case.rsplit(" ", 1)[0]
        config = " ".join(str(v) for v in result.config.values())
        yield (
            f"{verdict} {group:15} {sizes[:44]:44} {result.ratio:5.3f} (goal {result.goal:4.2f}) "
            f"{result.time_ms:8.4f} ms {result.rate:>13} vs {result.against} "
            f"{result.other_ms:8.4f}  {result.kernel} {config}"
        )
        for fault in result.faults[:2]:
            yield f"     {len(result.faults)} faults: {fault[:150]}"


def judged(results: list[Result], selected: list[Case]) -> Iterator[tuple[bool, str]]:
    """Yield whether each thing that must hold does, with its line; what was not selected is not."""
    for claim in MUST_HOLD:
        names = [case.name for case in selected if case.group == claim.group]
        if not names:
            continue
        ratios = {result.case: result.ratio for result in results}
        found = [ratios.get(name, 0.0) for name in names]
        value = 0.0 if min(found) <= 0 else claim.measure(found)
        holds = value >= claim.goal
        count = f"{len(found)} cases"
        note = "" if min(found) > 0 else "; not every case could be measured"
        verdict = "ok  " if holds else "MISS"
        target = f"(target {claim.goal:4.2f}, {count}{note})"
        yield holds, f"{verdict} {claim.what:62} {value:6.3f} {target}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "kernels.json")
    parser.add_argument("--store", default="", help="add its winners to the configs")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*json.loads(options.child))
        return 0
    started = time.monotonic()
    selected = [case for case in cases() if options.only in case.name]
    selected = with_winners(selected, options.store)
    with tempfile.TemporaryDirectory() as logs:
        try:
            compile_ahead(selected, Path(logs))
        except Exception as error:
            print(f"not compiled ahead: {error}", file=sys.stderr)
    print(f"compiled after {time.monotonic() - started:.0f} s", flush=True)
    results = run_groups(selected, options.store, started)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps([asdict(result) for result in results], indent=1))
    print(f"finished after {time.monotonic() - started:.0f} s")
    print("\n".join(table(results)))
    verdicts = list(judged(results, selected))
    print("\nWhat must hold:\n" + "\n".join(line for _, line in verdicts))
    return 0 if all(holds for holds, _ in verdicts) else 1


if __name__ == "__main__":
    raise SystemExit(main())
