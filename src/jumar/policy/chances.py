"""Rows of probabilities: what one action after the other is chosen with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jumar.core.arrays import ALIKE, Array, Floats, number_rows
from jumar.core.errors import ControllerError

if TYPE_CHECKING:
    from jumar.policy.controller import Controller

SUM_TOLERANCE = ALIKE


def without_exploration(rows: Floats, exploration: float) -> Floats:
    """(..., A) the rows before exploration was added to them."""
    if not exploration:
        return rows
    bare = (rows - exploration / rows.shape[-1]) / (1 - exploration)
    bare = np.where(bare < ALIKE, 0.0, bare)  # an action that was never meant is exactly 0
    found: Floats = bare / bare.sum(-1, keepdims=True)
    return found


def check_row(where: str, row: Floats, size: int | None = None) -> None:
    """Is this a probability distribution, over so many actions? If not, say where and why."""
    if size is not None and row.shape != (size,):
        raise ControllerError(f"{where} needs {size} probabilities.")
    if not np.isfinite(row).all() or (row < 0).any():
        raise ControllerError(f"{where}: {row.tolist()} has negative or undefined probabilities.")
    if abs(row.sum() - 1) > SUM_TOLERANCE:
        raise ControllerError(
            f"{where}: probabilities sum to {row.sum():.12g}, not 1. "
            "Write the row so that it sums to 1."
        )


def check_rows(controller: Controller, states: Array, rows: Array) -> None:
    """Does every history state exist, once, and is its row a distribution?"""
    K, name, O = len(states), controller.name, len(controller.observations)
    width, A = controller.memory.width + 1, len(controller.actions)
    for what, array, shape in (("states", states, (K, width)), ("rows", rows, (K, A))):
        if array.shape != shape:
            raise ControllerError(
                f"{name}: {what} has shape {array.shape}; expected {shape} for {K} states, a "
                f"{controller.memory} and {A} actions."
            )
    if K == 0:
        return
    if not np.issubdtype(states.dtype, np.integer):
        raise ControllerError(f"{name}: states must be whole numbers.")
    states = states.astype(np.int64)
    if len(number_rows(states)[0]) < K:
        raise ControllerError(f"{name}: a history state has two rows.")
    z = states[:, -1]
    for i in np.flatnonzero(~((z >= 0) & (z < O) & controller.memory.has(states[:, :-1]))):
        raise ControllerError(
            f"{name}: history state {states[i].tolist()} does not exist in a {controller.memory} "
            f"with {O} observations."
        )
    off = np.abs(rows.sum(1) - 1) > SUM_TOLERANCE
    for i in np.flatnonzero(off | ~np.isfinite(rows).all(1) | (rows < 0).any(1)):
        check_row(f"{name}: {controller.describe(states[i])}", rows[i])
