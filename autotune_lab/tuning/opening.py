"""Turns a task and a device's greeting into an open context: all that a phase needs to work on."""

from dataclasses import dataclass, replace
from pathlib import Path

from autotune_lab import catalog, fingerprint
from autotune_lab.codec import from_plain
from autotune_lab.definitions import KernelDefinition, Problem
from autotune_lab.records import Context, Hello, Protocol, SpaceSnapshot, Work
from autotune_lab.spaces.space import BoundSpace
from autotune_lab.store.query import Query
from autotune_lab.store.store import Store
from autotune_lab.tuning.events import Notice, Observer
from autotune_lab.tuning.study import Task


@dataclass(frozen=True, slots=True)
class OpenContext:
    """One context with its definition and valid configs at hand."""

    id: str
    context: Context
    reference: str
    definition: KernelDefinition
    space: BoundSpace
    work: Work
    floor_ms: float | None


def open_context(
    task: Task,
    protocol: Protocol,
    hello: Hello,
    store: Store,
    *,
    root: Path,
    observe: Observer,
    reference: str = "",
) -> OpenContext:
    """Load the task's kernel, bind its space to problem and device, and enter it in the store.

    Says so when the store holds the same kernel, problem and device model under other code,
    software or protocol, since none of those results are reused.

    Args:
        task: kernel and problem.
        protocol: how it will be measured.
        hello: what the device said of itself.
        store: where the context is entered.
        root: of the lab.
        observe: told what the user should know.
        reference: how workers find the kernel; by default as this process does.

    Raises:
        UnknownKernel: no such kernel.
        DefinitionError: its file is wrong, or no config is valid for this problem and device.
    """
    opened = look_at(task, protocol, hello, root=root)
    context, definition = opened.context, opened.definition
    if definition.default_config is not None and definition.default_config not in opened.space:
        observe(Notice(f"{context.label}: the declared default is not valid here and is left out"))
    known = store.contexts(Query(kernel=context.kernel.name, include_simulated=True))
    if all(other.id != context.id for other in known):
        for reason in _why_new(context, known):
            observe(Notice(reason))
    store.add_context(
        context,
        space=from_plain(SpaceSnapshot, opened.space.snapshot()),
        work=opened.work,
        hello=hello,
    )
    return replace(opened, reference=reference or opened.reference)


def look_at(task: Task, protocol: Protocol, hello: Hello, *, root: Path) -> OpenContext:
    """Return what ``open_context`` does, and leave the store as it is.

    Raises:
        UnknownKernel: no such kernel.
        DefinitionError: its file is wrong, or no config is valid for this problem and device.
    """
    definition = catalog.load(task.kernel, root=root)
    problem = definition.bucketed(task.problem)
    context = Context(
        kernel=fingerprint.identify(definition, task.kernel),
        problem=problem,
        model=hello.device.model,
        environment=hello.environment,
        protocol=protocol,
        source=hello.device.source,
    )
    return OpenContext(
        id=context.id,
        context=context,
        reference=_absolute(task.kernel, root),
        definition=definition,
        space=definition.space.bind(problem, hello.device.model),
        work=_work(definition, problem),
        floor_ms=hello.launch_floor_ms,
    )


def _absolute(reference: str, root: Path) -> str:
    """Return a reference that means the same file in a process with another working folder."""
    source, colon, attribute = reference.partition(":")
    if not source.endswith(".py"):
        return reference
    return f"{(root / source).resolve()}{colon}{attribute}"


def _work(definition: KernelDefinition, problem: Problem) -> Work:
    if definition.work is None:
        return Work()
    declared = definition.work(problem)
    return Work(bytes=_float(declared.get("bytes")), flops=_float(declared.get("flops")))


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def _why_new(context: Context, known: list[Context]) -> list[str]:
    """Name what differs from stored contexts of the same kernel, problem, model and source."""
    reasons: set[str] = set()
    for other in known:
        if (other.problem, other.model.id, other.source) != (
            context.problem,
            context.model.id,
            context.source,
        ):
            continue
        changes = context.environment.differences(other.environment)
        if other.kernel.code_hash != context.kernel.code_hash:
            changes.insert(0, "kernel code changed")
        elif other.kernel.reference_hash != context.kernel.reference_hash:
            changes.insert(0, "reference changed, so results need re-checking")
        if other.protocol.id != context.protocol.id:
            changes.append("measuring protocol changed")
        reasons.add(
            f"{context.label}: earlier results are kept but not reused: {'; '.join(changes)}"
        )
    return sorted(reasons)
