"""The lab against ``triton.autotune`` on the same 384 GEMM configs, both from a cold cache.

    python benchmarks/against_autotuner.py --device cuda:0 --size 4096

Prints both wall times and their ratio, then re-measures the lab's winner in a fresh process and
prints by how much the reported time differs, beside what the minimum of one pass promises.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

AUTOTUNER = """
import sys, time, json, itertools, torch, triton
from pathlib import Path
from autotune_lab import catalog
from autotune_lab.definitions import Problem
definition = catalog.load("matmul", root=Path.cwd())
kernel = definition.launch.__globals__["matmul_kernel"]
size = int(sys.argv[1])
configs = [
    triton.Config({k: v for k, v in c.items() if k not in ("num_warps", "num_stages")},
                  num_warps=c["num_warps"], num_stages=c["num_stages"])
    for c in definition.space.bind(Problem(M=size, N=size, K=size, dtype="bfloat16"), None)
]
tuner = triton.autotune(configs=configs, key=["M", "N", "K"])(kernel)
a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in "ab")
c = torch.empty(size, size, device="cuda", dtype=torch.bfloat16)
torch.cuda.synchronize()
started = time.monotonic()
grid = lambda meta: (triton.cdiv(size, meta["BLOCK_M"]) * triton.cdiv(size, meta["BLOCK_N"]),)
tuner[grid](a, b, c, size, size, size, *a.stride(), *b.stride(), *c.stride(),
            EVEN_K=True, PRECISION=None)
torch.cuda.synchronize()
print(json.dumps({"configs": len(configs), "seconds": time.monotonic() - started,
                  "best": str(tuner.best_config)}))
"""

REMEASURE = """
import sys, json
from pathlib import Path
from autotune_lab.execution.opening import open_executor
from autotune_lab.records import *
from autotune_lab.definitions import Problem
from autotune_lab.spaces.config import Config
from autotune_lab import processes
size, device, config = int(sys.argv[1]), sys.argv[2], Config(json.loads(sys.argv[3]))
executor = open_executor(device, Limits(), log_dir=Path(sys.argv[4]))
executor.start()
medians = []
for number in range(1, 10):
    problem = Problem(M=size, N=size, K=size, dtype="bfloat16")
    executor.submit(
        MeasureJob(kernel="matmul", problem=problem, config=config, protocol=Protocol(),
                   phase=Phase.PLAYOFF, round=number, verify=number == 1)
    )
    while (outcome := executor.collect()) is None:
        processes.wait(executor.children, 1.0)
    medians.append(outcome.measurement.median_ms)
executor.close()
print(json.dumps(sorted(medians)))
"""


def timed(command: list[str], cache: str, limit_s: float | None = None) -> tuple[float, str]:
    """Return wall time and output; no output when the limit ended it."""
    started = time.monotonic()
    environment = os.environ | {"TRITON_CACHE_DIR": cache}
    try:
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=limit_s
        )
    except subprocess.TimeoutExpired:
        return time.monotonic() - started, ""
    return time.monotonic() - started, done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--limit", type=float, help="seconds that triton.autotune may take")
    options = parser.parse_args()
    n = options.size
    problem = f"M={n},N={n},K={n},dtype=bfloat16"
    with tempfile.TemporaryDirectory() as folder:
        lab_s, printed = timed(
            [sys.executable, "-m", "autotune_lab", "--store", f"sqlite:///{folder}/lab.db", "tune",
             "matmul", "--problem", problem, "--device", options.device, "--sampler", "exhaustive",
             "--json"],
            f"{folder}/lab-cache",
        )  # fmt: skip
        pick = json.loads(printed)["picks"][0]
        print(f"lab: {lab_s:.1f} s for {pick['trials']} configs (whole process, with playoff)")
        config = {k: int(v) for k, v in (item.split("=") for item in pick["config"].split())}
        _, printed = timed(
            [sys.executable, "-c", REMEASURE, str(n), options.device, json.dumps(config), folder],
            f"{folder}/lab-cache",
        )
        fresh_ms = json.loads(printed)[4]
        print(
            f"winner {pick['config']}: reported {pick['median_ms']:.4f} ms,"
            f" fresh process {fresh_ms:.4f} ms, off by {fresh_ms / pick['median_ms'] - 1:+.2%};"
            f" when chosen it seemed faster by {pick['optimism'] or 0:+.2%}"
        )
        tuner_s, printed = timed(
            [sys.executable, "-c", AUTOTUNER, str(n)], f"{folder}/tuner-cache", options.limit
        )
    if not printed:
        print(f"triton.autotune: not done after {tuner_s:.1f} s; ratio over {tuner_s / lab_s:.2f}x")
        return 0
    tuner = json.loads(printed.splitlines()[-1])
    print(
        f"triton.autotune: {tuner_s:.1f} s whole process, {tuner['seconds']:.1f} s tuning,"
        f" {tuner['configs']} configs, best {tuner['best']}"
    )
    print(f"ratio: {tuner_s / lab_s:.2f}x")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
