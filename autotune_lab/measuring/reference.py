"""What a kernel's outputs must be, computed by the definition's reference in float64.

Computed once for each set of inputs, kept, and computed again when it is doubted. A reference that
contradicts itself ends the work on its problem: nothing could be verified.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from autotune_lab.definitions import Arguments, KernelDefinition, Problem
from autotune_lab.errors import DefinitionError, ReferenceUnstable
from autotune_lab.measuring.checksums import checksum


class Reference:
    """The outputs that one set of arguments must give.

    Args:
        definition: whose reference is asked.
        problem: for messages.
        arguments: as they are before a launch.
    """

    def __init__(
        self, definition: KernelDefinition, problem: Problem, arguments: Arguments
    ) -> None:
        self._definition = definition
        self._where = f"kernel {definition.name!r}, problem {problem}"
        self._arguments = arguments
        self._outputs: dict[str, torch.Tensor] = {}
        self._checksums: dict[str, int] = {}
        self._is_confirmed = False

    def outputs(self) -> Mapping[str, torch.Tensor]:
        """Return the outputs by name: float64, or as they are where they are not floating.

        Raises:
            DefinitionError: the reference fails, or lacks an output, or has another shape.
        """
        if not self._outputs:
            self._outputs = self._compute()
            self._checksums = {name: checksum(value) for name, value in self._outputs.items()}
        return self._outputs

    def computed_in(self, dtype: torch.dtype | None) -> Mapping[str, torch.Tensor]:
        """Return what the reference gives in another floating dtype, or in each argument's own.

        It shows how well a problem can be solved in that precision at all. Empty if it can't be
        computed in it.
        """
        try:
            return self._compute(dtype)
        except DefinitionError:
            return {}

    def confirm(self) -> None:
        """Note that a kernel agreed with it, so it need not be doubted."""
        self._is_confirmed = True

    def revise(self) -> bool:
        """Compute it again if its memory was altered, or if nothing has agreed with it yet.

        Returns:
            Whether the outputs are others than those that were compared with.

        Raises:
            ReferenceUnstable: the same inputs give another answer than before.
        """
        altered = any(checksum(self._outputs[name]) != n for name, n in self._checksums.items())
        if self._is_confirmed and not altered:
            return False
        again = self._compute()
        if {name: checksum(value) for name, value in again.items()} != self._checksums:
            raise ReferenceUnstable(
                f"{self._where}: reference unstable: it gives two answers for the same inputs, so "
                "no config can be judged; make it depend on its arguments alone"
            )
        self._outputs = again
        self._is_confirmed = True
        return altered

    def _compute(self, dtype: torch.dtype | None = torch.float64) -> dict[str, torch.Tensor]:
        given_in = _InDtype(self._arguments, frozenset(self._definition.zeroes), dtype)
        try:
            given: Any = self._definition.reference(given_in)  # type: ignore[arg-type]
        except Exception as error:
            first = (str(error).splitlines() or [""])[0]
            fault = f"reference raised {type(error).__name__}: {first}"
            raise DefinitionError(self._where, [fault]) from error
        if not isinstance(given, Mapping):
            fault = f"reference returns {type(given).__name__}, not a dict of its outputs"
            raise DefinitionError(self._where, [fault])
        faults = [
            fault
            for name in self._definition.outputs
            if (fault := _fault(name, given.get(name), self._arguments[name]))
        ]
        if faults:
            raise DefinitionError(self._where, faults)
        return {name: _own(given[name]) for name in self._definition.outputs}


class _InDtype(Mapping[str, Any]):
    """Arguments whose floating tensors change their dtype when they are read, and not before.

    A bystander that the reference does not read then costs no memory. Accumulators read as the
    zeros that every launch finds in them.
    """

    def __init__(
        self, arguments: Arguments, zeroed: frozenset[str], dtype: torch.dtype | None
    ) -> None:
        self._arguments = arguments
        self._zeroed = zeroed
        self._dtype = dtype

    def __getitem__(self, name: str) -> Any:
        value = self._arguments[name]
        if not isinstance(value, torch.Tensor):
            return value
        if name in self._zeroed:
            value = torch.zeros_like(value)
        if not value.is_floating_point() or self._dtype is None:
            return value.clone()
        return value.to(self._dtype, copy=True)

    def __iter__(self) -> Iterator[str]:
        return iter(self._arguments)

    def __len__(self) -> int:
        return len(self._arguments)


def _fault(name: str, value: Any, output: torch.Tensor) -> str:
    if not isinstance(value, torch.Tensor):
        return f"reference returns no tensor {name!r}"
    if value.shape != output.shape:
        return f"reference gives {name!r} shape {tuple(value.shape)}, not {tuple(output.shape)}"
    return ""


def _own(value: torch.Tensor) -> torch.Tensor:
    """Return a copy that shares no memory with what the user's code may keep and change."""
    if value.is_floating_point():
        return value.detach().to(torch.float64, copy=True)
    return value.detach().clone()
