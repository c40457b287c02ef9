"""What does a winner cost on another GPU? The whole lab in one run, with or without a GPU.

Tunes matmul on three problems and row_softmax on its own, on the GPU in this machine and on a
64-SM part of it; without a GPU, on an H200 and its 64-SM part as they were recorded. Then each
winner is run where it did not win, compiled for three GPUs that are not here, and everything is
written into one page.

How to read the answer: the page's hardware-overfitting section. A row is the device that a config
was tuned on, a column the one it runs on, a cell how much of the best speed there it keeps.
"""

import sys
import tempfile
from pathlib import Path

from autotune_lab import Budget, Phase, Problem, Query, Store, Study, run_study, write_report
from autotune_lab.checking.feasibility import Question, feasibility, targets_named
from autotune_lab.devices.opening import resolve
from autotune_lab.settings import Settings
from autotune_lab.tuning.lines import PlainLines

HERE = resolve("auto")
PART = "cuda:0@64sm" if HERE.startswith("cuda") else "replay@nvidia-h200-64sm"
FOREIGN = ("sm_80", "sm_120", "gfx942")

study = Study(
    name="quickstart",
    kernels=["matmul", "row_softmax"],
    problems={
        "matmul": [
            Problem(M=16, N=8192, K=8192, dtype="bfloat16"),
            Problem(M=1000, N=4000, K=2000, dtype="bfloat16"),
            Problem(M=256, N=8192, K=4096, dtype="bfloat16"),
        ],
    },
    devices=[HERE, PART],
    budget=Budget(trials=120),
    phases=(Phase.SCREEN, Phase.PLAYOFF, Phase.TRANSFER),
)


def main() -> int:
    """Run the study, judge its winners on foreign GPUs, write the report."""
    settings = Settings.discover(Path.cwd())
    out = settings.root / "out" / "quickstart"
    out.mkdir(parents=True, exist_ok=True)
    with Store.open(f"sqlite:///{out}/lab.db") as store:
        result = run_study(
            study, store, root=settings.root, observe=PlainLines(sys.stderr, interval_s=1.0)
        )
        print(f"\nDo the winners fit GPUs that are not here? ({', '.join(FOREIGN)})")
        questions = {
            (pick.context.kernel.name, pick.config.id): Question(
                pick.context.kernel.name, pick.context.problem, pick.config
            )
            for pick in result.picks
        }
        with tempfile.TemporaryDirectory() as logs:
            for answer in feasibility(
                list(questions.values()), targets_named(FOREIGN), log_dir=Path(logs)
            ):
                verdict = "fits" if answer.fits else f"does not run: {answer.reason}"
                print(f"  {answer.kernel} {answer.config} on {answer.target}: {verdict}")
        page = write_report(store, Query(study=study.name), out / "report", "Quickstart")
    print(f"report: {page}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
