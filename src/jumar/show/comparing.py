"""Two results side by side: the options, the numbers and the decisions of two runs.

What is compared stands in the folders that `jumar improve -o` wrote: what was asked (`run.json`),
the verdict with the numbers it carries (`certificate.json`) and the policy (`improved.json`).
Nothing is computed anew, so a number that one verdict does not carry is missing here as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from jumar.core.documents import Format, check_format, checked, read_document
from jumar.core.errors import JumarError, ProjectError
from jumar.core.text import Shown, listing, number, percent, rounded, shown, visible
from jumar.policy.controller import Controller
from jumar.policy.files import load_controller
from jumar.project import RUN
from jumar.show.differences import Difference, difference, difference_data
from jumar.show.terminal import difference_view, plain_table

REMEDY = "Give a folder that `jumar improve LOG -o` wrote."
FORMS = (
    replace(RUN, elsewhere=REMEDY),
    Format("certificate", 1, ProjectError, keys=("format",), elsewhere=REMEDY),
)
NUMBERS = {  # where they stand in a certificate
    "verdict": "verdict.word",
    "gain, at least": "verdict.at_least",
    "gain, about": "verdict.estimate",
    "90 % interval": "verdict.interval",
    "unit": "gain.unit",
    "return in the log": "logged",
    "situations changed": "changed",
    "situations seen": "history_states",
    "episodes": "episodes",
    "steps": "steps",
    "algorithm": "algorithm",
    "memory": "memory",
}
FILES = "log", "policy"  # compared by what they hold, not by where they lie
# options that say what a return is: with others, numbers are of different things
COUNTED = {"columns", "cost", "prices", "objective", "unit", "horizon", "discount"} | {
    "yearly_discount",
    "step_length",
}
Z90 = 1.645  # standard errors on each side of an estimate
PROVED, BROKEN = ("adopt", "adopt-if"), "do-not-rely"


@dataclass(frozen=True, eq=False, repr=False)
class Saved(Shown):
    """A result as it lies in a folder: what was asked, what was said, and the policy. The log and
    what was counted of it are not kept there, so nothing new can be asked of it."""

    folder: str
    run: Mapping[str, Any]  # run.json: versions, files, options
    certificate: Mapping[str, Any]  # certificate.json: verdict and numbers
    controller: Controller  # improved.json, which acts on raw readings

    @property
    def summary(self) -> str:
        return f"{self.certificate['verdict'].get('headline')} ({self.folder}, {self.version})"

    def __str__(self) -> str:
        told = [self.certificate["verdict"].get(key) for key in ("headline", "lead", "next_step")]
        return "\n".join([*(str(line) for line in told if line), f"{self.folder}, {self.version}"])

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in str(self).split("\n"))

    @property
    def version(self) -> str:
        """Of the jumar that made it."""
        return f"jumar {self.run.get('jumar')}"

    @property
    def decisions(self) -> Any:
        """decisions.csv as a table of pyarrow, whose `to_pandas` makes a DataFrame."""
        from pyarrow import csv

        parsed = csv.ParseOptions(newlines_in_values=True)
        return csv.read_csv(Path(self.folder, "decisions.csv"), parse_options=parsed)

    @property
    def word(self) -> str:
        """The verdict."""
        return str(self.certificate["verdict"]["word"])

    @property
    def options(self) -> dict[str, Any]:
        """What was asked, one entry for each column; from Python, what is recorded of it."""
        told = self.run.get("options")
        if not isinstance(told, dict):
            settings = self.run.get("settings")
            told = settings if isinstance(settings, dict) else {}
        return {"seed": self.run.get("seed"), "jumar": self.run.get("jumar"), **dict(_flat(told))}

    def number(self, name: str) -> Any:
        """One of `NUMBERS`; None where there is none, or the verdict does not carry it."""
        untold = name == "situations changed" and self.word == BROKEN
        return None if untold else _at(self.certificate, NUMBERS[name])

    def fingerprint(self, part: str) -> str | None:
        """Of a file that was read."""
        found = _at(self.run, f"files.{part}.sha256")
        return found if isinstance(found, str) else None


def load_result(folder: str | Path) -> Saved:
    """Read what `Result.save` or `jumar improve -o` wrote.

    Parameters
    ----------
    folder
        The folder.

    Returns
    -------
    Saved
        The verdict with its numbers (`certificate`), the policy (`controller`), `decisions`,
        `options` and `version`. The log is not in the folder: to ask more, run it again.
    """
    folder, documents = Path(folder), {}
    for form in FORMS:
        source = str(folder / f"{form.noun}.json")
        documents[form.noun] = checked(read_document(source, form), dict, source, ProjectError)
        check_format(documents[form.noun], source, form)
    if not isinstance(_at(documents["certificate"], "verdict.word"), str):
        raise ProjectError(f"{folder}: there is no verdict. {REMEDY}")
    controller = load_controller(folder / "improved.json")
    return Saved(str(folder), documents["run"], documents["certificate"], controller)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two results, and what differs."""

    runs: tuple[Saved, Saved]
    options: Mapping[str, tuple[Any, Any]]  # that differ; None: not given
    same_log: bool | None  # None: nobody recorded what the logs hold
    decisions: Difference | None
    why: str  # the decisions are not compared

    @property
    def notes(self) -> list[str]:
        """What to know before the numbers are compared."""
        said = {
            True: "",
            False: "The logs differ: the numbers are of different episodes.",
            None: "The record does not say whether both read the same log.",
        }[self.same_log]
        counted = [key for key in self.options if key.partition(".")[0] in COUNTED]
        notes = [said] if said else []
        if counted:
            notes.append(f"Returns are not counted alike ({listing(counted)}): compare no gains.")
        chances = [_at(run.run, "settings.delta") for run in self.runs]
        proved = all(run.word in PROVED for run in self.runs) and all(chances)
        if proved and not (self.decisions and self.decisions.same):
            notes.append(
                "Each run has its own chance of error: if you choose between the two, the chance "
                f"of doing worse than today is at most {percent(sum(chances))}."
            )
        return notes

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        return {
            "runs": [run.folder for run in self.runs],
            "same_log": self.same_log,
            "options": {key: list(pair) for key, pair in self.options.items()},
            "numbers": {name: [run.number(name) for run in self.runs] for name in NUMBERS},
            "decisions": None if self.decisions is None else difference_data(self.decisions),
            "decisions_not_compared": self.why or None,
            "notes": self.notes,
        }


