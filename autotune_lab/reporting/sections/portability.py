"""One config for everything, or a few: what they lose, and whether that holds somewhere new."""

from typing import Any

import pandas as pd

from autotune_lab.analysis import portability
from autotune_lab.analysis.matrix import TimeMatrix
from autotune_lab.analysis.portability import Over, Rule
from autotune_lab.analysis.portfolio import Objective, Portfolio, portfolios
from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData, rows_of
from autotune_lab.reporting.figures import curves
from autotune_lab.reporting.sections.base import (
    DOES_NOT_RUN,
    NOT_MEASURED,
    Cell,
    Figure,
    Section,
    Table,
    Tone,
    Verdict,
)

ORDER = 35
TITLE = "Portable configs"
LOSS = 0.05
RULE_WORDS = {
    Rule.PERFORMANCE_PORTABILITY: "best performance portability",
    Rule.MINIMAX: "least worst-case loss",
}


def build(data: ReportData) -> Section | None:
    """Show the portable configs of the version of the kernel that has most contexts."""
    if data.trials.empty:
        return None
    newest = [portability.newest_contexts(matrix) for matrix in data.matrices]
    matrix = max(newest, key=lambda m: len(m.columns), default=None)
    if matrix is None or len(matrix.columns) < 2:
        why = "it takes two contexts in which some config ran"
        answer = Cell(f"not measured: {why}", Tone.MISSING)
        return Section(TITLE, f"No data: {why}.", verdicts=[Verdict(TITLE, answer)])
    found = portfolios(matrix, Objective.WORST)
    chosen = _within(found) or found[-1]
    tables = [_size_table(found), _member_table(chosen, matrix, data), _choices(matrix, data)]
    tables += [table for over in Over if (table := _left_out(matrix, over, data)) is not None]
    return Section(
        title=TITLE,
        finding=_finding(found, len(matrix.columns)),
        figures=[_figure(found)],
        tables=tables,
        caveats=_caveats(found, newest, matrix),
        verdicts=[_verdict(found, len(matrix.columns))],
    )


def _within(found: list[Portfolio]) -> Portfolio | None:
    return next((each for each in found if each.worst_loss <= LOSS), None)


def _finding(found: list[Portfolio], contexts: int) -> str:
    one, few = found[0], _within(found)
    where = wording.count(contexts, "context")
    if one.worst_loss >= 1:
        single = f"No single config is known to run in all of {where}"
    else:
        single = (
            f"The best single config loses {wording.percent(one.worst_loss)} at worst over {where}"
        )
    if few is None:
        last = found[-1]
        return (
            f"{single}; even {len(last.configs)} configs lose up to "
            f"{wording.percent(last.worst_loss)}."
        )
    if few is one:
        return f"{single}: it is enough."
    return (
        f"{single}; {len(few.configs)} configs keep every context within "
        f"{wording.percent(LOSS)} ({wording.percent(few.mean_loss)} on average)."
    )


def _verdict(found: list[Portfolio], contexts: int) -> Verdict:
    one, few = found[0], _within(found)
    count = wording.count(len(few.configs), "config") if few else f"over {len(found[-1].configs)}"
    text = f"{count} to keep all {contexts} contexts within {wording.percent(LOSS)}"
    tone = Tone.GOOD if few is one else Tone.DOUBT if few else Tone.BAD
    return Verdict("Configs needed", Cell(text, tone))


def _figure(found: list[Portfolio]) -> Figure:
    frame = pd.DataFrame(
        {
            "size": [len(each.configs) for each in found],
            "worst_loss": [each.worst_loss for each in found],
            "mean_loss": [each.mean_loss for each in found],
            "is_exact": [each.is_exact for each in found],
        }
    )
    told = (f"{row['size']}: {wording.percent(row['worst_loss'])}" for row in rows_of(frame))
    return Figure(
        name="portfolio",
        title="What the best set of k configs loses when each context uses the best of them",
        frame=frame,
        draw=curves.portfolio,
        alt=f"Two falling curves. Worst loss by size: {wording.listing(told, most=8)}.",
        caption="A config that does not run, or that nobody measured, loses 100% there. The curve "
        "says how many configs a dispatcher needs.",
    )


