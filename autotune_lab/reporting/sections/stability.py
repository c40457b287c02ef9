"""Whether runs of one context agree on the winner."""

from typing import Any

import pandas as pd

from autotune_lab.analysis.stability import Run, Stability, stability
from autotune_lab.records import Pick
from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData
from autotune_lab.reporting.sections.base import Cell, Section, Table, Tone, Verdict

ORDER = 52
TITLE = "Agreement between runs"


def build(data: ReportData) -> Section | None:
    """Compare the winners of repeated runs; None where each context was decided once."""
    runs: dict[str, list[Pick]] = {}
    for pick in data.history:
        runs.setdefault(pick.context.id, []).append(pick)
    repeated = {context_id: picks for context_id, picks in runs.items() if len(picks) > 1}
    if not repeated:
        return None
    found = {
        context_id: stability([Run.of(pick, _times(pick)) for pick in picks])
        for context_id, picks in repeated.items()
    }
    ties = sum(each.is_tie for each in found.values())
    flips = sum(not each.is_stable and not each.is_tie for each in found.values())
    stable = len(found) - ties - flips
    text = (
        f"of {wording.count(len(found), 'context')} decided more than once, {stable} kept the "
        f"winner, {ties} changed it among ties, {flips} changed it for real"
    )
    tone = Tone.BAD if flips else Tone.DOUBT if ties else Tone.GOOD
    return Section(
        title=TITLE,
        finding=f"{text[0].upper()}{text[1:]}.",
        tables=[_table(found, repeated, data)],
        caveats=["A winner that changes among ties says nothing about overfitting."]
        if ties
        else [],
        verdicts=[Verdict(TITLE, Cell(text, tone))],
    )


def _times(pick: Pick) -> dict[str, float]:
    """Return what a pick says of times: its winner's, and the default's."""
    times = {pick.config.id: pick.median_ms}
    if pick.default_config is not None and pick.default_ms is not None:
        times.setdefault(pick.default_config.id, pick.default_ms)
    return times


def _table(found: dict[str, Stability], repeated: dict[str, list[Pick]], data: ReportData) -> Table:
    rows: list[list[Cell | str]] = []
    plain: list[dict[str, Any]] = []
    for context_id, each in found.items():
        picks = repeated[context_id]
        label = data.labels[context_id]
        configs = {pick.config.id: pick.config for pick in picks}
        won = [f"{n}× {wording.config(configs[name])}" for name, n in each.winners.items()]
        tone = Tone.GOOD if each.is_stable else Tone.DOUBT if each.is_tie else Tone.BAD
        rows.append(
            [
                label,
                Cell(each.verdict, tone),
                "; ".join(won),
                wording.percent(each.time_range),
            ]
        )
        plain.append(
            {
                "label": label,
                "runs": each.runs,
                "agreement": each.agreement,
                "winners": each.winners,
                "is_tie": each.is_tie,
                "regret_low": each.regret_low,
                "regret_high": each.regret_high,
                "time_range": each.time_range,
            }
        )
    columns = ["Context", "Runs", "Winners", "#Winner’s time differed by"]
    return Table("stability", "", columns, rows, pd.DataFrame(plain))
