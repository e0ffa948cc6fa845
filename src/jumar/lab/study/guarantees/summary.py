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
from typing import Any

from jumar.evidence.validity import Validity
from jumar.lab.study.guarantees.measuring import LOG
from jumar.lab.study.store import Store
from jumar.lab.study.summary import WORSE, grouped

SURE = 0.95  # of the limits
BROKEN = 1e-3
NO_ODDS = [v.value for v in Validity if not v.states_odds]  # labels that promise nothing
VERDICTS = ("none made", "holds", "open", "broken")  # on a promise, the best first
CLAIM = ("part", "subject", "of", "label", "process", "size", "nominal")  # one claim of many logs


def at_most(false: int, logs: int, sure: float = SURE) -> float:
    """The upper Clopper-Pearson limit of a share.

    >>> round(at_most(0, 60), 4), at_most(3, 3)
    (0.0487, 1.0)
    """
    from scipy.special import betaincinv

    return 1.0 if false == logs else float(betaincinv(false + 1, logs - false, sure))


def at_least(false: int, logs: int, sure: float = SURE) -> float:
    """The lower Clopper-Pearson limit of a share.

    >>> at_least(0, 60), round(at_least(60, 60), 4)
    (0.0, 0.9513)
    """
    from scipy.special import betaincinv

    return 0.0 if false == 0 else float(betaincinv(false, logs - false + 1, 1 - sure))


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
    unseen: int  # of these, logs that do not show a range of rewards that was not declared either
    worse: int  # logs made worse
    gain: float | None  # mean truth, over all logs
    worse_for_ever: int | None  # deployed although a loss for ever, where records are cut off

    @property
    def share(self) -> float:
        """Of the logs with a false claim."""
        return self.false / self.logs

    @property
    def limit(self) -> float:
        return at_most(self.false, self.logs)

    @property
    def verdict(self) -> str:
        if self.label in NO_ODDS:
            return "none made"
        against = self.false - self.unseen
        if at_most(against, self.logs) <= self.nominal:
            return "holds"
        return "broken" if chance_of(against, self.logs, self.nominal) < BROKEN else "open"

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        called = {"unseen": "false_range_unseen", "gain": "mean_gain"}
        own = {called.get(name, name): value for name, value in vars(self).items()}
        return {**own, "false_at_most": self.limit, "verdict": self.verdict}


@dataclass(frozen=True)
class Findings:
    """All cells of a run, and what the run says of itself."""

    manifest: dict[str, Any]
    cells: tuple[ClaimCell, ...]

    @property
    def delta(self) -> float:
        return float(self.manifest["delta"])

    @property
    def processes(self) -> list[dict[str, Any]]:
        return list(self.manifest["behaviors"])

    @property
    def gates(self) -> list[str]:
        return list(self.manifest["gates"])

    def of(self, part: str, **wanted: Any) -> list[ClaimCell]:
        """The cells of a part for which all this is true."""
        return [
            cell
            for cell in self.cells
            if cell.part == part and all(getattr(cell, k) == v for k, v in wanted.items())
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain JSON types."""
        return {
            "format": "jumar-guarantees/1",
            "jumar": self.manifest["jumar"],
            "fingerprint": self.manifest["fingerprint"],
            "seed": self.manifest["seed"],
            "datasets": self.manifest["datasets"],
            "delta": self.delta,
            "gates": self.gates,
            "processes": [
                {key: one[key] for key in ("name", "kind", "mechanism", "horizon", "declared")}
                for one in self.processes
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
        unseen=sum(row["false"] and not row["shown"] for row in rows),
        worse=sum(row["worse"] for row in rows),
        gain=math.fsum(gains) / len(gains) if gains else None,
        worse_for_ever=sum(gain < -WORSE for gain in later) if later else None,
    )