def _choices(matrix: TimeMatrix, data: ReportData) -> Table:
    """List the portable config of each rule and the default, context by context."""
    defaults = {pick.default_config.id for pick in data.picks if pick.default_config}
    scored = portability.scores(matrix).set_index("config_id", drop=False)
    chosen: dict[str, str] = {}
    for rule, words in RULE_WORDS.items():
        best = portability.portable(matrix, rule)
        if best is not None:
            chosen[best.config.id] = " and ".join(filter(None, [chosen.get(best.config.id), words]))
    for config_id in sorted(defaults & set(scored.index)):
        chosen[config_id] = " and ".join(filter(None, [chosen.get(config_id), "default"]))
    frame = scored.loc[list(chosen)].reset_index(drop=True)
    frame.insert(0, "chosen_for", list(chosen.values()))
    rows = [
        [row["chosen_for"], wording.config(row["config"]), *_scores(row)] for row in rows_of(frame)
    ]
    columns = [
        "Chosen for",
        "Config",
        "#Portability",
        "#Worst loss",
        "#Mean loss",
        "#Known",
        "#Fails",
    ]
    caption = (
        "Portability is the harmonic mean of the efficiencies over all contexts, 0 if it fails in "
        "one (Pennycook and others, 2016)."
        if len(frame)
        else "No config was measured in every context, so none can be called portable."
    )
    return Table("portable", caption, columns, rows, frame)


def _scores(row: dict[str, Any]) -> list[Cell | str]:
    known = f"{row['known']} of {row['contexts']}"
    fails = Cell(str(row["fails"]), Tone.FAILS) if row["fails"] else wording.MISSING
    withheld = Cell("withheld", Tone.MISSING)
    numbers = [
        withheld if wording.is_missing(row[name]) else wording.percent(row[name])
        for name in ("performance_portability", "worst_loss", "mean_loss")
    ]
    return [*numbers, known, fails]


def _size_table(found: list[Portfolio]) -> Table:
    rows: list[list[Cell | str]] = [
        [
            str(len(each.configs)),
            Cell(wording.percent(each.worst_loss), _tone(each.worst_loss)),
            wording.percent(each.mean_loss),
            "exact" if each.is_exact else "greedy",
        ]
        for each in found
    ]
    plain = [
        {
            "size": len(each.configs),
            "configs": each.configs,
            "worst_loss": each.worst_loss,
            "mean_loss": each.mean_loss,
            "is_exact": each.is_exact,
        }
        for each in found
    ]
    columns = ["#k", "#Worst loss", "#Mean loss", "Search"]
    return Table("portfolio_sizes", "", columns, rows, pd.DataFrame(plain))


def _member_table(chosen: Portfolio, matrix: TimeMatrix, data: ReportData) -> Table:
    """List the members of one set and the contexts that each of them serves."""
    rows: list[list[Cell | str]] = []
    plain = []
    for position, config in enumerate(chosen.configs):
        served = [
            data.labels[column.context_id]
            for column, by in zip(matrix.columns, chosen.serves, strict=True)
            if by == position
        ]
        rows.append([wording.config(config), str(len(served)), wording.listing(served, most=6)])
        plain.append({"config_id": config.id, "config": config, "serves": served})
    count = wording.count(len(chosen.configs), "config")
    caption = (
        f"The {count} that lose at most {wording.percent(chosen.worst_loss)}, and whom each serves."
    )
    columns = ["Config", "#Serves", "Contexts"]
    return Table("portfolio_members", caption, columns, rows, pd.DataFrame(plain))


def _tone(loss: float) -> Tone:
    return Tone.GOOD if loss <= LOSS else Tone.DOUBT


def _left_out(matrix: TimeMatrix, over: Over, data: ReportData) -> Table | None:
    frame = portability.leave_one_out(matrix, over)
    if len(frame) < 2:
        return None
    fields = {row["problem"]: row["problem_fields"] for row in rows_of(data.contexts)}
    problems = wording.short_problems(fields)
    rows: list[list[Cell | str]] = []
    for row in rows_of(frame):
        worst = row["held_out_worst_loss"]
        if row["fails"]:
            cell = DOES_NOT_RUN
        elif wording.is_missing(worst):
            cell = NOT_MEASURED
        else:
            cell = Cell(wording.percent(worst), Tone.DOUBT if worst > LOSS else Tone.GOOD)
        kept = wording.percent(row["kept_worst_loss"])
        left_out = problems.get(row["left_out"], row["left_out"])
        rows.append([left_out, wording.config(row["config"]), kept, cell])
    caption = (
        f"Does the portable choice hold on a {over.value} that it was not chosen on? Each "
        f"{over.value} in turn is left out of the choice, then judged."
    )
    columns = ["Left out", "Portable config of the others", "#Worst loss there", "#Worst loss here"]
    return Table(f"leave_one_{over.value}_out", caption, columns, rows, frame)


def _caveats(found: list[Portfolio], newest: list[TimeMatrix], matrix: TimeMatrix) -> list[str]:
    caveats = []
    if not all(each.is_exact for each in found):
        caveats.append("Sets marked greedy may not be the best of their size.")
    if len(newest) > 1:
        others = len(newest) - 1
        caveats.append(
            f"{wording.count(others, 'other version')} of the code or protocol left out: times are "
            f"never compared across them. Shown: code {matrix.columns[0].code_hash[:8]}."
        )
    return caveats
