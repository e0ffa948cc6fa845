"""Options of the command line that are more than a number: read, or refused with an example."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jumar.core.errors import ParameterError

if TYPE_CHECKING:
    from jumar.core.memory import Memory
    from jumar.evidence.rewards import RewardRange

SortFirst = Annotated[
    bool,
    typer.Option(
        "--sort",
        help="Rows of an episode lie anywhere: sort them first, on disk. Needs jumar[duckdb].",
    ),
]


def parameters(
    algorithm: str | None, n_wedge: int | None, settings: Sequence[str]
) -> dict[str, object]:
    """The parameters of an algorithm, from --n-wedge and --set. A wrong name is told here, before
    the log is read."""
    from jumar.algorithms import meant

    texts = {} if n_wedge is None else {"n_wedge": str(n_wedge)}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"--set {setting}: expected NAME=VALUE, such as n_wedge=20.")
        if name in texts:
            raise ParameterError(f"--set {setting}: {name} is given twice. Give it once.")
        texts[name] = value
    entry = meant(algorithm, texts)
    entry.check(texts)
    return {name: entry.read(name, text) for name, text in texts.items()}


def pictures(kinds: str | None, output: Path | None) -> tuple[str, ...]:
    """The kinds of pictures, from --pictures, which must have a folder to go to."""
    from jumar.show.drawing.images import check_images

    chosen = check_images(kinds)
    if chosen and output is None:
        raise ParameterError("pictures: there is no folder for them. Name one: --output out.")
    return chosen


def memory(window: int | None, with_actions: bool) -> Memory | None:
    """What the new controller may remember, from --window and --with-actions."""
    from jumar.core.memory import window as make_window

    if window is None:
        if with_actions:
            raise ParameterError("--with-actions: give --window as well.")
        return None
    return make_window(window, actions=with_actions)


def reward_range(rewards: str | None, ending: str | None) -> RewardRange | None:
    """What a step can pay, from --rewards and --ending-rewards."""
    from jumar.evidence.rewards import RewardRange

    if rewards is None:
        if ending is not None:
            raise ParameterError("--ending-rewards: give --rewards as well.")
        return None
    usual = pair("--rewards", rewards)
    if ending is None:
        return RewardRange.constant(*usual)
    return RewardRange(usual, pair("--ending-rewards", ending))


def pair(option: str, text: str) -> tuple[float, float]:
    """The numbers of LO:HI."""
    low, colon, high = text.partition(":")
    try:
        if not colon:
            raise ValueError(text)
        ends = float(low), float(high)
        if not -math.inf < ends[0] <= ends[1] < math.inf:
            raise ValueError(text)
        return ends
    except ValueError as error:
        raise ParameterError(
            f"{option} {text}: expected LO:HI, lower number first, such as -100:10."
        ) from error
