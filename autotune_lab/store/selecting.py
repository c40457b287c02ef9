"""Queries to SQL: the contexts that match, with all that they are made of."""

from typing import Any

from sqlalchemy import ColumnElement, Executable, Select, func, or_, select

from autotune_lab.definitions import Problem
from autotune_lab.records import Source
from autotune_lab.store.query import Query
from autotune_lab.store.schema import (
    ContextRow,
    DeviceModelRow,
    EnvironmentRow,
    KernelRow,
    ProblemRow,
    ProtocolRow,
    RunRow,
    StudyRow,
    TrialRow,
)

_SIMULATED = tuple(source.value for source in Source if source.is_simulated)


def select_context_ids(query: Query) -> Select[str]:
    """Select the ids of the matching contexts, and nothing else of them."""
    return (
        select(ContextRow.id)
        .join(KernelRow, KernelRow.id == ContextRow.kernel_id)
        .join(DeviceModelRow, DeviceModelRow.id == ContextRow.model_id)
        .where(*_conditions(query))
    )


def select_contexts(query: Query) -> Executable:
    """Select the matching contexts with all that they are made of, oldest first."""
    return (
        select(
            ContextRow.id.label("context_id"),
            KernelRow.name.label("kernel"),
            KernelRow.code_hash,
            KernelRow.reference_hash,
            KernelRow.reference,
            ProblemRow.label.label("problem"),
            ProblemRow.record.label("problem_record"),
            DeviceModelRow.slug.label("device_model"),
            DeviceModelRow.id.label("device_model_id"),
            DeviceModelRow.name.label("device_name"),
            DeviceModelRow.architecture,
            DeviceModelRow.sm_count,
            DeviceModelRow.partition,
            DeviceModelRow.record.label("model_record"),
            EnvironmentRow.id.label("environment_id"),
            EnvironmentRow.triton,
            EnvironmentRow.driver,
            EnvironmentRow.record.label("environment_record"),
            ProtocolRow.id.label("protocol_id"),
            ProtocolRow.record.label("protocol_record"),
            ContextRow.source,
            ContextRow.created_at,
            ContextRow.space,
            ContextRow.work_bytes,
            ContextRow.work_flops,
            ContextRow.launch_floor_ms,
            ContextRow.copy_gbs,
            ContextRow.matmul_tflops,
        )
        .select_from(ContextRow)
        .join(KernelRow, KernelRow.id == ContextRow.kernel_id)
        .join(ProblemRow, ProblemRow.id == ContextRow.problem_id)
        .join(DeviceModelRow, DeviceModelRow.id == ContextRow.model_id)
        .join(EnvironmentRow, EnvironmentRow.id == ContextRow.environment_id)
        .join(ProtocolRow, ProtocolRow.id == ContextRow.protocol_id)
        .where(*_conditions(query))
        .order_by(ContextRow.created_at, ContextRow.id)
    )


def in_study(study: str) -> ColumnElement[bool]:
    """Return the filter that keeps a trial if a run of the study measured it."""
    runs = select(RunRow.id).join(StudyRow, StudyRow.id == RunRow.study_id)
    return TrialRow.run_id.in_(runs.where(StudyRow.name == study))


def _conditions(query: Query) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if query.kernel is not None:
        found.append(KernelRow.name == query.kernel)
    if query.problem is not None:
        problem = query.problem
        wanted = problem if isinstance(problem, Problem) else Problem.parse(problem)
        found.append(ContextRow.problem_id == wanted.id)
    if query.device_model is not None:
        model = DeviceModelRow
        found.append(or_(*(c == query.device_model for c in (model.slug, model.name, model.id))))
    if query.context_ids is not None:
        found.append(ContextRow.id.in_(list(query.context_ids)))
    if not query.include_simulated:
        found.append(ContextRow.source.not_in(_SIMULATED))
    if not query.all_code:
        found.append(ContextRow.kernel_id.in_(_newest_code()))
    if query.study is not None:
        found.append(ContextRow.id.in_(select(TrialRow.context_id).where(in_study(query.study))))
    return found


def _newest_code() -> Select[Any]:
    """Select, for each kernel name, the version whose context was opened last."""
    kernel, context = KernelRow, ContextRow
    rank = (
        func.row_number()
        .over(partition_by=kernel.name, order_by=(context.opened_at.desc(), context.id))
        .label("rank")
    )
    ranked = select(kernel.id, rank).join(context, context.kernel_id == kernel.id).subquery()
    return select(ranked.c.id).where(ranked.c.rank == 1)
