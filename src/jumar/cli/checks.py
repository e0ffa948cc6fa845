"""The command that asks whether a log is what it is taken for: check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jumar.cli import inputs, options
from jumar.cli.app import WINDOW, Json, Seed, WithActions, app, say, working
from jumar.cli.log_options import reads_a_log
from jumar.core.errors import LogError, ParameterError
from jumar.core.text import counted, number, percent, shown

if TYPE_CHECKING:
    from rich.console import RenderableType

    from jumar.core.episodes import Episodes
    from jumar.core.memory import Memory
    from jumar.evidence.checking import Check
    from jumar.evidence.checking.base import Finding
    from jumar.evidence.checking.clusters import Clusters
    from jumar.evidence.checking.cuts import Cuts
    from jumar.evidence.checking.drift import Drift
    from jumar.evidence.checking.fit import Fit
    from jumar.evidence.checking.longer import Longer
    from jumar.evidence.checking.nodes import Agreement
    from jumar.evidence.checking.order import Order
    from jumar.evidence.checking.propensities import Propensities
    from jumar.evidence.checking.repeats import Repeats
    from jumar.evidence.checking.rows import Rows
    from jumar.evidence.checking.spread import Spread

REPORT = "report"  # leave copies of rows out, and report them
COLORS = {"passed": "green", "look": "yellow", "failed": "red"}
PLACE = 100  # letters of a file name, row and episode that are shown


@app.command()
@reads_a_log(repeated=REPORT)
def check(
    log: inputs.Log,
    reading: dict[str, Any],
    policy: inputs.Policy = None,
    window: Annotated[int | None, typer.Option(help=f"With estimate: {WINDOW}")] = None,
    with_actions: WithActions = False,
    discount: Annotated[
        float | None, typer.Option(help="Discount of the returns (default: none).")
    ] = None,
    level: Annotated[
        float, typer.Option(help="A test fails when its p-value is at most this.")
    ] = 0.01,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Check a log before learning from it.

    Did this policy produce it, is there enough data, how much memory does it ask for, did anything
    change over time, are there repeats? Exits with 0 when every section passed or is only worth a
    look, with 1 when one failed.
    """
    from jumar.evidence.checking import check as run
    from jumar.evidence.estimation import CURRENT

    report = reading["repeated"] == REPORT
    reading["repeated"] = "error" if report else reading["repeated"]
    with working("Checking", as_json):
        memory = options.memory(window, with_actions)
        _check_window(policy, memory)
        reader = partial(_read, copies_allowed=report)
        episodes, behavior = inputs.read(log, policy, reading, reader)
        found = run(
            episodes,
            behavior,
            memory=memory or CURRENT,
            discount=discount,
            level=level,
            seed=seed,
        )
    say(as_json, {"log": str(log), "seed": seed, **found.to_dict()}, check_view(found))
    if found.verdict.status == "failed":
        raise typer.Exit(1)


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


# ---- the page -----------------------------------------------------------------------------------


def check_view(found: Check) -> RenderableType:
    """All answers for a terminal, the verdict first."""
    from rich.console import Group
    from rich.text import Text

    from jumar.evidence.checking import QUESTIONS
    from jumar.show.terminal import facts

    tests = f"each at level {found.level:g}: a sound log fails a given test that often by chance"
    parts: list[RenderableType] = [
        Text("Check", style="bold"),
        facts(
            [
                ("verdict", _verdict(found.verdict)),
                ("log", f"{counted(found.episodes, 'episode')}, {counted(found.steps, 'step')}"),
                ("policy", shown(found.behavior, 200)),
                ("tests", tests),
            ]
        ),
    ]
    for name, part in found.sections.items():
        parts += [Text(), Text(QUESTIONS[name], style="bold")]
        parts += [facts([("", _verdict(part.verdict))]), *_VIEWS[name](part)]
    return Group(*parts)


def _verdict(verdict: Finding) -> Any:
    from rich.text import Text

    return Text.assemble((verdict.status, f"bold {COLORS[verdict.status]}"), "  ", verdict.sentence)


