"""Which part of a store is meant: the one set of filters that every reader shares."""

from collections.abc import Sequence
from dataclasses import dataclass

from autotune_lab.definitions import Problem


@dataclass(frozen=True, slots=True)
class Query:
    """Filters over contexts; None means "any".

    Attributes:
        kernel: its name.
        problem: a problem, or its text in any order of fields (``"M=4096,dtype=bfloat16"``).
        device_model: a slug (``"nvidia-h200"``), the driver's exact name, or an id.
        study: only contexts, and of those only trials, that a run of this study measured.
        context_ids: exactly these contexts.
        include_simulated: also interpreter and scripted times, which mean nothing for any GPU.
        all_code: also versions of a kernel's code other than the one tuned last.
    """

    kernel: str | None = None
    problem: Problem | str | None = None
    device_model: str | None = None
    study: str | None = None
    context_ids: Sequence[str] | None = None
    include_simulated: bool = False
    all_code: bool = True
