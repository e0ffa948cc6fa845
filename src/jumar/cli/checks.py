"""The command that asks whether a log is what it is taken for: check."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jumar.cli import inputs, options
from jumar.cli.app import app, say, working
from jumar.cli.log_options import reads_a_log
from jumar.cli.panels import Command
from jumar.core.errors import LogError, ParameterError
from jumar.options import WINDOW

if TYPE_CHECKING:
    from jumar.log.episodes import Episodes
    from jumar.memory import Memory

REPORT = "report"  # leave copies of rows out, and report them


@app.command(cls=Command)
@reads_a_log(needs_discount=False, repeated=REPORT)
def check(
    log: Path,
    discount: float | None,
    reading: dict[str, Any],
    typed: list[str],
    policy: list[str] | None = None,
    exploration: float | None = None,
    window: Annotated[int | None, typer.Option(help=f"With estimate: {WINDOW}")] = None,
    with_actions: bool = False,
    level: Annotated[
        float, typer.Option(help="A test fails when its p-value is at most this.")
    ] = 0.01,
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
    from jumar.show.checks import check_parts
    from jumar.show.remedies import remedies

    report = reading["repeated"] == REPORT
    reading["repeated"] = "error" if report else reading["repeated"]
    with working("Checking", as_json):
        memory = options.memory(window, with_actions)
        _check_window(policy, memory)
        reader = partial(_read, copies_allowed=report)
        episodes, behavior = inputs.read(log, policy, reading, reader, exploration=exploration)
        found = run(
            episodes,
            behavior,
            memory=memory or CURRENT,
            discount=discount,
            level=level,
            seed=seed,
        )
    noticed = {"notices": remedies(found.notices, typed)}
    data = {"log": str(log), "seed": seed, **found.to_dict(), **noticed}
    say(as_json, data, *check_parts(found, typed))
    if found.verdict.status == "failed":
        raise typer.Exit(1)
    if not as_json and list(typed) == ["jumar", "check"]:  # in a project, where more is not needed
        say(False, {}, "", "Next: a better controller and its report\n  jumar improve -o out")


def _check_window(policies: Sequence[str] | None, memory: Memory | None) -> None:
    if memory is not None and not inputs.is_estimate(policies):
        raise ParameterError(
            "--window: only for --policy estimate; what a written policy remembers stands in its "
            "file."
        )


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
