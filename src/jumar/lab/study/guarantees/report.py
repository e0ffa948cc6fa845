"""What was measured, cell by cell: how many claims were made, how many were false, and what that
says about the promise.

A cell is one claimant on one process at one size. With k false claims in n logs, the true share is
at most its Clopper-Pearson limit, in 95 of 100 such measurements. The promise of a cell

- *holds* if that limit is at most the chance of error that is claimed;
- is *broken* if so many false claims would come up in fewer than one of 1,000 measurements of a
  promise that is kept;
- is *open* otherwise: more logs would tell.

Where rewards are not declared, a promise is made only for the returns that the log shows. A false
claim about a log that does not show the whole range does not count against it; it is counted apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from jumar.core.files import write_atomically
from jumar.evidence.validity import Validity
from jumar.lab.study.guarantees.measuring import LOG, PARTS
from jumar.lab.study.page import write_cells
from jumar.lab.study.store import Store
from jumar.lab.study.summary import WORSE, grouped
from jumar.show.terminal.look import plain_table

SURE = 0.95  # of the limits
BROKEN = 1e-3
NO_ODDS = [v.value for v in Validity if not v.states_odds]  # labels that promise nothing
VERDICTS = ("none made", "holds", "open", "BROKEN")  # on a promise, the best first
CLAIM = ("part", "subject", "of", "label", "process", "size", "nominal")  # one claim of many logs
TITLES = {
    "gates": "Gates: false claims of a gain",
    "intervals": "Intervals: the value of another policy lies outside",
    "certificates": "Certificates, where the memory suffices: false claims",
    "tests": "Checks: logs that are rejected although nothing is wrong",
}


def at_most(false: int, logs: int, sure: float = SURE) -> float:
    """The upper Clopper-Pearson limit of a share.

    >>> round(at_most(0, 60), 4), at_most(3, 3)
    (0.0487, 1.0)
    """
    from scipy.special import betaincinv

    return 1.0 if false == logs else float(betaincinv(false + 1, logs - false, sure))


def chance_of(false: int, logs: int, share: float) -> float:
    """The chance of so many or more, if each comes with this chance.

    >>> chance_of(0, 10, 0.05), round(chance_of(2, 2, 0.5), 3)
    (1.0, 0.25)
    """
    from scipy.special import bdtrc

    return 1.0 if false == 0 else float(bdtrc(false - 1, logs, share))


@dataclass(frozen=True)
class ClaimCell:
    """One claimant on one process at one size."""

    part: str
    subject: str
    of: str
    label: str
    process: str
    size: int
    nominal: float
    logs: int
    made: int  # logs with a claim
    false: int  # logs with a false one
    # of these, logs that do not show a range of rewards that was not declared either
    false_range_unseen: int
    worse: int  # logs made worse
    mean_gain: float | None  # truth, over all logs
    worse_for_ever: int | None  # deployed although a loss for ever, where records are cut off

    @property
    def share(self) -> float:
        """Of the logs with a false claim."""
        return self.false / self.logs

    @property
    def verdict(self) -> str:
        if self.label in NO_ODDS:
            return "none made"
        against = self.false - self.false_range_unseen
        if at_most(against, self.logs) <= self.nominal:
            return "holds"
        return "BROKEN" if chance_of(against, self.logs, self.nominal) < BROKEN else "open"

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        limit = at_most(self.false, self.logs)
        return {**vars(self), "false_at_most": limit, "verdict": self.verdict.lower()}


@dataclass(frozen=True)
class Findings:
    """All cells of a run, and what the run says of itself."""

    manifest: dict[str, Any]
    cells: tuple[ClaimCell, ...]

    def of(self, part: str, **wanted: Any) -> list[ClaimCell]:
        """The cells of a part for which all this is true."""
        return [
            cell
            for cell in self.cells
            if cell.part == part and all(getattr(cell, k) == v for k, v in wanted.items())
        ]

    @property
    def run(self) -> str:
        """Which run the numbers are from."""
        m, logs = self.manifest, sorted({cell.logs for cell in self.cells})
        # a run that was stopped has more logs of some cells than of others
        several = " to ".join(f"{n:,}" for n in dict.fromkeys((logs[0], logs[-1])))
        return (
            f"jumar {m['jumar']}, δ = {100 * m['delta']:g} %, {several} logs per cell, seed "
            f"{m['seed']}, run {m['fingerprint'][:12]}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain JSON types."""
        kept = ("jumar", "fingerprint", "seed", "datasets", "delta", "gates")
        return {
            "format": "jumar-guarantees/1",
            **{key: self.manifest[key] for key in kept},
            "processes": [
                {key: one[key] for key in ("name", "mechanism", "horizon", "declared")}
                for one in self.manifest["behaviors"]
            ],
            "cells": [cell.to_dict() for cell in self.cells],
        }


