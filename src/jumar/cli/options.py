"""Options of the command line that are more than a number: read, or refused with an example."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jumar.core.errors import ParameterError
from jumar.core.text import printable

if TYPE_CHECKING:
    from jumar.evidence.rewards import RewardRange
    from jumar.gate.objectives import Keep
    from jumar.memory import Memory


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
    from jumar.memory import window as make_window

    if window is None:
        if with_actions:
            raise ParameterError("--with-actions: give --window as well.")
        return None
    return make_window(window, actions=with_actions)


def learned_or_given(
    window: int | None, with_actions: bool, learn: bool
) -> Memory | Literal["learn"] | None:
    """What the new controller may remember; from --learn-memory, too."""
    if not learn:
        return memory(window, with_actions)
    if window is not None or with_actions:
        raise ParameterError("--learn-memory: leave --window and --with-actions out.")
    return "learn"


def gain_share(simplify: bool, share: float | None) -> bool | float:
    """What share of the gain fewer changes must keep, from --simplify and --gain-share."""
    from jumar.solve.simplifying import check_share

    if share is None:
        return simplify
    if not simplify:
        raise ParameterError(f"--gain-share {share:g}: give --simplify as well.")
    try:
        return check_share(share)
    except ParameterError:
        raise ParameterError(
            f"--gain-share {share:g}: must lie above 0 and at most at 1, such as 0.95."
        ) from None


def check_candidates(
    candidates: str | None,
    algorithm: str | None,
    parameters: Mapping[str, object],
) -> None:
    """What does not go together with --candidates, and a name that does not exist, are told before
    the log is read."""
    if candidates is None:
        return
    from jumar.algorithms import meant
    from jumar.gate.makers import makers_of

    makers_of(candidates)
    named = meant(algorithm, parameters).name
    if named != "auto":
        raise ParameterError(
            f"--candidates: {named} takes none, only auto does. Leave --algorithm and its "
            f"parameters out, or name it there: --candidates {named}."
        )


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


# ---- several objectives -------------------------------------------------------------------------


def with_kept(
    reading: Mapping[str, Any], keep: Sequence[str], costs: Sequence[str], ranges: Sequence[str]
) -> tuple[dict[str, Any], tuple[Keep, ...]]:
    """How the log is read, with the columns that are kept as signals; and what may be lost of each.
    From --keep, --keep-cost and --keep-range."""
    from jumar.gate.objectives import Keep, keeps_of

    columns = dict(reading["columns"])
    wanted = [(False, *_loss("--keep", text)) for text in keep]
    wanted += [(True, *_loss("--keep-cost", text)) for text in costs]
    declared = dict(_range(text) for text in ranges)
    for name in declared:
        if name not in [column for _, column, _ in wanted]:
            shown = printable(name)
            raise ParameterError(f"--keep-range {shown}: give --keep {shown} as well.")
    reward, found = columns.get("reward", "reward"), []
    for is_cost, name, loss in wanted:
        if name == reward:
            raise ParameterError(
                f"--keep {printable(name)}: this column is the objective, which must get better. "
                "Leave it out."
            )
        if is_cost or not {f"signal:{name}", f"cost:{name}"} & set(columns):
            columns[f"{'cost' if is_cost else 'signal'}:{name}"] = name
        limits = declared.get(name)
        if limits is not None and f"cost:{name}" in columns:
            limits = limits.turned
        found.append(Keep(name, loss, limits))
    return {**reading, "columns": columns}, keeps_of(found)


def _loss(option: str, text: str) -> tuple[str, float | None]:
    """The name and the number of NAME=LOSS."""
    name, equals, amount = text.rpartition("=")
    if not equals:
        return text, None
    try:
        loss = float(amount)
    except ValueError:
        loss = math.nan
    if not name or not 0 <= loss < math.inf:
        raise ParameterError(
            f"{option} {printable(text)}: expected COLUMN, or COLUMN=LOSS with what may be lost "
            "per episode, such as safety=0.05."
        )
    return name, loss


def _range(text: str) -> tuple[str, RewardRange]:
    """The name and the numbers of NAME=LO:HI."""
    from jumar.evidence.rewards import RewardRange

    name, equals, ends = text.rpartition("=")
    if not equals or not name:
        raise ParameterError(
            f"--keep-range {printable(text)}: expected COLUMN=LO:HI, such as safety=-1:0."
        )
    return name, RewardRange.constant(*pair(f"--keep-range {printable(name)}", ends))
