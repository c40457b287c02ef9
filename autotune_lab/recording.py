"""Recordings: whole contexts with every trial and raw sample in one small file, read without SQL.

A recording is gzip over JSON lines: a header; then for each context a line with what it is and all
its samples in one base64 blob (see ``samples``), followed by one line a trial, whose measurements
say how many of the samples are theirs. Equal contents give equal bytes. Nothing in it is executed.
"""

import base64
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, TypeVar

from autotune_lab import codec
from autotune_lab.errors import ImportFailed
from autotune_lab.records import Context, Pick, SpaceSnapshot, Trial, Work
from autotune_lab.samples import pack, unpack

T = TypeVar("T")

FORMAT = "autotune_lab recording"
VERSION = 1
# The bundled recordings unfold to some 10 MB; a file that unfolds to a hundred times that is none.
_MOST_BYTES = 2**30


@dataclass(frozen=True, slots=True)
class RecordedContext:
    """One context and all that was measured in it.

    Attributes:
        launch_floor_ms, copy_gbs, matmul_tflops: the device's ceilings, where they were measured.
        trials: finished trials by number, with their measurements in the order taken.
        picks: the winners chosen from them, oldest first.
    """

    context: Context
    space: SpaceSnapshot
    work: Work = field(default_factory=Work)
    launch_floor_ms: float | None = None
    copy_gbs: float | None = None
    matmul_tflops: dict[str, float] = field(default_factory=dict)
    trials: tuple[Trial, ...] = ()
    picks: tuple[Pick, ...] = ()


@dataclass(frozen=True, slots=True)
class Recording:
    """What a recording file holds."""

    contexts: tuple[RecordedContext, ...]


@dataclass(frozen=True, slots=True)
class _Header:
    format: str
    version: int
    contexts: int


@dataclass(frozen=True, slots=True)
class _ContextLine:
    context: Context
    space: SpaceSnapshot
    trials: int
    samples: str
    work: Work = field(default_factory=Work)
    launch_floor_ms: float | None = None
    copy_gbs: float | None = None
    matmul_tflops: dict[str, float] = field(default_factory=dict)
    picks: tuple[dict[str, Any], ...] = ()


def write(path: Path, contexts: Iterable[RecordedContext]) -> None:
    """Write a recording; a file that is there is replaced only once the new one is whole."""
    recorded = tuple(contexts)
    lines = [codec.to_json(_Header(FORMAT, VERSION, len(recorded)))]
    for entry in recorded:
        lines += _written(entry)
    buffer = io.BytesIO()
    # A time stamp in the gzip header would make equal recordings differ.
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, compresslevel=9, mtime=0) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_bytes(buffer.getvalue())
    unfinished.replace(path)


def read(path: Path) -> Recording:
    """Read a recording.

    Raises:
        ImportFailed: the file is absent, cut, damaged, of another kind or from a newer lab; the
            message names the line.
    """
    lines = _Lines(path)
    header = _decode(_Header, lines.next(), lines)
    if header.format != FORMAT or header.version != VERSION:
        raise ImportFailed(
            f"{path}: is {header.format!r} version {header.version}, not {FORMAT!r} "
            f"version {VERSION}; upgrade autotune-lab or record it again"
        )
    contexts = tuple(_read_context(lines) for _ in range(header.contexts))
    lines.expect_end()
    return Recording(contexts)


