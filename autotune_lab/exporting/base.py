"""The contract of an export format, and what all share: who is exported, and how it is named.

A format is a file ``exporting/<name>.py`` with ``FORMAT`` and ``write(picks, *, options) -> str``,
and ``read(text) -> Table`` where the text can be read back. Formats know records only.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from autotune_lab.errors import ExportError
from autotune_lab.records import (
    DISQUALIFYING_FLAGS,
    DecisionRule,
    DeviceModel,
    Environment,
    KernelIdentity,
    Pick,
)
from autotune_lab.spaces.config import Config

LONGEST_NAME_BYTES = 200


@dataclass(frozen=True, slots=True)
class Options:
    """What an export may need beyond the picks.

    Attributes:
        include_simulated: export winners of the interpreter or a fake timer, marked as such.
        strict: refuse a winner with any of the ``doubts``.
        device_uuids: device model id -> UUIDs of the physical devices that were measured.
        code: kernel name -> the code as it is today; a winner of other code is stale.
        environment: the software in use today; a winner of another one is stale.
        verdicts: context id -> verdict on hardware overfitting, as the report words it.
        reaches: context id -> octaves up to which its winner was measured to be no worse than the
            default on other problems.
        portfolios: kernel id -> the few configs that serve all its devices and problems.
        rules: (kernel id, device model id) -> how a config is chosen for a problem.
    """

    include_simulated: bool = False
    strict: bool = False
    device_uuids: Mapping[str, Sequence[str]] = field(default_factory=dict)
    code: Mapping[str, KernelIdentity] = field(default_factory=dict)
    environment: Environment | None = None
    verdicts: Mapping[str, str] = field(default_factory=dict)
    reaches: Mapping[str, float] = field(default_factory=dict)
    portfolios: Mapping[str, Sequence[Config]] = field(default_factory=dict)
    rules: Mapping[tuple[str, str], DecisionRule] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """What a file of winners says: the picks in canonical order, and whose silicon they ran on."""

    picks: tuple[Pick, ...]
    device_uuids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    verdicts: Mapping[str, str] = field(default_factory=dict)


def model_stem(pick: Pick) -> str:
    """Name the file that a device model's winners share: its slug and 8 digits of its identity."""
    return safe_stem(pick.context.model.slug, identity=pick.context.model.id)


@dataclass(frozen=True, slots=True)
class Format:
    """What a format is called, and which picks share one of its files.

    Attributes:
        suffix: of its files, with the dot.
        description: one line for ``autotune-lab export --help``.
        stem: names the file of a pick, without suffix; picks with equal names share a file.
    """

    name: str
    suffix: str
    description: str
    stem: Callable[[Pick], str] = model_stem


class FormatModule(Protocol):
    """What every format file defines."""

    FORMAT: Format

    def write(self, picks: Sequence[Pick], *, options: Options) -> str:
        """Return the text of one file; the same picks in any order give the same text.

        Raises:
            ExportError: the format can't say what the picks say.
        """


def ordered(picks: Iterable[Pick]) -> list[Pick]:
    """Sort picks by kernel, problem, device model, environment and date."""
    return sorted(
        picks,
        key=lambda pick: (
            pick.context.kernel.name,
            pick.context.problem.to_json(),
            pick.context.model.id,
            pick.context.id,
            pick.picked_at,
            pick.config.id,
        ),
    )


def doubts(pick: Pick, options: Options) -> list[str]:
    """Say why a winner should not go to production; nothing to say is a good sign."""
    context = pick.context
    found = [
        f"its measurements are flagged {flag}"
        for flag in sorted(DISQUALIFYING_FLAGS & set(pick.flags))
    ]
    if context.source.is_simulated:
        found.append(context.source.notice)
    if not pick.rounds:
        found.append("it was not re-measured after it was chosen")
    if "below_launch_floor" in pick.flags:
        found.append("it is shorter than a launch, so events can't rank it")
    today = options.code.get(context.kernel.name)
    if today is not None and today.id != context.kernel.id:
        found.append(
            f"the kernel's code is {today.code_hash} today, it was {context.kernel.code_hash}"
        )
    if options.environment is not None and options.environment.id != context.environment.id:
        found.append(f"stale: {', '.join(options.environment.differences(context.environment))}")
    return found


def admitted(picks: Iterable[Pick], options: Options) -> list[Pick]:
    """Return the picks that may be exported, in canonical order.

    Raises:
        ExportError: there is none; one is simulated, which was not asked for; ``strict``, and one
            is doubtful.
    """
    chosen = ordered(picks)
    if not chosen:
        raise ExportError("there is no winner to export; tune first (nothing was written)")
    for pick in chosen:
        source = pick.context.source
        if source.is_simulated and not options.include_simulated:
            raise ExportError(
                f"{pick.context.label}: refused, {source.notice}; ask for simulated winners by name"
            )
        if options.strict and (reasons := doubts(pick, options)):
            raise ExportError(
                f"{pick.context.label}: refused by --strict: {'; '.join(reasons)}; "
                "tune again, or export without --strict"
            )
    return chosen


def safe_stem(text: str, *, identity: str) -> str:
    """Turn any text into a file name that any file system takes, unique by its identity.

    Letters, digits, ``_-=,`` and inner dots stay; it ends in 8 hex digits of ``identity``.
    """
    words = re.sub(r"[^A-Za-z0-9_.,=-]+", "-", text).strip("-.") or "unnamed"
    digits = identity[:8] if re.fullmatch(r"[0-9a-f]{8,}", identity) else _digest(identity)
    return f"{words[: LONGEST_NAME_BYTES - 40]}-{digits}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def export_path(directory: Path, subject: Pick | DeviceModel, form: Format) -> Path:
    """Name the file of a pick, or of a whole device model, in a directory.

    Raises:
        ExportError: a format named a file that can't be one everywhere.
    """
    if isinstance(subject, DeviceModel):
        name = safe_stem(subject.slug, identity=subject.id) + form.suffix
    else:
        name = form.stem(subject) + form.suffix
    if (
        not re.fullmatch(r"[A-Za-z0-9_=,-][A-Za-z0-9_.=,-]*", name)
        or len(name) > LONGEST_NAME_BYTES
    ):
        raise ExportError(
            f"{form.name}: {name!r} is no portable file name; this is a fault of the format"
        )
    return directory / name


def write_files(
    picks: Iterable[Pick], module: FormatModule, directory: Path, *, options: Options | None = None
) -> list[Path]:
    """Write picks as files of one format; all texts exist before the first file is touched.

    Raises:
        ExportError: nothing may be exported, or the format can't say it; no file was written.
    """
    options = options or Options()
    files: dict[Path, list[Pick]] = {}
    for pick in admitted(picks, options):
        files.setdefault(export_path(directory, pick, module.FORMAT), []).append(pick)
    texts = {path: module.write(group, options=options) for path, group in sorted(files.items())}
    for path, text in texts.items():
        write_atomically(path, text)
    return list(texts)


def read_text(path: Path) -> bytes:
    """Read an exported file.

    Raises:
        ExportError: it is not there, or can't be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise ExportError(f"can't read {path}: {error.strerror or error}") from error


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace a file as a whole: a reader sees the old or the new one, even after a power cut.

    Raises:
        ExportError: the folder can't be written.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise ExportError(f"can't write {path}: {error.strerror or error}") from error


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current