def _fit(fit: Fit) -> list[RenderableType]:
    from jumar.show.terminal import facts, plain_table

    if fit.statistic is None:
        likelihood = "infinite, as something impossible happened"
    else:
        likelihood = f"G = {fit.statistic:.4g}, p = {fit.p:.3g} from {fit.resamples:,} drawn logs"
    views = [facts([("likelihood", likelihood)])]
    if fit.impossible:
        rows = [[shown(e.where, PLACE), e.situation, e.action] for e in fit.examples]
        title = f"Actions this policy never takes: the first {len(rows)} of {fit.impossible:,}"
        views.append(plain_table(["where", "situation", "action"], rows, title=title))
    if fit.misfits:
        rows = [
            [m.situation, m.action, percent(m.expected), percent(m.seen), f"{m.visits:,}"]
            for m in fit.misfits
        ]
        heads = ["situation", "action", "policy", "log", "visits"]
        title = f"Where it does not fit: the worst {len(rows)} of {fit.n_misfits:,} situations"
        views.append(plain_table(heads, rows, title=title, right=heads[2:]))
    rows = [
        [c.group, f"{c.chances:,}", f"{c.expected:,.1f}", f"{c.low:,.0f} to {c.high:,.0f}",
         f"{c.seen:,}"]
        for c in fit.calibration
    ]  # fmt: skip
    heads = ["probability", "chances", "expected", "95% of logs", "taken"]
    title = "Actions by the probability the policy gives them"
    return [*views, plain_table(heads, rows, title=title, right=heads[1:])]


def _propensities(found: Propensities) -> list[RenderableType]:
    from jumar.show.terminal import facts, plain_table

    possible = f"{found.mean_inverse:.3g} on average, of {found.actions} actions"
    lines = [("least", f"{found.least:.3g}"), ("1/propensity", possible)]
    if found.p is not None:
        drawn = f" from {found.resamples:,} drawn logs" if found.resamples else ""
        lines.append(("test", f"p = {found.p:.3g}{drawn}"))
    if not found.examples:
        return [facts(lines)]
    rows = [[shown(e.where, PLACE), f"{e.logged:.6g}", f"{e.said:.6g}"] for e in found.examples]
    title = f"The first {len(rows)} of {found.differing:,} steps that disagree"
    return [facts(lines), plain_table(["where", "logged", "policy"], rows, title=title)]


def _longer(longer: Longer) -> list[RenderableType]:
    from jumar.show.terminal import facts

    if longer.longer is None:
        return []
    test = f"G = {longer.statistic:.4g}, p = {longer.p:.3g} from {longer.resamples:,} shuffles"
    return [
        facts(
            [
                ("memory", f"{longer.memory}, compared with {longer.longer}"),
                ("likelihood", f"{test}; {longer.decided:,} steps can tell"),
            ]
        )
    ]


def _nodes(nodes: Agreement) -> list[RenderableType]:
    from jumar.show.terminal import plain_table

    if not nodes.examples:
        return []
    rows = [[shown(e.where, PLACE), e.logged, e.replayed] for e in nodes.examples]
    title = f"The first {len(rows)} of {nodes.mismatches:,} steps that disagree"
    return [plain_table(["where", "logged", "replayed"], rows, title=title)]


def _spread(spread: Spread) -> list[RenderableType]:
    from jumar.show.terminal import facts, plain_table

    visits = dict(spread.quantiles)
    left_out = f"{spread.left_out:,}; the log does not tell what followed them"
    lines = [
        ("histories", f"{spread.histories:,} ({spread.memory})"),
        (
            "visits",
            f"half of the histories have {visits[50]:,.0f} or less, one in ten {visits[10]:,.0f} "
            f"or less, the most visited {visits[100]:,.0f}",
        ),
        ("never tried", f"{spread.never:,} of {spread.pairs:,} (history, action) pairs"),
        *([("left out", left_out)] if spread.left_out else []),
    ]
    rows = [
        [f"{e.n_wedge}", f"{e.known:,}", f"{e.choices:,}", percent(e.share)]
        for e in spread.evidence
    ]
    heads = ["N∧", "pairs seen more often", "histories with a choice", "steps in these"]
    return [facts(lines), plain_table(heads, rows, right=heads)]


