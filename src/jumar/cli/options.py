"""Options of the command line that are more than a number: read, or refused with an example."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jumar.core.errors import ParameterError
from jumar.core.text import printable
from jumar.options import of_reading

if TYPE_CHECKING:
    from jumar.evidence.rewards import RewardRange
    from jumar.gate.objectives import Keep
    from jumar.memory import Memory


def usual_reading(**defaults: Any) -> dict[str, Any]:
    """What is handed to `read_logs` where nobody says anything; `defaults` differ from that."""
    usual = {"missing": "error", "repeated": "error", "each_file": False, **defaults}
    return {name: usual.get(name) for name in of_reading()}


def as_reading(**asked: Any) -> dict[str, Any]:
    """The options as keyword arguments of `read_logs`.

    >>> asked = as_reading(columns=["episode=bus"], bins=["miles=new:5e3:old"], gap="90d")
    >>> asked["columns"], asked["bins"], asked["gap"]
    ({'episode': 'bus'}, {'miles': ('new', 5000.0, 'old')}, '90d')
    """
    tables = {
        "columns": _pairs("columns", asked.get("columns"), "PART=NAME", "episode=bus_id"),
        "bins": _bins(asked.get("bins")),
        "prices": _prices(asked.get("prices")),
    }
    return {**usual_reading(), **asked, **tables}


def _pairs(
    option: str,
    texts: Sequence[str] | None,
    form: str,
    example: str,
    *,
    several: bool = True,
    last: bool = False,
) -> dict[str, str]:
    """NAME=VALUE of each text, or `several` with commas between; a name holds no "=", or with
    `last` a value holds none."""
    found: dict[str, str] = {}
    for text in texts or ():
        for item in text.split(",") if several else [text]:
            name, equals, value = item.rpartition("=") if last else item.partition("=")
            place = f"--{option} {printable(text)}"
            if not equals or not name or not value:
                raise ParameterError(f"{place}: expected {form}, such as {example}.")
            if name in found:
                raise ParameterError(f"{place}: {printable(name)} is given twice. Give it once.")
            found[name] = value
    return found


def _bins(texts: Sequence[str] | None) -> dict[str, tuple[str | float, ...]]:
    form, example = "COLUMN=NAME:EDGE:NAME", "vibration=low:2:mid:5:high"
    found: dict[str, tuple[str | float, ...]] = {}
    for column, spec in _pairs("bins", texts, form, example, several=False).items():
        place, items = f"--bins {printable(f'{column}={spec}')}", spec.split(":")
        if len(items) < 3 or len(items) % 2 == 0:
            raise ParameterError(f"{place}: expected {form}, such as {example}.")
        found[column] = tuple(
            _number(item, place, example) if i % 2 else item for i, item in enumerate(items)
        )
    return found


def _prices(texts: Sequence[str] | None) -> dict[str, float]:
    example = "action:repair=-10"
    told = _pairs("prices", texts, "WHAT=NUMBER", example, last=True)
    return {
        name: _number(amount, f"--prices {printable(f'{name}={amount}')}", example)
        for name, amount in told.items()
    }


def _number(text: str, place: str, example: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ParameterError(
            f"{place}: {printable(text)!r} is not a number. Write it like {example}."
        ) from error


def parameters(
    algorithm: str | None, n_wedge: int | None, settings: Sequence[str]
) -> dict[str, object]:
    """The parameters of an algorithm, from --n-wedge and --set. A wrong name is told here, before
    the log is read."""
    from jumar.algorithms import meant

    given = [*([] if n_wedge is None else [f"n_wedge={n_wedge}"]), *settings]
    texts = _pairs("set", given, "NAME=VALUE", "n_wedge=20", several=False)
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


def check_excel(excel: bool, output: Path | None) -> None:
    """A workbook must have a folder to go to, and what writes it."""
    from jumar.show.workbook import check_installed

    if excel and output is None:
        raise ParameterError("excel: there is no folder for it. Name one: --output out.")
    if excel:
        check_installed()


def memory(window: int | None, with_actions: bool) -> Memory | None:
    """What the new policy may remember, from --window and --with-actions."""
    from jumar.memory import window as make_window

    if window is None and with_actions:
        raise ParameterError("--with-actions: give --window as well.")
    return None if window is None else make_window(window, actions=with_actions)


def learned_or_given(
    window: int | None, with_actions: bool, learn: bool
) -> Memory | Literal["learn"] | None:
    """What the new policy may remember; from --learn-memory, too."""
    if not learn:
        return memory(window, with_actions)
    if window is not None or with_actions:
        raise ParameterError("--learn-memory: leave --window and --with-actions out.")
    return "learn"


def gain_share(simplify: bool, share: float | None) -> bool | float:
    """What share of the gain fewer changes must keep, from --simplify and --gain-share."""
    from jumar.solve.simplifying import check_share

    if share is not None and not simplify:
        raise ParameterError(f"--gain-share {share:g}: give --simplify as well.")
    return simplify if share is None else check_share(share)


def check_candidates(
    candidates: str | None, algorithm: str | None, parameters: Mapping[str, object]
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
    try:
        low, high = map(float, text.split(":"))
    except ValueError:
        low = high = math.nan
    if not -math.inf < low <= high < math.inf:
        raise ParameterError(
            f"{option} {text}: expected LO:HI, lower number first, such as -100:10."
        )
    return low, high


# ---- several objectives -------------------------------------------------------------------------


def with_kept(
    reading: Mapping[str, Any], keep: Sequence[str], costs: Sequence[str], ranges: Sequence[str]
) -> tuple[dict[str, Any], tuple[Keep, ...]]:
    """How the log is read, with the columns that are kept as signals; and what may be lost of each.
    From --keep, --keep-cost and --keep-range."""
    from jumar.evidence.rewards import RewardRange
    from jumar.gate.objectives import Keep, keeps_of

    columns = dict(reading["columns"])
    wanted = [(False, *_loss("--keep", text)) for text in keep]
    wanted += [(True, *_loss("--keep-cost", text)) for text in costs]
    form, example = "COLUMN=LO:HI", "safety=-1:0"
    told = _pairs("keep-range", ranges, form, example, several=False, last=True)
    declared = {
        name: RewardRange.constant(*pair(f"--keep-range {printable(name)}", ends))
        for name, ends in told.items()
    }
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
