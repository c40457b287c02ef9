"""Which config of KERNEL is fastest here, and can it be told apart from the next ones?

Read the answer in the report: the winner's interval, the configs tied with it, and what the
declared default would have cost.
"""

from autotune_lab import Budget, Study, run_study_here

study = Study(kernels=["KERNEL"], devices=["auto"], budget=Budget(trials=100))

if __name__ == "__main__":
    run_study_here(study)
