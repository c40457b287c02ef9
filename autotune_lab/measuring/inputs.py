"""Makes the inputs that a config is judged and timed on, and keeps them as they were.

What a kernel writes is replaced by guarded stand-ins, so neither the user's tensors nor the next
config's inputs are touched. What it only reads is never copied, but watched by its checksum.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from autotune_lab.definitions import Arguments, KernelDefinition, Problem
from autotune_lab.errors import DefinitionError
from autotune_lab.measuring.checksums import checksum
from autotune_lab.measuring.guards import GuardedTensor
from autotune_lab.measuring.reference import Reference
from autotune_lab.spaces.values import digest

_MAX_SETS = 4


@dataclass(slots=True)
class ArgumentSet:
    """One set of arguments for a launch, with what is needed to judge and to reuse it.

    Attributes:
        arguments: what ``launch`` gets.
        reference: what its outputs must be.
        stand_ins: dtypes that were replaced, by argument; ``{"a": "bfloat16"}``.
        guards: the guarded memory behind arguments, by name; at least behind what is written.
    """

    arguments: Arguments
    reference: Reference
    stand_ins: Mapping[str, str]
    guards: Mapping[str, GuardedTensor]
    _definition: KernelDefinition
    _pristine: Mapping[str, torch.Tensor]
    _read: Sequence[str]
    _checksums: dict[str, int] = field(default_factory=dict)

    def restore(self) -> None:
        """Put back what the kernel changes in place and zero its accumulators."""
        for name, values in self._pristine.items():
            self.guards[name].tensor.copy_(values)
        for name in self._definition.zeroes:
            self.guards[name].tensor.zero_()

    def poison(self) -> None:
        """Overwrite the outputs, so that an element that is not written shows."""
        for name in self._definition.outputs:
            self.guards[name].poison()
        self.restore()

    def remember(self) -> None:
        """Note the checksums of all that the kernel only reads; done once."""
        if not self._checksums:
            self._checksums = {name: checksum(self.arguments[name]) for name in self._read}

    def changed(self) -> list[str]:
        """Return the names of read-only arguments that are not as they were remembered."""
        return [n for n, before in self._checksums.items() if checksum(self.arguments[n]) != before]

    def overrun(self) -> list[str]:
        """Return the names of written arguments around which something else was written."""
        return [name for name, guarded in self.guards.items() if not guarded.is_intact()]

    def unwritten(self, output: str) -> int:
        """Return how many elements of an output were not written since it was poisoned."""
        if output in self._pristine or output in self._definition.zeroes:
            return 0
        return self.guards[output].unwritten()

    def fingerprint(self) -> int:
        """Return a checksum of all outputs."""
        return hash(tuple(checksum(self.arguments[name]) for name in self._definition.outputs))


class ProblemCache:
    """Keeps the sets of the last problem and seed, because the next config wants the same."""

    def __init__(self) -> None:
        self._key: tuple[Any, ...] = ()
        self._sets: list[ArgumentSet] = []

    def sets(
        self,
        definition: KernelDefinition,
        problem: Problem,
        *,
        device: str,
        seed: int,
        substitutes: Mapping[str, str],
        l2_bytes: int,
    ) -> Sequence[ArgumentSet]:
        """Return the sets to rotate: several where one fits in the L2, one where it does not.

        Args:
            definition: whose inputs are drawn.
            problem: what for.
            device: the torch device that they are made on.
            seed: of the first set; the others' follow from it.
            substitutes: dtypes to replace by others after the values were drawn.
            l2_bytes: the L2's size; 0 for a single set.

        Raises:
            DefinitionError: ``inputs`` fails, or does not return what the definition declares.
        """
        key = (id(definition), problem, device, seed, l2_bytes)
        if key != self._key:
            self.drop()
            first = _make(definition, problem, device, seed, substitutes)
            self._sets = [first]
            wanted = _sets_to_rotate(_set_bytes(first.arguments), l2_bytes)
            self._sets += [
                _make(definition, problem, device, seed + number, substitutes)
                for number in range(1, wanted)
            ]
            self._key = key
        return self._sets

    def drop(self) -> None:
        """Forget everything: it may have been written to."""
        self._key, self._sets = (), []


def input_seed(root: int, phase_round: int) -> int:
    """Return the seed of a round's inputs; screening is round 0, each playoff round is fresh."""
    return int(digest({"seed": root, "round": phase_round})[:8], 16)


