"""What asks a log without changing anything: check, samples, estimate."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from jumar.cli import inputs, options, panels
from jumar.cli.app import app, say, working
from jumar.cli.log_options import reads_a_log
from jumar.cli.panels import Command
from jumar.core.errors import LogError, ParameterError
from jumar.core.plain import plain
from jumar.core.text import counted, percent, rounded, shown

if TYPE_CHECKING:
    from jumar.evidence.offpolicy import Estimate
    from jumar.gate import Selection
    from jumar.gate.samples import SizePlan
    from jumar.log.episodes import Episodes
    from jumar.log.pace import Pace

REPORT = "report"  # leave copies of rows out, and report them
POWERS = (0.5, 0.8, 0.95)
ALL = "all"
USUAL: dict[str, Any] = {
    "estimator": ALL,
    "interval": None,
    "sides": None,
    "difference": False,
    "rewards": None,
    "ending_rewards": None,
    "horizon": None,
}


# ---- check --------------------------------------------------------------------------------------


@app.command(cls=Command)
@reads_a_log(needs_discount=False, repeated=REPORT)
def check(
    log: Path,
    discount: float | None,
    reading: dict[str, Any],
    typed: list[str],
    policy: list[str] | None = None,
    exploration: float | None = None,
    window: int | None = None,
    with_actions: bool = False,
    level: float = 0.01,
    seed: int = 1,
    as_json: bool = False,
) -> None:
    """Check a log before learning from it.

    Did this policy produce it, is there enough data, how much memory does it ask for, did anything
    change over time, are there repeats? Exits with 0 when every section passed or is only worth a
    look, with 1 when one failed.
    """
    from jumar.evidence.checking import check as run
    from jumar.evidence.estimation import CURRENT
    from jumar.show.remedies import remedies, value_of
    from jumar.show.terminal import check_parts

    report = reading["repeated"] == REPORT
    reading["repeated"] = "error" if report else reading["repeated"]
    memory = options.memory(window, with_actions)
    if memory is not None and not inputs.is_estimate(policy):
        if value_of("--window", typed) is not None:
            raise ParameterError(
                "--window: only for --policy estimate; a written policy remembers what its file "
                "says. Leave it out."
            )
        memory = None  # a project says it of the new policy
    with working("Checking", as_json):
        reader = partial(_read, copies_allowed=report)
        episodes, behavior = inputs.read(log, policy, reading, reader, exploration=exploration)
        settings: dict[str, Any] = {"discount": discount, "level": level, "seed": seed}
        found = run(episodes, behavior, memory=memory or CURRENT, **settings)
    noticed = {"notices": remedies(found.notices, typed)}
    data = {"log": str(log), "seed": seed, **found.to_dict(), **noticed}
    say(as_json, data, *check_parts(found, typed))
    if found.verdict.status == "failed":
        raise typer.Exit(1)
    if not as_json and list(typed) == ["jumar", "check"]:  # in a project, where more is not needed
        say(False, {}, "", "Next: a better policy and its report\n  jumar improve -o out")


def _read(log: Path, *, copies_allowed: bool, **reading: Any) -> Episodes:
    """Read a log; copies of rows are left out, to be reported, if nothing else was asked for."""
    from jumar import read_logs

    try:
        return read_logs(log, **reading)
    except LogError:
        if copies_allowed:
            with suppress(LogError):  # if copies were not the trouble, the first error tells more
                return read_logs(log, **{**reading, "repeated": "drop"})
        raise


# ---- samples ------------------------------------------------------------------------------------


@app.command(cls=Command)
@reads_a_log()
def samples(
    log: Path,
    discount: float,
    reading: dict[str, Any],
    policy: list[str] | None = None,
    exploration: float | None = None,
    gain: list[float] | None = None,
    power: list[float] | None = None,
    delta: float = 0.05,
    window: int | None = None,
    with_actions: bool = False,
    rewards: str | None = None,
    ending_rewards: str | None = None,
    horizon: int | None = None,
    step_length: str | None = None,
    until: str | None = None,
    seed: int = 1,
    as_json: bool = False,
) -> None:
    """Plan how many episodes it takes until a gain is likely to be certified.

    Exits with 1 if the log failed a check.
    """
    from jumar.gate.samples import SizePlan, chance_with, check_asked, plan
    from jumar.log.pace import episode_word, pace_of
    from jumar.pipeline import doubt, select
    from jumar.project import seconds

    powers = power or POWERS
    check_asked(gain or (), powers)
    day = None if until is None else _day(until)
    each = None if step_length is None else seconds(step_length)
    asked: dict[str, Any] = {"memory": options.memory(window, with_actions), "delta": delta}
    asked["rewards"] = options.reward_range(rewards, ending_rewards)
    with working("Reading", as_json):
        episodes, behavior = inputs.read(log, policy, reading, exploration=exploration)
    pace = pace_of(episodes, each, episode_word(episodes), len(episodes))
    more = 0 if day is None else _more(pace, day)
    with working("Trying candidates", as_json):
        found = select(episodes, behavior, discount=discount, horizon=horizon, seed=seed, **asked)
    planned = plan(found, gain or (), powers)
    wrong = doubt(episodes, behavior, discount, seed)
    planned = SizePlan((), None, wrong.said) if wrong else planned
    data = {
        "episodes": found.episodes,
        "certified": found.chosen is not None and wrong is None,
        "gain": planned.gain.to_dict() if planned.gain else None,
        "plan": plain(planned.needs),
        "not_planned_because": planned.why or None,
    }
    by_then: list[str] = []
    if day is not None and not wrong:
        chance = chance_with(found, found.episodes + more)
        data["until"] = {"day": day.isoformat(), "more_episodes": more, "chance": chance}
        by_then = [_by_then(found, planned, day, more, chance)]
    say(as_json, data, *([wrong.said] if wrong else _planned(found, planned, pace)), *by_then)
    if wrong:
        raise typer.Exit(1)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ParameterError(f"--until {shown(text)}: write a day as 2027-01-31.") from None


def _more(pace: Pace | None, day: date) -> int:
    """How many episodes come until a day."""
    if pace is None:
        raise ParameterError(
            "--until: the log has no dates (of two days or more), so nobody knows how many "
            "episodes come until then. Say how long a step takes (--step-length 7d), or leave "
            "it out."
        )
    if day <= pace.since:
        raise ParameterError(f"--until {day}: the log goes up to {pace.since}. Give a later day.")
    return pace.until(day)


def _by_then(
    found: Selection, planned: SizePlan, day: date, more: int, chance: float | None
) -> str:
    """What could be decided by a day."""
    said = f"By {day}: about {more:,} more, {found.episodes + more:,} in all. "
    if chance is not None:
        return (
            said + f"The change that is planned for would pass in {percent(chance)} of such logs."
        )
    return said + (planned.why or "What that would decide cannot be told from this log.")


def _planned(found: Selection, planned: SizePlan, pace: Pace | None) -> list[Any]:
    from rich.text import Text

    from jumar.evidence.validity import EACH_LOOK
    from jumar.gate.samples import LIKELY
    from jumar.show.terminal import facts, plain_table

    state = "a change passes the test" if found.chosen else "nothing passes the test yet"
    if found.too_short:
        state = "a change passes the test, but only up to where the records stop"
    lines = [("log", f"{counted(found.episodes, 'episode')}; {state}")]
    gain = planned.gain
    if gain is not None and not gain.hidden:
        value, low, high = (rounded(x, gain.error) for x in (gain.value, *(gain.interval or ())))
        said = f"{value} per episode (90 % interval {low} to {high})"
        lines.append(("gain", f"{said}, estimated on held-out episodes"))
    if not planned.needs:
        return [facts(lines), Text(planned.why)]
    heads = ["gain to certify", "chance", "episodes in all", "more than now"]
    rows, time = [], ""
    for need in planned.needs:
        total, more = "cannot be told", ""
        if need.episodes is not None:
            total, more = f"{need.episodes:,}", f"{max(0, need.episodes - found.episodes):,}"
            if need.power == LIKELY and pace is not None and need.episodes > found.episodes:
                time = f"{pace.text(need.episodes - found.episodes)} ({percent(LIKELY)})"
        rows.append([f"{need.gain:.4g}", f"{100 * need.power:g} %", total, more])
    caution = gain.caution if gain is not None else ""
    note = "Estimates from this log: a plan, not a promise. It may be wrong by a factor of 3."
    table = plain_table(heads, rows, right=heads)
    said = " ".join(filter(None, [time, caution, note, EACH_LOOK]))
    return [facts(lines), table, Text(said)]


# ---- estimate -----------------------------------------------------------------------------------


@app.command(cls=Command)
@reads_a_log()
@panels.in_place_of("averaged", USUAL, dict)
def estimate(
    log: Path,
    discount: float,
    reading: dict[str, Any],
    averaged: dict[str, Any],
    controller: Path,
    policy: list[str] | None = None,
    exploration: float | None = None,
    delta: float = 0.05,
    seed: int = 1,
    as_json: bool = False,
) -> None:
    """Estimate what a new policy is worth, from a log that another one made.

    Exits with 1 if no number is shown: the log failed a check, or says too little of the policy.
    """
    from jumar import load_controller
    from jumar.evidence.offpolicy import best_of

    new = load_controller(controller)
    settings = {"discount": discount, "delta": delta, "seed": seed, **averaged}
    data: dict[str, Any] = {
        "controller": str(controller),
        "policy": policy[0] if policy and len(policy) == 1 else policy or None,
        "seed": seed,
    }
    with working("Estimating", as_json):
        log_read, behavior = inputs.read(log, policy, reading, like=new, exploration=exploration)
        found = _estimates(log_read, behavior, new, settings)
    data["estimates"] = [item.to_dict() for item in found]
    remarks = log_read.origin.remarks if log_read.origin else None
    say(as_json, data, *_view(found, bool(remarks and remarks.costs)))
    if best_of(found).evidence.hidden:
        raise typer.Exit(1)


def _estimates(log: Episodes, behavior: Any, new: Any, settings: dict[str, Any]) -> list[Estimate]:
    from jumar.pipeline import estimates

    paid = options.reward_range(settings.pop("rewards"), settings.pop("ending_rewards"))
    named = None if settings["estimator"] == ALL else settings["estimator"]
    return estimates(log, new, behavior, **{**settings, "rewards": paid, "estimator": named})


def _view(found: Sequence[Estimate], costs: bool) -> list[Any]:
    from rich.text import Text

    from jumar.evidence.offpolicy import ESTIMATORS, INTERVALS, best_of
    from jumar.show.terminal import assumed, facts, plain_table

    best = best_of(found)
    what = "difference" if best.difference else "value"
    heads = ["estimator", what, "error", f"{100 * (1 - best.delta):.6g}% interval", "by"]
    rows = [
        [
            item.estimator,
            "not shown" if item.evidence.shown is None else f"{item.evidence.shown:.6g}",
            "-" if item.error_shown is None else f"{item.error_shown:.3g}",
            item.range_text,
            f"{INTERVALS[item.interval].title}, {item.validity}",
        ]
        for item in found
    ]
    title = "Difference to your policy" if best.difference else "Expected return"
    title += " (costs count as negative)" if costs else ""
    size, unit = best.units
    weight = f"{best.effective_size:,.1f} of {size:,} {unit}s"
    among = f" in {counted(size, unit)}" if unit != "episode" else ""
    lines: list[tuple[str, Any]] = [
        ("log", f"{counted(best.episodes, 'episode')}{among}, mean return {best.logged:.6g}"),
        ("effective size", f"{weight}; the heaviest has {best.largest_share:.1%} of all weight"),
        *(("warning", Text(text, style="yellow")) for text in best.warnings),
        ("verdict", Text(best.verdict, style="green" if best.plain else "yellow")),
        ("by", f"{best.estimator}, {ESTIMATORS[best.estimator].title}"),
        *assumed(best),
        *(("note", text) for text in best.notes),
    ]
    return [plain_table(heads, rows, title=title, right=[what, "error"]), facts(lines)]
