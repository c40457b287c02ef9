"""Doubtful data: contexts whose times can't be, or were not, measurements."""

import pandas as pd

from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData, rows_of
from autotune_lab.reporting.sections.base import Cell, Section, Table, Tone, Verdict

ORDER = 10
TITLE = "Doubtful data"


def build(data: ReportData) -> Section | None:
    """List what is suspicious; None where nothing is."""
    if data.doubts.empty:
        return None
    frame = data.doubts.assign(label=data.doubts["context_id"].map(data.labels))
    contexts = wording.count(frame["context_id"].nunique(), "context")
    first = rows_of(frame)[0]
    text = f"{contexts} of {len(data.contexts)} can’t be taken at face value"
    return Section(
        title=TITLE,
        finding=f"{text}, for example {first['label']}: {first['detail']}.",
        tables=[_table(frame)],
        caveats=["They are kept in what follows: judge findings that rest on them with care."],
        verdicts=[Verdict(TITLE, Cell(text, Tone.BAD))],
    )


def _table(frame: pd.DataFrame) -> Table:
    rows: list[list[Cell | str]] = [
        [
            row["label"],
            Cell(row["flag"].replace("_", " "), Tone.BAD),
            wording.count(row["cells"]),
            row["detail"],
        ]
        for row in rows_of(frame)
    ]
    return Table("doubts", "", ["Context", "Suspicion", "#Cells", "Why"], rows, frame)