def call_user(where: str, what: str, function: Callable[[], Any]) -> Any:
    """Call a function of the user's file that is not under test.

    Raises:
        DefinitionError: it raised; the message has its class and first line.
    """
    try:
        return function()
    except DefinitionError:
        raise
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        raise DefinitionError(where, [f"{what} raised {type(error).__name__}: {first}"]) from error


def draw(
    definition: KernelDefinition,
    problem: Problem,
    *,
    device: str,
    seed: int,
    substitutes: Mapping[str, str],
) -> tuple[Arguments, dict[str, str]]:
    """Return what ``inputs`` makes, and the dtypes that were replaced, by argument.

    Raises:
        DefinitionError: ``inputs`` fails, or does not return what the definition declares.
    """
    where = f"kernel {definition.name!r}, problem {problem}"
    generator = torch.Generator(device=device).manual_seed(seed)
    drawn = call_user(
        where, "inputs", lambda: definition.inputs(problem, torch.device(device), generator)
    )
    arguments, stand_ins = _substituted(drawn, substitutes)
    if faults := _faults(arguments, _written(definition)):
        raise DefinitionError(where, faults)
    return arguments, stand_ins


def argument_set(
    definition: KernelDefinition,
    problem: Problem,
    arguments: Arguments,
    stand_ins: Mapping[str, str],
    *,
    guard_inputs: bool = False,
) -> ArgumentSet:
    """Return a set of drawn arguments in which what the kernel writes has guards around it.

    Args:
        definition: whose arguments they are.
        problem: what for.
        arguments: as drawn.
        stand_ins: dtypes that were replaced, by argument.
        guard_inputs: also copy what is only read into guarded memory.
    """
    written = _written(definition)
    # The reference sees the values before any kernel ran, so what is restored is copied first.
    pristine = {name: arguments[name].clone() for name in definition.mutates}
    tensors = [name for name, value in arguments.items() if isinstance(value, torch.Tensor)]
    guarded = {
        name: GuardedTensor(arguments[name]) for name in (tensors if guard_inputs else written)
    }
    arguments = arguments | {name: stand_in.tensor for name, stand_in in guarded.items()}
    return ArgumentSet(
        arguments=arguments,
        reference=Reference(definition, problem, {**arguments, **pristine}),
        stand_ins=stand_ins,
        guards=guarded,
        _definition=definition,
        _pristine=pristine,
        _read=[name for name in tensors if name not in written],
    )


def _make(
    definition: KernelDefinition,
    problem: Problem,
    device: str,
    seed: int,
    substitutes: Mapping[str, str],
) -> ArgumentSet:
    arguments, stand_ins = draw(
        definition, problem, device=device, seed=seed, substitutes=substitutes
    )
    return argument_set(definition, problem, arguments, stand_ins)


def _written(definition: KernelDefinition) -> list[str]:
    return list(dict.fromkeys((*definition.outputs, *definition.mutates, *definition.zeroes)))


def _faults(arguments: Arguments, written: Sequence[str]) -> list[str]:
    return [
        f"inputs returns no tensor {name!r}, which the definition names; it returns "
        f"{', '.join(arguments)}"
        for name in written
        if not isinstance(arguments.get(name), torch.Tensor)
    ]


def _substituted(
    drawn: Mapping[str, Any], substitutes: Mapping[str, str]
) -> tuple[Arguments, dict[str, str]]:
    """Return the arguments in dtypes that the device has, and what those were that it has not."""
    arguments, replaced = dict(drawn), dict[str, str]()
    for name, value in drawn.items():
        dtype = str(getattr(value, "dtype", "")).removeprefix("torch.")
        if isinstance(value, torch.Tensor) and dtype in substitutes:
            arguments[name] = value.to(getattr(torch, substitutes[dtype]))
            replaced[name] = dtype
    return arguments, replaced


def _set_bytes(arguments: Arguments) -> int:
    return sum(v.nbytes for v in arguments.values() if isinstance(v, torch.Tensor))


def _sets_to_rotate(set_bytes: int, l2_bytes: int) -> int:
    """Return how many sets exceed the L2 together, so that no kernel finds its inputs there."""
    if set_bytes == 0 or set_bytes > l2_bytes:
        return 1
    return min(_MAX_SETS, l2_bytes // set_bytes + 1)
