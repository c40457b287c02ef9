"""The third phase: run the winners of other contexts here, so that transfer is measured."""

from collections.abc import Sequence

from autotune_lab.records import Phase, Pick
from autotune_lab.samplers.base import Observation
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.space import BoundSpace
from autotune_lab.tuning.bench import Bench
from autotune_lab.tuning.opening import OpenContext
from autotune_lab.tuning.screening import Screening
from autotune_lab.tuning.study import Budget


class NoProposals:
    """A sampler that proposes nothing: only what is queued is run.

    Args:
        stopped_because: what is said when all of it was.
    """

    def __init__(self, stopped_because: str) -> None:
        self.stopped_because = stopped_because

    def propose(
        self,
        space: BoundSpace,
        history: Sequence[Observation],
        pending: Sequence[Config],
        count: int,
    ) -> list[Config]:
        """Return nothing."""
        del space, history, pending, count
        return []


def foreign_winners(opened: OpenContext, picks: Sequence[Pick]) -> list[Config]:
    """Name the winners of the kernel's other contexts that are valid configs here, each once."""
    winners: dict[str, Config] = {}
    for pick in picks:
        is_foreign = pick.context.id != opened.id
        is_same_code = pick.context.kernel.code_hash == opened.context.kernel.code_hash
        if is_foreign and is_same_code and pick.config in opened.space:
            winners.setdefault(pick.config.id, pick.config)
    return list(winners.values())


def transfer(
    bench: Bench, opened: OpenContext, configs: Sequence[Config], *, is_open: bool = False
) -> Screening:
    """Return what measures the configs that the store does not hold yet, however slow they are.

    With ``is_open`` also those that are not in the space.
    """
    return Screening(
        bench=bench,
        opened=opened,
        sampler=NoProposals("all foreign winners are measured"),
        budget=Budget(),
        queued=list(configs),
        phase=Phase.TRANSFER,
        is_open=is_open,
    )
