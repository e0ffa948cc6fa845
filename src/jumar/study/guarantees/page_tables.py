"""The measured cells as tables: in Markdown for a page, in the terminal for a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import RenderableType

from jumar.evidence.offpolicy import INTERVALS
from jumar.evidence.validity import Validity
from jumar.show.terminal import plain_table
from jumar.study.guarantees.summary import ClaimCell, Findings, at_most, trusted_from

DEFAULTS = (("t", "dr"), ("bootstrap-t", "wdr"))  # what `jumar estimate` takes when it is not told
ODDS = [v.value for v in Validity if v.states_odds]  # labels that print a chance of error


@dataclass(frozen=True)
class Table:
    """Rows of text under headers."""

    name: str
    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[str, ...] = ()  # the columns that hold numbers
    shown: tuple[str, ...] = ()  # the columns that a terminal has room for; none: all

    @property
    def markdown(self) -> str:
        """As a page shows it."""
        marks = ["---:" if header in self.right else "---" for header in self.headers]
        lines = [self.headers, tuple(marks), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    @property
    def view(self) -> RenderableType:
        """As a terminal shows it."""
        kept = [
            i for i, header in enumerate(self.headers) if header in (self.shown or self.headers)
        ]
        rows = [[row[i] for i in kept] for row in self.rows]
        headers = [self.headers[i] for i in kept]
        return plain_table(headers, rows, title=self.title, right=self.right)


def tables(found: Findings) -> list[Table]:
    """Every table that has rows, the gates first."""
    made = [
        processes_table(found),
        *(gate_table(found, gate) for gate in found.gates),
        intervals_table(found),
        *(process_intervals(found, *default) for default in DEFAULTS),
        certificates_table(found),
        tests_table(found),
    ]
    return [table for table in made if table.rows]


def markdown(found: Findings) -> str:
    """All tables as one page, with the run that they are from."""
    parts = [f"# Guarantees, measured\n\n{run_of(found)}"]
    parts += [f"## {table.title}\n\n{table.markdown}" for table in tables(found)]
    return "\n\n".join(parts) + "\n"


def run_of(found: Findings) -> str:
    """Which run the numbers are from."""
    m = found.manifest
    logs = sorted({cell.logs for cell in found.cells})
    # a run that was stopped has more logs of some cells than of others
    several = " to ".join(f"{n:,}" for n in dict.fromkeys((logs[0], logs[-1])))
    return (
        f"jumar {m['jumar']}, δ = {100 * found.delta:g} %, {several} logs per cell, seed "
        f"{m['seed']}, run {m['fingerprint'][:12]}."
    )


def processes_table(found: Findings) -> Table:
    """What the processes are."""
    rows = [
        (
            one["name"],
            one["kind"] or "-",
            "end" if one["horizon"] is None else f"cut at {one['horizon']:,}",
            "declared" if one["declared"] else "read off",
            one["mechanism"],
        )
        for one in found.processes
    ]
    headers = ("process", "kind", "records", "rewards", "why a promise may fail here")
    return Table("processes", "Processes", headers, tuple(rows))


def gate_table(found: Findings, gate: str) -> Table:
    """One gate on every process and size."""
    rows = [
        (
            cell.process,
            _short(cell.label),
            f"{cell.size:,}",
            f"{cell.logs}",
            f"{cell.made}",
            f"{cell.worse}",
            f"{cell.false}",
            f"{cell.unseen}",
            _percent(cell.limit),
            "-" if cell.gain is None else f"{cell.gain:+.3g}",
            "-" if cell.worse_for_ever is None else f"{cell.worse_for_ever}",
            _verdict(cell),
        )
        for cell in found.of("gates", subject=gate)
    ]
    headers = (
        "process", "label", "episodes", "logs", "deployed", "worse", "false", "unseen", "at most",
        "mean gain", "worse for ever", "promise",
    )  # fmt: skip
    title = f"The {gate} gate: false claims at δ = {100 * found.delta:g} %"
    shown = ("process", "episodes", "deployed", "worse", "false", "unseen", "at most", "promise")
    return Table(f"gate-{gate}", title, headers, tuple(rows), headers[2:-1], shown)


def intervals_table(found: Findings) -> Table:
    """Every interval and estimator: the share of misses on the process where it is largest.
    Proved ones need to know the rewards and the longest episode."""
    declares = {
        one["name"]: one["declared"] and one["longest"] is not None for one in found.processes
    }
    groups: list[tuple[tuple[str, ...], list[ClaimCell]]] = []
    for name, method in INTERVALS.items():
        cells = found.of("intervals", subject=name)
        for of in dict.fromkeys(cell.of for cell in cells):
            mine = [cell for cell in cells if cell.of == of]
            if method.needs == "nothing":
                groups.append(((name, of, "any"), mine))
                continue
            for told, word in ((True, "declared"), (False, "read off")):
                part = [cell for cell in mine if declares[cell.process] == told]
                groups += [((name, of, word), part)] if part else []
    return _by_size(
        "intervals",
        f"Intervals: share of logs that miss the true value, nominal {100 * found.delta:g} %, on "
        "the process where that happens most",
        ("interval", "estimator", "ranges"),
        groups,
        label=True,
    )


def process_intervals(found: Findings, interval: str, estimator: str) -> Table:
    """One interval on every process."""
    cells = found.of("intervals", subject=interval, of=estimator)
    groups = [
        ((name,), [cell for cell in cells if cell.process == name])
        for name in dict.fromkeys(cell.process for cell in cells)
    ]
    title = f"Share of misses of {interval} with {estimator}, by process"
    return _by_size(f"{interval}-{estimator}", title, ("process",), groups, hardest=False)


def certificates_table(found: Findings) -> Table:
    """Every bound whose label prints a chance of error."""
    declares = {one["name"]: one["declared"] for one in found.processes}
    rows = []
    keys = dict.fromkeys(
        (cell.subject, cell.of, cell.label, declares[cell.process])
        for cell in found.of("certificates")
        if cell.label in ODDS
    )
    for subject, of, label, told in keys:
        cells = [
            cell
            for cell in found.of("certificates", subject=subject, of=of, label=label)
            if declares[cell.process] == told
        ]
        worst = max(cells, key=lambda cell: cell.share)
        where = f"{worst.process}, {worst.size:,}" if worst.false else "none"
        rows.append(
            (
                subject,
                of,
                _short(label),
                "declared" if told else "read off",
                f"{sum(cell.logs for cell in cells):,}",
                f"{sum(cell.made for cell in cells):,}",
                f"{sum(cell.false for cell in cells):,}",
                f"{sum(cell.unseen for cell in cells):,}",
                _percent(worst.share),
                where,
                _verdict(max(cells, key=lambda cell: (cell.false - cell.unseen) / cell.logs)),
            )
        )
    headers = (
        "bound", "algorithm", "label", "rewards", "logs", "not vacuous", "false", "unseen",
        "worst cell", "where", "promise",
    )  # fmt: skip
    title = "Certificates, where the memory suffices: false claims"
    shown = ("bound", "algorithm", "rewards", "logs", "false", "worst cell", "where", "promise")
    return Table("certificates", title, headers, tuple(rows), headers[4:9], shown)


def tests_table(found: Findings) -> Table:
    """How often a check rejects a log in which nothing is wrong."""
    rows = []
    for name in dict.fromkeys(cell.subject for cell in found.of("tests")):
        cells = found.of("tests", subject=name)
        worst = max(cells, key=lambda cell: cell.share)
        false, logs = (sum(getattr(cell, f) for cell in cells) for f in ("false", "logs"))
        rows.append(
            (
                name,
                f"{logs:,}",
                _percent(false / logs),
                _percent(at_most(false, logs)),
                _percent(worst.share),
                f"{worst.process}, {worst.size:,}",
                _verdict(worst),
            )
        )
    headers = ("check", "logs", "rejected", "at most", "worst cell", "where", "level there")
    title = f"Checks at level {100 * found.delta:g} % on logs in which nothing is wrong"
    return Table("tests", title, headers, tuple(rows), headers[1:5])


def _by_size(
    name: str,
    title: str,
    keys: Sequence[str],
    groups: Iterable[tuple[tuple[str, ...], list[ClaimCell]]],
    *,
    label: bool = False,
    hardest: bool = True,
) -> Table:
    """A row per group; in the column of a size, the largest share of false claims."""
    groups = list(groups)
    sizes = sorted({cell.size for _, cells in groups for cell in cells})
    rows = []
    for key, cells in groups:
        row = [*key]
        if label:
            row.append(" / ".join(dict.fromkeys(_short(cell.label) for cell in cells)))
        for size in sizes:
            shares = [cell.share for cell in cells if cell.size == size]
            row.append(_percent(max(shares)) if shares else "-")
        size_ok = trusted_from(cells)
        row.append("-" if size_ok is None else f"{size_ok:,}")
        if hardest:
            row.append(max(cells, key=lambda cell: (cell.share, cell.size)).process)
        rows.append(tuple(row))
    numbers = tuple(f"n = {size:,}" for size in sizes)
    headers = (
        *keys,
        *(("label",) if label else ()),
        *numbers,
        "trusted from",
        *(("hardest",) if hardest else ()),
    )
    last = (numbers[0], numbers[-1]) if numbers else ()
    shown = (*keys, *last, "trusted from", "hardest")
    return Table(name, title, headers, tuple(rows), (*numbers, "trusted from"), shown)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _short(label: str) -> str:
    """A label that fits a column."""
    return {
        Validity.PROVED_IF_SEEN.value: "proved if seen",
        Validity.PROVED_IF_SUFFICIENT.value: "proved if sufficient",
        Validity.PROVED_IF_SUFFICIENT_AND_SEEN.value: "proved if sufficient and seen",
        Validity.ASYMPTOTIC_IF_SUFFICIENT.value: "asymptotic if sufficient",
    }.get(label, label)


def _verdict(cell: ClaimCell) -> str:
    """Broken promises are shouted, as a table is skimmed."""
    return "BROKEN" if cell.verdict == "broken" else cell.verdict
