"""Options that narrow what a reading command reads."""

from typing import Annotated

import typer

KernelOption = Annotated[str | None, typer.Option("--kernel", help="Only this kernel.")]
ProblemOption = Annotated[str | None, typer.Option("--problem", help="Only this problem.")]
ModelOption = Annotated[str | None, typer.Option("--device-model", help="Only this device model.")]
StudyOption = Annotated[str | None, typer.Option("--study", help="Only this study.")]
SimulatedOption = Annotated[
    bool, typer.Option("--include-simulated", help="Also interpreter and fake-timer results.")
]
