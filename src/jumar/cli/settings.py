"""Where the options of a command come from: the command line, else a project file or an old run.

    options on the command line  >  --again run.json, or --project FILE, or jumar.toml here

A table (columns, bins, prices) is completed, not replaced: `--columns reward=paid` changes one
part and leaves the others as the project says.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from jumar.cli.app import tell
from jumar.cli.options import pair
from jumar.core.errors import ParameterError
from jumar.core.text import printable
from jumar.log.addresses import as_typed, is_address, shown_address
from jumar.options import in_files, of_reading
from jumar.project import FILE, Project, load_project, step_discount

TABLES = ("columns", "bins", "prices")

Log = Annotated[
    Path | None,
    typer.Argument(
        metavar="LOG",
        help="The log (.csv, .tsv, .parquet, .arrow, .ndjson, .json, .xlsx; a folder of such "
        "files, or a pattern; - is standard input; minari:NAME, or a folder of Minari).",
        show_default=False,
    ),
]


def find(project: Path | None, ignore: bool, again: Path | None) -> Project:
    """The settings that stand behind the command line."""
    if project is not None and (ignore or again is not None):
        other = "--no-project" if ignore else "--again"
        raise ParameterError(f"--project: {other} is given as well. Give one of them.")
    chosen = again or project
    if chosen is None and not ignore and Path(FILE).is_file():
        chosen = Path(FILE)
    if chosen is None:
        return Project()
    found = load_project(chosen)
    tell(f"Using {found.source}")  # nobody should wonder where options come from
    if again is not None:
        _compare_files(found)
    return found


def _compare_files(run: Project) -> None:
    """Say which files have changed since the run."""
    from jumar.show.provenance import fingerprint

    for part, known in run.fingerprints.items():
        file = run.rest.get(part)
        there = isinstance(file, str) and Path(file).exists()
        if there and fingerprint(Path(str(file)))["sha256"] != known:
            tell(f"{file} has changed since that run.")


def fill(given: Mapping[str, Any], project: Project, context: typer.Context) -> dict[str, Any]:
    """The options as given, and as the project says where nothing was given."""
    filled = dict(given)
    for name, value in _as_options(project).items():
        if name in filled and _by_default(context, name):
            filled[name] = value
    other_rule = "policy" in filled and not _by_default(context, "policy")
    if other_rule and "exploration" in filled and _by_default(context, "exploration"):
        filled["exploration"] = None  # that of the project is its own rule's
    if filled.get("output", True) is None and _by_default(context, "pictures"):
        filled["pictures"] = None  # those of the project go where an output goes
    if "discount" in filled and not _by_default(context, "yearly_discount"):
        filled["discount"] = None if _by_default(context, "discount") else filled["discount"]
    if "parameter" in filled:
        filled["parameter"] = _parameters(filled, project)
    return filled


def _by_default(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is None or source.name.startswith("DEFAULT")


def _parameters(filled: Mapping[str, Any], project: Project) -> list[str]:
    """The parameters of the algorithm, those of the project where it is the same algorithm."""
    given = list(filled["parameter"] or ())
    if filled.get("algorithm") != project.rest.get("algorithm"):
        return given
    named = {text.partition("=")[0] for text in given}
    if filled.get("n_wedge") is not None:
        named.add("n_wedge")
    known = project.rest.get("parameters", {})
    return given + [f"{name}={value}" for name, value in known.items() if name not in named]


def _as_options(project: Project) -> dict[str, Any]:
    """The settings as the command line would hold them."""
    options = {key: value for key, value in project.rest.items() if key != "parameters"}
    options |= {key: value for key, value in project.reading.items() if key not in TABLES}
    if "log" in options:
        options["log"] = Path(options["log"])
    for key in ("rewards", "ending_rewards"):
        if key in options:
            low, high = options[key]
            options[key] = f"{low!r}:{high!r}"
    if "policy" in options:
        policy = options["policy"]
        several = isinstance(policy, Mapping)
        options["policy"] = [f"{n}={f}" for n, f in policy.items()] if several else [policy]
    return options


def completed(reading: Mapping[str, Any], project: Project) -> dict[str, Any]:
    """The options of reading a log, with the tables of the project completed."""
    known = dict(project.reading)
    if not {"observation", "action"}.isdisjoint(reading["columns"]):
        # other columns are seen or done than the project says: its ranges of the rest fall
        parts = {**known.get("columns", {}), **reading["columns"]}
        used = {name for part in ("observation", "action") for name in _names(parts.get(part, ()))}
        known["bins"] = {name: cut for name, cut in known.get("bins", {}).items() if name in used}
    return {**reading, **{key: {**known.get(key, {}), **reading[key]} for key in TABLES}}


def with_objective(
    reading: Mapping[str, Any],
    typed: Mapping[str, Any],
    given: Mapping[str, Any],
    project: Project,
    context: typer.Context,
) -> dict[str, Any]:
    """The options of reading a log, with the objective as its reward: of commands that do not ask
    for one, that of the project. `typed` are the columns on the command line, which win over it."""
    objective = project.rest.get("objective")
    named = {part: typed[part] for part in ("reward", "cost") if part in typed}
    if given.get("objective") is not None and not _by_default(context, "objective"):
        objective = given["objective"]
        for part, column in named.items():
            if column != objective:
                raise ParameterError(
                    f"--objective {printable(objective)}: --columns {part}={printable(column)} "
                    "names another column. Give one of them."
                )
    elif named:
        objective = None
    if objective is None:
        return dict(reading)
    columns = {part: name for part, name in reading["columns"].items() if part != "cost"}
    return {**reading, "columns": {**columns, "reward": objective}}


def _names(columns: str | Sequence[str]) -> tuple[str, ...]:
    """The columns of a part; on the command line they are joined by a plus."""
    return (columns, *columns.split("+")) if isinstance(columns, str) else tuple(columns)


def log_of(log: Path | None) -> Path:
    """The log, which must be given somewhere; of a dataset that was named, its folder."""
    if log is None:
        raise ParameterError(
            f"LOG: which log? Name its file, or run `jumar init LOG` once, which writes {FILE}."
        )
    from jumar.log.formats.minari import located

    return Path(located(log))


def discount_told(log: Path) -> float | None:
    """The discount that a log tells itself, which only a dataset of Minari does."""
    from jumar.log.formats import folder_format

    if not log.is_dir() or folder_format(log) != "Minari":
        return None
    from jumar.log.formats.minari import MinariFolder
    from jumar.log.minari import stored_discount

    found = stored_discount(MinariFolder(log))
    if found is not None:
        tell(f"Using the discount of the dataset, {found:g}")
    return found


def discount_of(given: Mapping[str, Any], needed: bool) -> float | None:
    """The discount of a step, given as such or by the year."""
    discount, yearly, length = (
        given[name] for name in ("discount", "yearly_discount", "step_length")
    )
    if discount is not None:
        return _weight("--discount", float(discount))
    if yearly is not None and length is not None:
        return step_discount(_weight("--yearly-discount", float(yearly)), length)
    if yearly is not None:
        raise ParameterError("--yearly-discount: how long is a step? Give --step-length 7d, too.")
    if needed:
        raise ParameterError(
            "--discount: how much does the next step count against this one? Give --discount 0.95, "
            "or --yearly-discount 0.95 and --step-length 7d."
        )
    return None


def _weight(option: str, given: float) -> float:
    """Told here: everything that is computed before the discount is looked at would overflow."""
    if not 0 <= given <= 1:
        raise ParameterError(f"{option} {given:g}: must lie from 0 to 1, such as 0.95.")
    return given


def used(given: Mapping[str, Any]) -> Project:
    """All options of a run as data, as they would stand in a project file, with whole paths."""
    rest = {
        key: given[key]
        for key in in_files()
        if key not in of_reading() and given.get(key) not in (None, False, [])
    }
    if given["log"] is not None:  # counts stand for a log
        rest["log"] = _whole(given["log"])
    for key in ("rewards", "ending_rewards"):
        if key in rest:
            rest[key] = pair(f"--{key.replace('_', '-')}", rest[key])
    texts = dict(text.split("=", 1) for text in given.get("parameter") or () if "=" in text)
    if given.get("n_wedge") is not None:
        texts["n_wedge"] = str(given["n_wedge"])
    if texts:
        rest["parameters"] = texts
    if "policy" in rest:
        rest["policy"] = _policy(rest["policy"])
    if rest.get("discount") is not None:
        rest.pop("yearly_discount", None)
    reading = {key: item for key, item in given["reading"].items() if item not in (None, {})}
    return Project(reading=reading, rest=rest)


def typed(context: typer.Context) -> list[str]:
    """The command as it was typed, the program's name first; without the secrets of addresses."""
    words = context.obj if isinstance(context.obj, list) else sys.argv[1:]
    return ["jumar", *map(shown_address, words)]


def _policy(texts: list[str]) -> str | dict[str, str]:
    from jumar.cli.inputs import named

    pairs = [named(text) for text in texts]
    if len(pairs) == 1 and pairs[0][0] is None:
        return pairs[0][1] if pairs[0][1] == "estimate" else _whole(pairs[0][1])
    return {name or Path(path).stem: _whole(path) for name, path in pairs}


def _whole(path: Path | str) -> str:
    text = as_typed(path)
    if is_address(text):
        return shown_address(text)
    return text if text == "-" or "://" in text else str(Path(path).resolve())
