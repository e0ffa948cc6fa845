"""Rows of probabilities: what one action after the other is chosen with."""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import ALIKE, Floats
from jumar.core.errors import ControllerError

SUM_TOLERANCE = ALIKE


def without_exploration(rows: Floats, exploration: float) -> Floats:
    """(..., A) the rows before exploration was added to them.

    >>> without_exploration(np.array([0.05, 0.95]), 0.1).tolist()
    [0.0, 1.0]
    """
    if not exploration:
        return rows
    bare = (rows - exploration / rows.shape[-1]) / (1 - exploration)
    bare = np.where(bare < ALIKE, 0.0, bare)  # an action that was never meant is exactly 0
    found: Floats = bare / bare.sum(-1, keepdims=True)
    return found


def check_row(where: str, row: Floats) -> None:
    """Is this a probability distribution? If not, say where and why."""
    if not np.isfinite(row).all() or (row < 0).any():
        raise ControllerError(f"{where}: {row.tolist()} has negative or undefined probabilities.")
    if abs(row.sum() - 1) > SUM_TOLERANCE:
        raise ControllerError(
            f"{where}: probabilities sum to {row.sum():.12g}, not 1. "
            "Write the row so that it sums to 1."
        )
