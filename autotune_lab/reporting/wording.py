"""Numbers and records to words: the one place that decides how a value reads.

128 is never printed as 128.0, a missing number is never printed as 0, and a time keeps four digits.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from autotune_lab.records import DeviceModel

MISSING = "–"


def is_missing(value: Any) -> bool:
    """Say whether there is no value: None, NaN or pandas' NA; never for a tuple or mapping."""
    if value is None or value is pd.NA:
        return True
    return isinstance(value, float) and math.isnan(value)


def value(item: Any) -> str:
    """Write a parameter's or a field's value as it was declared; a missing one is unset."""
    if item is not None and is_missing(item):
        return "unset"
    if isinstance(item, tuple | list):
        return "(" + ", ".join(map(value, item)) + ")"
    if isinstance(item, float) and not isinstance(item, bool):
        return repr(float(item))
    return str(item)


def time(ms: float | None) -> str:
    """Write a time in ms with four significant digits."""
    if ms is None or is_missing(ms):
        return MISSING
    return f"{digits(ms)} ms"


def digits(number: float | None, places: int = 4) -> str:
    """Write a number with so many significant digits, never in powers of ten below a million."""
    if number is None or is_missing(number):
        return MISSING
    if number == 0 or not math.isfinite(number):
        return str(number)
    decimals = places - 1 - math.floor(math.log10(abs(number)))
    if decimals <= 0:
        return f"{round(number, decimals):,.0f}"
    return f"{number:.{min(decimals, 9)}f}"


def span(low_ms: float | None, high_ms: float | None) -> str:
    """Write an interval in ms, without the unit."""
    if low_ms is None or high_ms is None or is_missing(low_ms) or is_missing(high_ms):
        return MISSING
    return f"{digits(low_ms)} to {digits(high_ms)}"


def percent(share: float | None, *, signed: bool = False) -> str:
    """Write a share of one as a percentage: whole above ten, else one decimal if it has one."""
    if share is None or is_missing(share):
        return MISSING
    scaled = 100 * share
    if 0 < abs(scaled) < 0.05:  # it would read 0.0%
        return "<0.1%" if scaled > 0 else ">-0.1%"
    decimals = 0 if abs(scaled) >= 10 or abs(scaled - round(scaled)) < 1e-9 else 1
    return f"{scaled:{'+' if signed else ''}.{decimals}f}%"


def count(number: int, noun: str = "", plural: str = "") -> str:
    """Write a whole number with its noun: ``1 config``, ``11,130 configs``."""
    if not noun:
        return f"{number:,}"
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def config(parameters: Mapping[str, Any]) -> str:
    """Write a config on one line."""
    return " ".join(f"{name}={value(item)}" for name, item in parameters.items())


def listing(words: Iterable[str], *, most: int = 6) -> str:
    """Join words as a sentence does: ``a, b and c``; the rest is counted."""
    found = list(words)
    if len(found) > most:
        found = [*found[: most - 1], f"{len(found) - most + 1} more"]
    if len(found) < 2:
        return "".join(found)
    return f"{', '.join(found[:-1])} and {found[-1]}"


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that sorts ``gpu-2`` before ``gpu-10``."""
    parts = re.findall(r"[0-9]+|[^0-9]+", text)
    return tuple((0, int(p), "") if p.isascii() and p.isdigit() else (1, 0, p) for p in parts)


def sizes(number: float | None) -> str:
    """Write a size in bytes with a binary unit."""
    if number is None or is_missing(number):
        return MISSING
    for unit in ("B", "KiB", "MiB"):
        if abs(number) < 1024:
            return f"{number:,.0f} {unit}" if unit == "B" else f"{number:,.1f} {unit}"
        number /= 1024
    return f"{number:,.1f} GiB"


def device(model: DeviceModel) -> str:
    """Write what a device model is: name, part, SMs, memory."""
    part = f", part {model.partition}" if model.partition else ""
    units = "SM" if model.vendor == "nvidia" else "compute unit"
    known = [count(model.sm_count, units)] if model.sm_count else []
    known += [f"{model.memory_bytes / 2**30:.0f} GiB"] if model.memory_bytes else []
    known += [f"power cap {model.power_limit_w} W"] if model.power_limit_w else []
    words = ", ".join([model.architecture, *known])
    return f"{model.name or 'unnamed device'}{part} ({words})"


def short_problems(problems: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Shorten problems (text -> fields) to the fields in which they differ.

    Problems that differ in nothing keep their text.
    """
    names = list(dict.fromkeys(name for fields in problems.values() for name in fields))
    absent = object()
    varying = [
        name
        for name in names
        if len({repr(fields.get(name, absent)) for fields in problems.values()}) > 1
    ]
    return {
        text: " ".join(f"{name}={value(fields[name])}" for name in varying if name in fields)
        or text
        for text, fields in problems.items()
    }


def shared_fields(problems: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields that have one value in all problems."""
    if not problems:
        return {}
    return {
        name: item
        for name, item in problems[0].items()
        if all(name in fields and fields[name] == item for fields in problems)
    }