def findings(store: Store) -> Findings:
    """The cells of a run, also of one that is not finished."""
    manifest = store.read_manifest()
    order = {one["name"]: i for i, one in enumerate(manifest["behaviors"])}
    rows = store.read().to_pylist()
    logs = Counter(_place(row) for row in rows if row["subject"] == LOG)
    claims = grouped(
        (row for row in rows if row["subject"] != LOG),
        lambda row: tuple(row[field] for field in CLAIM),
    )
    cells = [_cell(logs[_place(rows[0])], rows) for rows in claims.values()]
    cells.sort(key=lambda cell: (cell.part, cell.subject, cell.of, order[cell.process], cell.size))
    return Findings(manifest, tuple(cells))


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["part"], row["process"], row["size"]


def _cell(logs: int, rows: Sequence[dict[str, Any]]) -> ClaimCell:
    """A cell of so many logs, also those about which nothing was claimed."""
    gains = [row["gain"] for row in rows if row["gain"] is not None]
    later = [row["for_ever"] for row in rows if row["for_ever"] is not None]
    return ClaimCell(
        **{field: rows[0][field] for field in CLAIM},
        logs=logs,
        made=sum(row["made"] for row in rows),
        false=sum(row["false"] for row in rows),
        false_range_unseen=sum(row["false"] and not row["shown"] for row in rows),
        worse=sum(row["worse"] for row in rows),
        mean_gain=math.fsum(gains) / len(gains) if gains else None,
        worse_for_ever=sum(gain < -WORSE for gain in later) if later else None,
    )


# ---- tables -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """Rows of text, each cell under the head of its column."""

    name: str
    title: str
    rows: Sequence[dict[str, str]]  # all with the same heads, in the same order
    right: Sequence[str]  # the columns that hold numbers

    @property
    def markdown(self) -> str:
        """As a page shows it."""
        heads = list(self.rows[0])
        marks = ["---:" if head in self.right else "---" for head in heads]
        lines = [heads, marks, *(row.values() for row in self.rows)]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    @property
    def view(self) -> RenderableType:
        """As a terminal shows it."""
        rows = [list(row.values()) for row in self.rows]
        return plain_table(list(self.rows[0]), rows, title=self.title, right=self.right)


def tables(found: Findings) -> list[Table]:
    """One table per part: a row per process for gates, else one per claimant and label."""
    names = [one["name"] for one in found.manifest["behaviors"]]
    rows = {part: _rows_of_claims(found.of(part)) for part in PARTS if part != "gates"}
    gates = [_row_of_gates(found, name) for name in names if found.of("gates", process=name)]
    return [
        Table(part, TITLES[part], those, [x for x in those[0] if x in NUMBERS])
        for part, those in {"gates": gates, **rows}.items()
        if those
    ]


NUMBERS = ("logs", "made", "false", "at most", "worst")


def _row_of_gates(found: Findings, name: str) -> dict[str, str]:
    """What every gate did with the logs of a process, of all sizes together."""
    row = {"process": name}
    for gate in found.manifest["gates"]:
        counts = _counts(found.of("gates", subject=gate, process=name))
        heads = ("made", "false", "promise")  # in one column: a terminal has 80
        row[f"{gate}: {' / '.join(heads)}"] = " / ".join(counts[head] for head in heads)
    return row


def _rows_of_claims(cells: list[ClaimCell]) -> list[dict[str, str]]:
    """Every claim whose label prints a chance of error, and where it fails most often."""
    claims = grouped(
        (cell for cell in cells if cell.label not in NO_ODDS),
        lambda cell: (cell.subject, cell.label),
    )
    words = {v.value: v.name.replace("_", " ").lower() for v in Validity}
    rows = []
    for (subject, label), same in claims.items():
        hardest = max(same, key=lambda cell: (cell.share, cell.size))
        where = ", ".join(filter(None, (hardest.process, hardest.of, f"{hardest.size:,}")))
        rows.append(
            {
                "claim": f"{subject}, {words[label]}" if label in words else subject,
                **_counts(same),
                "worst": f"{100 * hardest.share:.1f} %",
                "where": where if hardest.false else "-",
            }
        )
    return rows


def _counts(cells: list[ClaimCell]) -> dict[str, str]:
    """Counts over some cells, and the worst that became of their promise."""
    if not cells:
        return dict.fromkeys(("logs", "made", "false", "at most", "promise"), "-")
    fields = ("logs", "made", "false", "false_range_unseen")
    logs, made, false, unseen = (sum(getattr(c, field) for c in cells) for field in fields)
    return {
        "logs": f"{logs:,}",
        "made": f"{made:,}",
        "false": f"{false:,}" + (f" ({unseen:,} unseen)" if unseen else ""),
        "at most": f"{100 * at_most(false, logs):.1f} %",
        "promise": max((cell.verdict for cell in cells), key=VERDICTS.index),
    }


def write_report(store: Store) -> list[Path]:
    """Write every cell and the tables into the folder of the run."""
    found = findings(store)
    cells, page = store.folder / "guarantees.csv", store.folder / "guarantees.md"
    write_cells(cells, [cell.to_dict() for cell in found.cells])
    parts = [f"# Guarantees, measured\n\n{found.run}"]
    parts += [f"## {table.title}\n\n{table.markdown}" for table in tables(found)]
    write_atomically(page, "\n\n".join(parts) + "\n")
    return [cells, page]
