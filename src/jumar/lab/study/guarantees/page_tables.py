"""The measured cells as tables: in Markdown for a page, in the terminal for a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import RenderableType

from jumar.evidence.offpolicy import INTERVALS
from jumar.evidence.validity import Validity
from jumar.lab.study.guarantees.summary import VERDICTS, ClaimCell, Findings, at_most
from jumar.lab.study.summary import grouped
from jumar.show.terminal import plain_table

ODDS = [v.value for v in Validity if v.states_odds]  # labels that print a chance of error


@dataclass(frozen=True)
class Table:
    """Rows of text, each cell under the head of its column."""

    name: str
    title: str
    rows: Sequence[dict[str, str]]  # all with the same heads, in the same order
    right: Sequence[str] = ()  # the columns that hold numbers
    shown: Sequence[str] = ()  # the columns that a terminal has room for; none: all

    @property
    def markdown(self) -> str:
        """As a page shows it."""
        heads = list(self.rows[0])
        marks = ["---:" if head in self.right else "---" for head in heads]
        lines = [heads, marks, *(row.values() for row in self.rows)]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    @property
    def view(self) -> RenderableType:
        """As a terminal shows it."""
        heads = [head for head in self.rows[0] if head in (self.shown or self.rows[0])]
        rows = [[row[head] for head in heads] for row in self.rows]
        return plain_table(heads, rows, title=self.title, right=self.right)


def tables(found: Findings) -> list[Table]:
    """Every table that has rows, the gates first. Single cells are in the file (`report`)."""
    made = [
        gates_table(found),
        intervals_table(found),
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


def gates_table(found: Findings) -> Table:
    """What every gate did with the logs of a process, of all sizes together."""
    rows = []
    for one in found.processes:
        name = one["name"]
        cells = {gate: found.of("gates", subject=gate, process=name) for gate in found.gates}
        if not any(cells.values()):
            continue
        logs = max(sum(cell.logs for cell in mine) for mine in cells.values())
        row = {"process": name, "logs": f"{logs:,}"}
        for gate, mine in cells.items():
            row |= {f"{gate}: {head}": text for head, text in _of_gate(mine).items()}
        rows.append(row)
    numbers = [f"{gate}: {head}" for gate in found.gates for head in ("deployed", "false")]
    shown = ["process", *numbers[1:2], *(f"{gate}: promise" for gate in found.gates)]
    title = f"Gates: logs with a false claim at δ = {100 * found.delta:g} %"
    return Table("gates", title, rows, ["logs", *numbers], shown)


def _of_gate(cells: list[ClaimCell]) -> dict[str, str]:
    """One gate on one process: counts over all sizes, and the worst that became of its promise."""
    made, false, unseen = (
        sum(getattr(cell, field) for cell in cells) for field in ("made", "false", "unseen")
    )
    not_counted = f" ({unseen} unseen)" if unseen else ""
    worst = max(cells, key=lambda cell: VERDICTS.index(cell.verdict), default=None)
    return {
        "deployed": f"{made}",
        "false": f"{false}{not_counted}",
        "promise": "-" if worst is None else _verdict(worst),
    }


def intervals_table(found: Findings) -> Table:
    """Every interval: the share of misses on the process and with the estimator where it is
    largest. Proved ones need to know the rewards and the longest episode."""
    known = {
        one["name"]: "declared" if one["declared"] and one["longest"] else "read off"
        for one in found.processes
    }

    def ranges(cell: ClaimCell) -> str:
        return "any" if INTERVALS[cell.subject].needs == "nothing" else known[cell.process]

    order = list(INTERVALS)
    by_ranges = grouped(
        found.of("intervals"), lambda cell: (order.index(cell.subject), ranges(cell))
    )
    sizes = sorted({cell.size for cell in found.of("intervals")})
    numbers = {size: f"n = {size:,}" for size in sizes}
    rows = []
    for (i, told), cells in sorted(by_ranges.items()):
        label = " / ".join(dict.fromkeys(_short(cell.label) for cell in cells))
        row = {"interval": order[i], "ranges": told, "label": label}
        row |= dict.fromkeys(numbers.values(), "-")
        for cell in sorted(cells, key=lambda cell: cell.share):
            row[numbers[cell.size]] = _percent(cell.share)
        hardest = max(cells, key=lambda cell: (cell.share, cell.size))
        rows.append(row | {"hardest": f"{hardest.process}, {hardest.of}"})
    title = (
        f"Intervals: share of logs that miss the true value, nominal {100 * found.delta:g} %, on "
        "the process where that happens most"
    )
    shown = [head for head in rows[0] if head != "label"] if rows else []
    return Table("intervals", title, rows, [*numbers.values()], shown)


def certificates_table(found: Findings) -> Table:
    """Every bound whose label prints a chance of error, by all algorithms that bring it."""
    declared = {one["name"]: one["declared"] for one in found.processes}
    promised = grouped(
        (cell for cell in found.of("certificates") if cell.label in ODDS),
        lambda cell: (cell.subject, cell.label, declared[cell.process]),
    )
    rows = []
    for (subject, label, told), cells in promised.items():
        rows.append(
            {
                "bound": subject,
                "label": _short(label),
                "rewards": "declared" if told else "read off",
                "logs": f"{sum(cell.logs for cell in cells):,}",
                "not vacuous": f"{sum(cell.made for cell in cells):,}",
                "false": f"{sum(cell.false for cell in cells):,}",
                "unseen": f"{sum(cell.unseen for cell in cells):,}",
                "promise": _verdict(
                    max(cells, key=lambda cell: (cell.false - cell.unseen) / cell.logs)
                ),
            }
        )
    title = "Certificates, where the memory suffices: false claims"
    right = ("logs", "not vacuous", "false", "unseen")
    shown = ("bound", "rewards", "logs", "false", "unseen", "promise")
    return Table("certificates", title, rows, right, shown)


def tests_table(found: Findings) -> Table:
    """How often a check rejects a log in which nothing is wrong."""
    rows = []
    for name, cells in grouped(found.of("tests"), lambda cell: cell.subject).items():
        worst = max(cells, key=lambda cell: cell.share)
        false, logs = (sum(getattr(cell, f) for cell in cells) for f in ("false", "logs"))
        rows.append(
            {
                "check": name,
                "logs": f"{logs:,}",
                "rejected": _percent(false / logs),
                "at most": _percent(at_most(false, logs)),
                "worst cell": _percent(worst.share),
                "where": f"{worst.process}, {worst.size:,}",
                "level there": _verdict(worst),
            }
        )
    title = f"Checks at level {100 * found.delta:g} % on logs in which nothing is wrong"
    return Table("tests", title, rows, ("logs", "rejected", "at most", "worst cell"))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _short(label: str) -> str:
    """A label that fits a column."""
    return Validity(label).name.replace("_", " ").lower()


def _verdict(cell: ClaimCell) -> str:
    """Broken promises are shouted, as a table is skimmed."""
    return "BROKEN" if cell.verdict == "broken" else cell.verdict