def compare(was: Saved, now: Saved) -> Comparison:
    """What differs between two results."""
    marks = {part: [run.fingerprint(part) for run in (was, now)] for part in FILES}
    alike = {part: a == b if a and b else None for part, (a, b) in marks.items()}
    old, new = was.options, now.options
    options = {
        key: (old.get(key), new.get(key))
        for key in dict.fromkeys((*old, *new))
        if (alike.get(key) is False) or (old.get(key) != new.get(key) and not alike.get(key))
    }
    found, why = None, ""
    broken = [run.folder for run in (was, now) if run.word == BROKEN]
    if broken:
        why = f"The verdict of {listing(broken)} is: do not use these numbers."
    else:
        try:
            found = difference(*(replace(r.controller, name=r.folder) for r in (was, now)))
        except JumarError as error:
            why = str(error)
    return Comparison((was, now), options, alike["log"], found, why)


def comparison_view(found: Comparison, most: int) -> list[RenderableType]:
    """A comparison as tables of a terminal."""
    names = [shown(Path(run.folder).name, 24) for run in found.runs]
    heads = names if all(names) and names[0] != names[1] else ["first", "second"]
    rows = [
        [name, *(_said(run.number(name), _error(run, name)) for run in found.runs)]
        for name in NUMBERS
        if any(run.number(name) is not None for run in found.runs)
    ]
    parts: list[RenderableType] = [plain_table(["", *heads], rows, title="Results")]
    parts += [Text(f"{visible(note)}\n") for note in found.notes]
    if found.options:
        rows = [[key, *_options(key, pair)] for key, pair in found.options.items()]
        parts.append(plain_table(["option", *heads], rows, title="Options that differ"))
    else:
        parts.append(Text("The options are the same.\n"))
    if found.decisions is None:
        return [*parts, Text(f"The decisions are not compared. {visible(found.why)}")]
    learned = [run.folder for run in found.runs if run.word == "keep"]
    if learned and not found.decisions.same:
        parts.append(Text(f"{visible(listing(learned))}: keep your policy; change nothing there."))
    return [Group(*parts, Text("Decisions", style="bold"), difference_view(found.decisions, most))]


def _options(key: str, pair: tuple[Any, Any]) -> list[str]:
    """Two values of an option; files by their names, if these differ."""
    if key in FILES and all(isinstance(value, str) for value in pair):
        names = [Path(value).name for value in pair]
        pair = (names[0], names[1]) if names[0] != names[1] else pair
    return ["not given" if value is None else _said(value) for value in pair]


def _error(run: Saved, name: str) -> float:
    """The standard error of a gain, to which its digits are rounded; 0: none is told."""
    told = run.number("90 % interval")
    known = name.startswith(("gain", "90 %")) and isinstance(told, list)
    return (told[1] - told[0]) / (2 * Z90) if known else 0.0


def _said(value: Any, error: float = 0.0) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return rounded(value, error) if error else number(value)
    if isinstance(value, list):
        return " to ".join(_said(each, error) for each in value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _flat(options: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in options.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _at(document: Any, path: str) -> Any:
    """What stands under a path of keys; None where there is nothing."""
    for key in path.split("."):
        document = document.get(key) if isinstance(document, dict) else None
    return document