def _order(order: Order) -> list[RenderableType]:
    from jumar.show.terminal import facts, plain_table

    if not order.tests:
        return []
    rows = [
        [
            test.memory,
            "no" if test.rejected else "no sign against",
            f"{test.p:.2g}",
            _effect(test.effect, test.interval),
            _effect(test.reward_effect, test.reward_interval),
        ]
        for test in order.tests
    ]
    heads = ["memory", "enough?", "p", "law off by", "reward off by"]
    title = "Each memory against the one that knows an observation more"
    lines = [("suggested", ("" if order.enough else "at least ") + order.suggested)]
    first = order.tests[0]
    if gap := first.largest:
        told = f"{percent(gap.here)} {gap.what}, where {first.memory} expects {percent(gap.usual)}"
        lines.append(("for example", f"{gap.situation}, then {gap.action}: {told}"))
    if gap := first.largest_reward:
        told = f"{number(gap.here)}, where {first.memory} expects {number(gap.usual)}"
        lines.append(("for example", f"{gap.situation}, then {gap.action}: {gap.what} {told}"))
    lines.append(("off by", "on average, with 95% interval; what chance alone makes is taken off"))
    return [plain_table(heads, rows, title=title, right=heads[2:]), facts(lines)]


def _effect(effect: float, interval: tuple[float, float] | None) -> str:
    if interval is None:
        return f"{effect:.2g}"
    return f"{effect:.2g} ({interval[0]:.2g} to {interval[1]:.2g})"


def _drift(drift: Drift) -> list[RenderableType]:
    from jumar.show.terminal import facts, plain_table

    lines = []
    if drift.trend is not None and drift.p is not None:
        t = drift.trend
        lines = [
            (
                "return" if t.of == "return" else "reward, step by step",
                f"{t.slope:+.4g} per 100 episodes (95% interval {t.low:.4g} to {t.high:.4g}), "
                f"p = {t.p:.3g}",
            ),
            (
                "outcomes",
                f"first half against second: p = {drift.p:.3g} from {drift.resamples:,} shuffles "
                "of the episodes",
            ),
        ]
    rows = [
        [
            f"{p.first + 1:,} to {p.first + p.episodes:,}",
            number(p.mean_return) + (f" ± {number(p.standard_error)}" if p.standard_error else ""),
            f"{p.mean_length:.4g}",
        ]
        for p in drift.parts
    ]
    heads = ["episodes", "mean return", "mean length"]
    views = [facts(lines), plain_table(heads, rows, right=heads)]
    if drift.changes:
        rows = [
            [c.situation, c.action, c.outcome, percent(c.before), percent(c.after)]
            for c in drift.changes
        ]
        heads = ["situation", "action", "then", "first half", "second half"]
        views.append(plain_table(heads, rows, title="What changed most", right=heads[3:]))
    return views


def _cuts(cuts: Cuts) -> list[RenderableType]:
    from jumar.show.terminal import facts

    weight = f"{cuts.beyond:.1%} of the weight at discount {cuts.discount:g}"
    return [facts([("cut off", f"{cuts.cut:,} of {cuts.episodes:,}"), ("beyond", weight)])]


def _clusters(clusters: Clusters) -> list[RenderableType]:
    from jumar.show.terminal import facts

    told = "named by the log" if clusters.named else "guessed from the labels of the episodes"
    largest = counted(clusters.largest, "episode")
    lines = [("clusters", f"{clusters.clusters:,}, {told}; the largest has {largest}")]
    if clusters.correlation is not None and clusters.p is not None:
        lines.append(
            (
                "returns",
                f"intraclass correlation {clusters.correlation:.3g}, p = {clusters.p:.3g} from "
                f"{clusters.resamples:,} shuffles; design effect {clusters.design_effect:.3g}",
            )
        )
    return [facts(lines)]


def _repeats(repeats: Repeats) -> list[RenderableType]:
    from jumar.show.terminal import plain_table

    if not repeats.examples:
        return []
    rows = [
        [shown(r.where, PLACE), shown(r.earlier, PLACE), f"{r.steps}"] for r in repeats.examples
    ]
    title = f"The first {len(rows)} of {repeats.long:,} long repeats"
    return [plain_table(["episode from", "is the one from", "steps"], rows, title=title)]


def _rows(rows: Rows) -> list[RenderableType]:
    from jumar.show.terminal import facts

    lines = [(f"{remark.count:,}", remark.what) for remark in rows.remarks]
    return [facts(lines)] if lines else []


_VIEWS: dict[str, Callable[[Any], list[RenderableType]]] = {
    "fit": _fit,
    "propensities": _propensities,
    "longer": _longer,
    "nodes": _nodes,
    "spread": _spread,
    "cuts": _cuts,
    "order": _order,
    "drift": _drift,
    "clusters": _clusters,
    "repeats": _repeats,
    "rows": _rows,
}
