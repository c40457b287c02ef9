"""Chooses the config that is held while something else is asked of a kernel, and says why that one.

The winner that the store has of this code, problem and device model; else the declared default;
else the first config of the space. What the user gives goes over it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autotune_lab.analysis import winners
from autotune_lab.definitions import Problem
from autotune_lab.records import Pick
from autotune_lab.spaces.config import Config
from autotune_lab.store.query import Query
from autotune_lab.store.store import Store
from autotune_lab.tuning.opening import OpenContext


@dataclass(frozen=True, slots=True)
class Held:
    """A config and where it is from: ``"the winner"``, ``"the default"``, ..."""

    config: Config
    origin: str
    pick: Pick | None = None


def held(opened: OpenContext, store: Store, given: Mapping[str, Any] | None = None) -> Held:
    """Return the config to hold in an open context.

    Args:
        opened: says which code, problem, device model and space.
        store: is asked for the winner.
        given: values that the user wants; they replace those of the winner or default.

    Raises:
        UsageError: what was given makes no valid config; the message says why.
    """
    base = _base(opened, store)
    if not given:
        return base
    config = opened.space.require({**base.config, **given})
    values = " ".join(f"{name}={value}" for name, value in given.items())
    return base if config == base.config else Held(config, f"{values} as asked, else {base.origin}")


def parse_values(text: str) -> dict[str, Any]:
    """Read ``"BLOCK_M=128,num_warps=4"``.

    Raises:
        DefinitionError: an entry is not ``name=value``.
    """
    given = Problem.parse(text) if text.strip() else {}
    return {name: None if value == "None" else value for name, value in given.items()}


def _base(opened: OpenContext, store: Store) -> Held:
    if (pick := _winner(opened, store)) is not None:
        return Held(pick.config, "the winner", pick)
    default = opened.definition.default_config
    if default is not None and default in opened.space:
        return Held(default, "the default")
    return Held(opened.space.config(0), "the first config of the space")


def _winner(opened: OpenContext, store: Store) -> Pick | None:
    """Return the newest winner of this code and problem on this device model, if it is valid."""
    context = opened.context
    query = Query(
        kernel=context.kernel.name,
        problem=context.problem,
        device_model=context.model.id,
        include_simulated=context.source.is_simulated,
    )
    found = [
        pick
        for pick in winners.best(store, query)
        if pick.context.kernel.code_hash == context.kernel.code_hash and pick.config in opened.space
    ]
    return max(found, key=_rank, default=None)


def _rank(pick: Pick) -> tuple[bool, str]:
    """Put winners of fresh rounds before those of one pass, newer ones before older ones."""
    return pick.rounds > 0, pick.picked_at
