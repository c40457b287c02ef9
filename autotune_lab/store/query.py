"""Which part of a store is meant: the one set of filters that every reader shares."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Executable, Select, func, or_, select

from autotune_lab.definitions import Problem
from autotune_lab.records import Source
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

SIMULATED = tuple(source.value for source in Source if source.is_simulated)


@dataclass(frozen=True, slots=True)
class Query:
    """Filters over contexts; None means "any".

    Attributes:
        kernel: its name.
        problem: a problem, or its text in any order of fields (``"M=4096,dtype=bfloat16"``).
        device_model: a slug (``"nvidia-h200"``), the driver's exact name, or an id.
        study: only contexts, and of those only trials, that a run of this study measured.
        context_ids: exactly these contexts.
        include_simulated: also interpreter and scripted times, which mean nothing for any GPU.
        all_code: also versions of a kernel's code other than the one tuned last.
    """

    kernel: str | None = None
    problem: Problem | str | None = None
    device_model: str | None = None
    study: str | None = None
    context_ids: Sequence[str] | None = None
    include_simulated: bool = False
    all_code: bool = True

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return the filters over ``select_contexts``, all but the study."""
        found: list[ColumnElement[bool]] = []
        if self.kernel is not None:
            found.append(KernelRow.name == self.kernel)
        if self.problem is not None:
            problem = self.problem
            wanted = problem if isinstance(problem, Problem) else Problem.parse(problem)
            found.append(ContextRow.problem_id == wanted.id)
        if self.device_model is not None:
            model = DeviceModelRow
            found.append(or_(*(c == self.device_model for c in (model.slug, model.name, model.id))))
        if self.context_ids is not None:
            found.append(ContextRow.id.in_(list(self.context_ids)))
        if not self.include_simulated:
            found.append(ContextRow.source.not_in(SIMULATED))
        if not self.all_code:
            found.append(ContextRow.kernel_id.in_(_newest_code()))
        if self.study is not None:
            found.append(ContextRow.id.in_(select(TrialRow.context_id).where(self.in_study())))
        return found

    def in_study(self) -> ColumnElement[bool]:
        """Return the filter that keeps a trial if a run of the study measured it."""
        runs = select(RunRow.id).join(StudyRow, StudyRow.id == RunRow.study_id)
        return TrialRow.run_id.in_(runs.where(StudyRow.name == self.study))


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
        .where(*query.conditions())
        .order_by(ContextRow.created_at, ContextRow.id)
    )


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
