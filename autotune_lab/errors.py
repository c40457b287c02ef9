"""Every exception that the lab raises on purpose.

    AutotuneLabError
      UsageError (ValueError)            what was asked for can't be done as asked
        DefinitionError                  a kernel, space, problem or study is declared wrongly
        UnknownKernel (LookupError)      no kernel of that name in the catalog
      DeviceError                        the machine is wrong
        NoDevice                         no such device, or no driver
        DeviceBusy                       another study owns the device
        DeviceLost                       it was there when the study began, and is gone
        WorkerLost                       the worker process could not be kept alive
      StoreError                         the results store is wrong
        StoreTooNew                      written by a newer version of the lab
        StoreNeedsUpgrade                written by an older version of the lab
        StoreBusy                        another process held it for longer than the time-out
        StoreDamaged                     not a readable store
      ImportFailed                       a file of foreign results can't be read
      ExportError                        a table of winners can't be written, read or used
        EnvironmentMismatch              it was tuned for something else
      TuningError                        the work was done and found wanting
        NoSurvivor                       no config of the space ran correctly
        ReferenceUnstable                the reference disagrees with itself

Each class carries the exit code that the command line ends with: 1 for failed work, 2 for bad use,
3 for the device or the store.
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

__all__ = [
    "AutotuneLabError",
    "DefinitionError",
    "DeviceBusy",
    "DeviceError",
    "DeviceLost",
    "EnvironmentMismatch",
    "ExportError",
    "ImportFailed",
    "NoDevice",
    "NoSurvivor",
    "ReferenceUnstable",
    "StoreBusy",
    "StoreDamaged",
    "StoreError",
    "StoreNeedsUpgrade",
    "StoreTooNew",
    "TuningError",
    "UnknownKernel",
    "UsageError",
    "WorkerLost",
    "closest",
    "did_you_mean",
    "one_line",
]

# What moves a terminal's cursor, rings, breaks lines or can't be encoded: C0, C1, separators, marks
# that turn the direction of text, and halves of surrogate pairs.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_LONGEST_MESSAGE = 2000


def closest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return up to two known names that were likely meant by an unknown one."""
    by_folded = {candidate.casefold(): candidate for candidate in sorted(known)}
    matches = difflib.get_close_matches(name.casefold(), by_folded, n=2)
    return tuple(by_folded[match] for match in matches)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: what was meant, else what there is."""
    names = sorted(known)
    if close := closest(name, names):
        return f"; did you mean {' or '.join(close)}?"
    return f"; known are {', '.join(names)}" if names else ""


def one_line(text: str, *, most: int | None = None) -> str:
    r"""Return a text that can't break its line or steer a terminal, whoever wrote it.

    White space becomes a space, any other control character its escape (``\x1b``).

    Args:
        text: of a store, a file, another program.
        most: characters to keep; what is longer is cut in the middle.
    """
    flat = _UNPRINTABLE.sub(_visible, text)
    if most is None or len(flat) <= most:
        return flat
    head = most * 2 // 3
    return f"{flat[:head]} ... {flat[head - most :]}"


def _visible(found: re.Match[str]) -> str:
    return " " if found[0].isspace() else found[0].encode("unicode_escape").decode()


class AutotuneLabError(Exception):
    """Base of all errors raised by the lab; the message is one line for a person."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message.strip(), most=_LONGEST_MESSAGE))


class UsageError(AutotuneLabError, ValueError):
    """What was asked for can't be done as asked."""

    exit_code = 2


class DefinitionError(UsageError):
    """A kernel, space, problem or study is declared wrongly; all faults are reported at once."""

    def __init__(self, where: str, faults: Sequence[str]) -> None:
        self.where = where
        self.faults = tuple(faults)
        super().__init__(f"{where}: {'; '.join(self.faults)}")


class UnknownKernel(UsageError, LookupError):
    """No kernel of that name is in the catalog."""

    def __init__(self, name: str, suggestions: Sequence[str] = ()) -> None:
        self.name = name
        self.suggestions = tuple(suggestions)
        hint = f"; did you mean {' or '.join(self.suggestions)}?" if self.suggestions else ""
        super().__init__(f"no kernel named {name!r}{hint} (list them with: autotune-lab kernels)")


class DeviceError(AutotuneLabError):
    """The machine is wrong: no device, a busy one, or a lost worker."""

    exit_code = 3


class NoDevice(DeviceError):
    """The device asked for is not in this machine, or its driver is missing."""


class DeviceBusy(DeviceError):
    """Another study owns the device; the message names the holder's process."""


class DeviceLost(DeviceError):
    """The device was there when the study began, and is gone; what was in flight runs again."""


class WorkerLost(DeviceError):
    """The process that measures can't be started or kept alive."""


class StoreError(AutotuneLabError):
    """The results store can't be used."""

    exit_code = 3


class StoreTooNew(StoreError):
    """The store was written by a newer version of the lab; it was left untouched."""


class StoreNeedsUpgrade(StoreError):
    """The store was written by an older version of the lab and has not been migrated."""


class StoreBusy(StoreError):
    """Another process held the store for longer than the busy time-out."""


class StoreDamaged(StoreError):
    """The file is not a readable store; it was left untouched."""


class ImportFailed(AutotuneLabError):
    """A file of results measured elsewhere can't be read; nothing of it was stored."""

    exit_code = 1


class ExportError(AutotuneLabError):
    """A table of winners can't be written, read or used."""


class EnvironmentMismatch(ExportError):
    """A table of winners was tuned for another device, code or environment."""


class TuningError(AutotuneLabError):
    """The work was done, and its result is that there is nothing to use."""


class NoSurvivor(TuningError):
    """No config of the space ran correctly, so there is no winner and nothing is exported."""

    def __init__(self, where: str, counts: Mapping[str, int], detail: str = "") -> None:
        self.counts = dict(counts)
        listing = ", ".join(f"{n} {state}" for state, n in sorted(self.counts.items()))
        super().__init__(
            f"{where}: no config ran correctly ({listing or 'nothing was tried'})"
            + (f"; {detail}" if detail else "")
        )


class ReferenceUnstable(TuningError):
    """The reference gave two different answers for the same inputs, so nothing can be verified."""