class _Lines:
    """The lines of a recording, and the number of the last one for messages."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        try:
            with gzip.open(path, "rb") as file:
                data = file.read(_MOST_BYTES + 1)
        except FileNotFoundError as error:
            raise ImportFailed(f"{path}: no recording there") from error
        except (OSError, EOFError, zlib.error) as error:
            raise ImportFailed(f"{path}: is no whole gzip file: {error}") from error
        if len(data) > _MOST_BYTES:
            raise ImportFailed(
                f"{path}: unfolds to over {_MOST_BYTES} bytes, so it is no recording"
            )
        self._lines = data.splitlines()

    def next(self) -> bytes:
        """Return the next line."""
        if self.number == len(self._lines):
            raise ImportFailed(f"{self.path}: ends after line {self.number}; it was cut short")
        self.number += 1
        return self._lines[self.number - 1]

    def expect_end(self) -> None:
        """Refuse lines that the header does not promise."""
        if self.number < len(self._lines):
            raise self.fault("runs on after the last trial")

    def fault(self, what: object) -> ImportFailed:
        """Return the error that names the last line."""
        return ImportFailed(f"{self.path}:{self.number}: {what}")


def _decode(kind: type[T], text: bytes, lines: _Lines) -> T:
    try:
        return codec.from_json(kind, text)
    except ValueError as error:
        raise lines.fault(error) from error


def _written(entry: RecordedContext) -> Iterator[str]:
    """Write one context: its own line, then one a trial."""
    measured = [m for trial in entry.trials for m in trial.measurements]
    samples = pack([sample for measurement in measured for sample in measurement.samples_ms])
    yield codec.to_json(
        _ContextLine(
            context=entry.context,
            space=entry.space,
            trials=len(entry.trials),
            samples=base64.b64encode(samples).decode(),
            work=entry.work,
            launch_floor_ms=entry.launch_floor_ms,
            copy_gbs=entry.copy_gbs,
            matmul_tflops=entry.matmul_tflops,
            picks=tuple(_without(pick, "context") for pick in entry.picks),
        ),
        sparse=True,
        # A problem is called by its fields in the order in which they were declared.
        sort_keys=False,
    )
    for trial in entry.trials:
        plain = _without(trial, "context_id", "id")
        for line, measurement in zip(
            plain.get("measurements", ()), trial.measurements, strict=True
        ):
            line["samples_ms"] = len(measurement.samples_ms)
        yield codec.to_json(plain)


def _without(record: Any, *names: str) -> dict[str, Any]:
    plain: dict[str, Any] = codec.to_plain(record, sparse=True)
    return {name: value for name, value in plain.items() if name not in names}


def _read_context(lines: _Lines) -> RecordedContext:
    line = _decode(_ContextLine, lines.next(), lines)
    try:
        samples = unpack(base64.b64decode(line.samples, validate=True))
        space = line.space.canonical()
        context = codec.to_plain(line.context)
        picks = tuple(codec.from_plain(Pick, {**pick, "context": context}) for pick in line.picks)
    except ValueError as error:
        raise lines.fault(error) from error
    context_id = line.context.id
    trials: list[Trial] = []
    taken = 0
    for _ in range(line.trials):
        trial, taken = _read_trial(lines, context_id, samples, taken)
        trials.append(trial)
    if taken != len(samples):
        raise lines.fault(f"{len(samples)} samples for measurements that hold {taken}")
    return RecordedContext(
        context=line.context,
        space=space,
        work=line.work,
        launch_floor_ms=line.launch_floor_ms,
        copy_gbs=line.copy_gbs,
        matmul_tflops=line.matmul_tflops,
        trials=tuple(trials),
        picks=picks,
    )


def _read_trial(
    lines: _Lines, context_id: str, samples: tuple[float, ...], taken: int
) -> tuple[Trial, int]:
    """Read one trial; its samples start at ``taken``. Return it and where the next one's start."""
    try:
        plain = codec.parse(lines.next(), "trial")
        counts = [measurement["samples_ms"] for measurement in plain.get("measurements", ())]
        for measurement in plain.get("measurements", ()):
            measurement["samples_ms"] = []
        trial = codec.from_plain(Trial, {**plain, "context_id": context_id})
        ends = list(accumulate(counts, initial=taken))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise lines.fault(f"no trial: {error}") from error
    if any(type(count) is not int or count < 0 for count in counts) or ends[-1] > len(samples):
        raise lines.fault(f"measurements hold {counts} samples; {len(samples) - taken} are left")
    measurements = tuple(
        replace(measurement, samples_ms=samples[start:end])
        for measurement, (start, end) in zip(trial.measurements, pairwise(ends), strict=True)
    )
    return replace(trial, measurements=measurements), ends[-1]
