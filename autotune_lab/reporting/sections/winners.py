"""Which config won where, by how much, and what can't be told apart from it."""

import pandas as pd

from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData
from autotune_lab.reporting.figures import dots
from autotune_lab.reporting.sections.base import Cell, Figure, Section, Table, Tone, no_data
from autotune_lab.reporting.standing import winners

ORDER = 20
TITLE = "Winners"
FLAG_WORDS = {
    "not_remeasured": "not re-measured",
    "no_competition": "no competition: nothing else ran",
    "below_launch_floor": "below the launch floor: no winner by events",
    "partial": "part of the space seen",
    "launch_bound": "launch-bound",
}
DISQUALIFIED = frozenset({"not_remeasured", "throttled", "contended", "below_launch_floor"})


def build(data: ReportData) -> Section | None:
    """Show each context's winner with its interval, its gain over the default and its ties."""
    frame = winners(data)
    if frame.empty:
        return no_data(TITLE, "no config ran correctly in any context")
    gained = frame[frame["gain"].notna()]
    return Section(
        title=TITLE,
        finding=_finding(frame, gained, len(data.contexts)),
        figures=[_figure(gained)] if len(gained) else [],
        tables=[_table(frame)],
        caveats=_caveats(frame),
    )


def _finding(frame: pd.DataFrame, gained: pd.DataFrame, contexts: int) -> str:
    where = wording.count(contexts, "context")
    if gained.empty:
        return f"{len(frame)} of {where} has a winner; no default was measured to compare with."
    low, high = gained["gain"].min(), gained["gain"].max()
    gain = f"{low:.2f}×" if len(gained) == 1 else f"{low:.2f}× to {high:.2f}×"
    same = int((gained["gain"] == 1.0).sum())
    kept = f"; in {same} of them the default itself won" if same else ""
    return (
        f"Tuning gained {gain} over the default in {wording.count(len(gained), 'context')}{kept}; "
        f"{len(frame)} of {where} {'has' if len(frame) == 1 else 'have'} a winner."
    )


def _figure(gained: pd.DataFrame) -> Figure:
    frame = gained.sort_values("gain", ascending=False, ignore_index=True)
    best = frame.iloc[0]
    return Figure(
        name="gain",
        title="How many times faster the winner is than the kernel's default config",
        frame=frame[["label", "gain", "median_ms", "default_ms"]],
        draw=dots.gains,
        alt=f"One dot a context. The largest gain is {best['gain']:.2f} times, on {best['label']}; "
        f"the smallest {frame.iloc[-1]['gain']:.2f} times, on {frame.iloc[-1]['label']}.",
        caption="Both times are from the same interleaved rounds. 1× means that the default was as good.",
    )


def _table(frame: pd.DataFrame) -> Table:
    columns = ["Device model · problem", "Winner", "#Time, ms", "#95% interval, ms", "#Default, ms",
               "#Gain", "#Tied", "Standing"]  # fmt: skip
    rows: list[list[Cell | str]] = []
    for row in frame.to_dict("records"):
        rows.append(
            [
                row["label"],
                wording.config(row["config"]),
                Cell(wording.digits(row["median_ms"]), Tone.STRONG),
                wording.span(row["low_ms"], row["high_ms"]),
                Cell("not measured", Tone.MISSING)
                if wording.is_missing(row["default_ms"])
                else wording.digits(row["default_ms"]),
                wording.MISSING if wording.is_missing(row["gain"]) else f"{row['gain']:.2f}×",
                wording.MISSING if wording.is_missing(row["tied"]) else str(row["tied"]),
                _standing(row["rounds"], row["flags"]),
            ]
        )
    return Table(
        "winners",
        "Winners by their median over fresh, interleaved rounds. “Tied” counts the configs that can’t "
        "be told apart from the winner, itself included.",
        columns,
        rows,
        frame,
    )


def _standing(rounds: int, flags: tuple[str, ...]) -> Cell:
    words = [FLAG_WORDS.get(flag, flag.replace("_", " ")) for flag in flags]
    if rounds:
        words.insert(0, wording.count(rounds, "round"))
    tone = Tone.DOUBT if DISQUALIFIED & set(flags) else Tone.PLAIN
    return Cell(", ".join(words), tone)


def _caveats(frame: pd.DataFrame) -> list[str]:
    found = []
    single = int((frame["rounds"] == 0).sum())
    if single:
        found.append(
            f"{wording.count(single, 'winner')} of one pass only: the time is the one that won the "
            "selection, and so too good on average."
        )
    partial = int(frame["flags"].map(lambda flags: "partial" in flags).sum())
    if partial:
        found.append(f"In {wording.count(partial, 'context')} only a part of the space was tried.")
    return found
