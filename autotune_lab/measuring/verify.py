"""Compares what a kernel wrote with what it had to write, element by element.

An error counts relative to the reference's own value plus the root mean square of all of them, so
that a long sum in another order passes where its exact value is near zero. NaN and infinity must
be where the reference has them, and nowhere else.
"""

from dataclasses import dataclass

import torch

from autotune_lab.definitions import KernelDefinition
from autotune_lab.measuring.inputs import ArgumentSet
from autotune_lab.records import Numerics

_PIECE = 2**24


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with a set's outputs, ``""`` if nothing; and how far off they are.

    Attributes:
        spoils_inputs: memory was written that was not the kernel's to write, so what else it wrote
            is not known.
    """

    fault: str = ""
    numerics: Numerics | None = None
    spoils_inputs: bool = False


def verify(definition: KernelDefinition, arguments: ArgumentSet) -> Verdict:
    """Judge the outputs of the last launch on a set: right, in bounds, and nothing else changed.

    The outputs were poisoned before that launch. The tolerance is that of the dtype which the
    definition gave an output, even where another one stands in for it.

    Raises:
        ReferenceUnstable: the reference contradicts itself.
        DefinitionError: the reference can't be computed.
    """
    if overrun := arguments.overrun():
        return Verdict(f"wrote outside of {_names(overrun)}", spoils_inputs=True)
    if changed := arguments.changed():
        return Verdict(
            f"input {_names(changed)} was changed; declare mutates={changed!r} if it should be",
            spoils_inputs=True,
        )
    verdict = _compare_all(definition, arguments)
    if verdict.fault and arguments.reference.revise():
        verdict = _compare_all(definition, arguments)
    if not verdict.fault:
        arguments.reference.confirm()
    return verdict


def _compare_all(definition: KernelDefinition, arguments: ArgumentSet) -> Verdict:
    worst = Verdict()
    for name, expected in arguments.reference.outputs().items():
        output = arguments.arguments[name]
        dtype = arguments.stand_ins.get(name) or str(output.dtype).removeprefix("torch.")
        relative = definition.tolerance(dtype).relative
        verdict = compare(name, output, expected, relative)
        if verdict.fault and (missed := arguments.unwritten(name)):
            verdict = Verdict(
                f"output {name!r}: {missed} of {output.numel()} elements were not written",
                verdict.numerics,
            )
        if verdict.fault:
            return verdict
        worst = _worse(worst, verdict)
    return worst


def compare(name: str, output: torch.Tensor, expected: torch.Tensor, relative: float) -> Verdict:
    """Compare one output with its reference.

    Args:
        name: for the message.
        output: what the kernel wrote, of any layout.
        expected: the same shape, float64 or an exact dtype.
        relative: allowed error over ``|expected| + rms(expected)``.
    """
    if not output.is_floating_point() and not expected.is_floating_point():
        return _compare_exactly(name, output, expected)
    written, wanted = output.reshape(-1), expected.reshape(-1)
    rms = _rms(wanted)
    misplaced, wrong, compared, absolute, scaled = 0, 0, 0, 0.0, 0.0
    pieces = zip(torch.split(written, _PIECE), torch.split(wanted, _PIECE), strict=True)
    for a, b in pieces:
        got, ref = a.to(torch.float64), b.to(torch.float64)
        finite = ref.isfinite() & got.isfinite()
        misplaced += int((~finite & (got != ref) & ~(got.isnan() & ref.isnan())).sum())
        compared += int(finite.sum())
        error = torch.where(finite, (got - ref).abs(), 0.0)
        allowed = torch.where(finite, ref.abs(), 0.0) + rms
        share = torch.where(error > 0.0, error / allowed, 0.0)
        wrong += int((share > relative).sum())
        absolute = max(absolute, float(error.max()) if error.numel() else 0.0)
        scaled = max(scaled, float(share.max()) if share.numel() else 0.0)
    numerics = Numerics(
        max_absolute_error=_finite(absolute) if compared else None,
        max_relative_error=_finite(scaled) if compared else None,
        tolerance=relative,
        output_rms=rms,
    )
    if misplaced:
        fault = f"output {name!r}: {misplaced} of {output.numel()} elements are NaN or infinite"
        return Verdict(f"{fault} where the reference is not, or the other way round", numerics)
    if wrong:
        fault = f"output {name!r}: {wrong} of {output.numel()} elements are off by up to"
        return Verdict(f"{fault} {absolute:.3g} ({scaled:.3g} of {relative:g} allowed)", numerics)
    return Verdict("", numerics)


def _compare_exactly(name: str, output: torch.Tensor, expected: torch.Tensor) -> Verdict:
    """Compare integers and booleans; a boolean byte must be 0 or 1."""
    got = output.contiguous().view(torch.uint8) if output.dtype == torch.bool else output
    wrong = int((got.to(torch.int64) != expected.to(torch.int64)).sum())
    difference = (got.to(torch.float64) - expected.to(torch.float64)).abs()
    absolute = float(difference.max()) if difference.numel() else 0.0
    numerics = Numerics(max_absolute_error=absolute, tolerance=0.0)
    if not wrong:
        return Verdict("", numerics)
    fault = f"output {name!r}: {wrong} of {output.numel()} elements differ by up to {absolute:g}"
    return Verdict(fault, numerics)


def _rms(values: torch.Tensor) -> float:
    """Return the root mean square of the finite values."""
    squares, count = 0.0, 0
    for piece in torch.split(values, _PIECE):
        finite = piece.isfinite()
        squares += float(torch.where(finite, piece, 0.0).to(torch.float64).square().sum())
        count += int(finite.sum())
    return (squares / count) ** 0.5 if count else 0.0


def _worse(one: Verdict, other: Verdict) -> Verdict:
    def error(verdict: Verdict) -> float:
        numerics = verdict.numerics
        return -1.0 if numerics is None else numerics.max_relative_error or 0.0

    return max(one, other, key=error)


def _finite(value: float) -> float | None:
    return value if value < float("inf") else None


def _names(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)
