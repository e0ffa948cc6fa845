"""A small controller that stands in for the data of a program: repair what was worn the last time
and is worn again, where a wear of 2 and more is called worn.
"""

from __future__ import annotations

from typing import Any

FORMAT = "jumar-program/1"
NAME = "example"
OBSERVATIONS: tuple[str, ...] = ("good", "worn")
ACTIONS: tuple[str, ...] = ("keep", "repair")

# How a reading becomes an observation: its columns, each with the ranges its numbers are cut into.
OBSERVATION_COLUMNS: tuple[tuple[str, Any], ...] = (("wear", ("good", 2.0, "worn")),)
ACTION_COLUMNS: tuple[tuple[str, Any], ...] = (("work", None),)
EPISODE_COLUMN: str | None = "bridge"
MISSING: str | None = None
SEPARATOR = ","
DECIMAL = "."


def _next_1(n_actions: int, node: Any, z: int, a: int) -> Any:
    return (*node, z)[1:]


LAYERS: tuple[tuple[Any, Any], ...] = (
    (
        ((_next_1, (-1,), 0),),
        {
            ((1,), 1): (0.0, 1.0),
        },
    ),
)
DEFAULT: tuple[float, ...] = (1.0, 0.0)
