"""How a log is to be read, on the command line: option types and the texts behind them.

A command asks for them all with one parameter:

    @app.command()
    @reads_a_log()
    def check(log: Path, reading: dict[str, Any]) -> None:
        episodes = read_logs(log, **reading)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Annotated, Any, TypeVar, cast

import typer

from jumar.cli import panels, settings
from jumar.core.errors import ParameterError
from jumar.core.text import printable

Command = TypeVar("Command", bound=Callable[..., Any])

Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PART=NAME,...",
        help="Other column names: episode=bus_id,reward=gain; observation=vibration+noise combines "
        "two; cluster=machine says which episodes belong together.",
    ),
]
Ends = Annotated[
    str | None,
    typer.Option(
        metavar="terminated|cut",
        help="What an episode's end means in a log without a 'terminated' column.",
    ),
]
Cost = Annotated[
    bool | None, typer.Option("--cost/--no-cost", help="The reward column holds costs.")
]
Bins = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=NAME:EDGE:NAME...",
        help="Cut numbers into named ranges: vibration=low:2:mid:5:high; may be repeated.",
    ),
]
Gap = Annotated[
    str | None,
    typer.Option(
        metavar="LENGTH",
        help="A longer pause starts a new episode: 90d, 12h, 30m, 45s, or a number of steps.",
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        metavar="error|symbol|drop",
        help="A missing value: an error, the observation 'missing', or leave out the episode.",
    ),
]
MissingReward = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        help="What a step pays whose reward is missing: 0 if an outcome comes only at the end.",
    ),
]
PropensityDraws = Annotated[
    int | None,
    typer.Option(
        metavar="K",
        help="Propensities are frequencies of the action in K draws; 0 says that they are exact.",
    ),
]
Repeated = Annotated[
    str,
    typer.Option(
        metavar="error|drop", help="A row that is there twice: an error, or leave out the copy."
    ),
]
Prices = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WHAT=NUMBER,...",
        help="Rewards of a log that has none: action:repair=-10,observation:broken=-5,"
        "column:miles=-0.02.",
    ),
]
EachFile = Annotated[
    bool,
    typer.Option(
        "--each-file", help="In a folder of logs: episodes are numbered anew in every file."
    ),
]
FileFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        "--file-format",
        metavar="NAME",
        help="CSV, TSV, Parquet, Arrow, NDJSON, JSON, Excel or Minari, if the name does not tell.",
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(metavar=",|;|tab", help="What stands between the columns of a text file."),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar=".|,", help="The decimal mark of numbers in text; the other one parts thousands."
    ),
]
Dates = Annotated[
    str | None,
    typer.Option(metavar="FORMAT", help="How dates are written: %d/%m/%Y or %m/%d/%Y %H:%M."),
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Of a text file that is not UTF-8: cp1252, utf-16."),
]
Turns = Annotated[
    str | None,
    typer.Option(
        metavar="KEY", help="The key of nested JSON that holds the list of steps: dialog.turns."
    ),
]
Sheet = Annotated[str | None, typer.Option(metavar="NAME", help="The sheet of a workbook.")]


def as_reading(
    *,
    columns: Sequence[str] | None = None,
    ends: str | None = None,
    cost: bool | None = None,
    bins: Sequence[str] | None = None,
    gap: str | None = None,
    missing: str = "error",
    missing_reward: float | None = None,
    propensity_draws: int | None = None,
    repeated: str = "error",
    prices: Sequence[str] | None = None,
    each_file: bool = False,
    **file: str | None,
) -> dict[str, Any]:
    """The options as keyword arguments of `read_logs`.

    >>> asked = as_reading(columns=["episode=bus"], bins=["miles=new:5e3:old"], gap="90d")
    >>> asked["columns"], asked["bins"], asked["gap"]
    ({'episode': 'bus'}, {'miles': ('new', 5000.0, 'old')}, '90d')
    """
    return {
        "columns": _columns(columns or ()),
        "ends": ends,
        "cost": cost,
        "bins": _bins(bins or ()),
        "gap": gap,
        "missing": missing,
        "missing_reward": missing_reward,
        "propensity_draws": propensity_draws,
        "repeated": repeated,
        "prices": _prices(prices or ()),
        "each_file": each_file,
        **{name: file.get(name) for name in _FILE},
    }


def _columns(texts: Sequence[str]) -> dict[str, str]:
    mapping: dict[str, str] = {}
    for text in texts:
        for item in text.split(","):
            part, equals, name = item.partition("=")
            place = f"--columns {printable(text)}"
            if not equals or not part or not name:
                raise ParameterError(f"{place}: expected PART=NAME, such as episode=bus_id.")
            if part in mapping:
                raise ParameterError(f"{place}: {printable(part)} is given twice. Give it once.")
            mapping[part] = name
    return mapping


def _bins(texts: Sequence[str]) -> dict[str, tuple[str | float, ...]]:
    mapping: dict[str, tuple[str | float, ...]] = {}
    for text in texts:
        column, equals, spec = text.partition("=")
        place = f"--bins {printable(text)}"
        items = spec.split(":")
        if not equals or not column or len(items) < 3 or len(items) % 2 == 0:
            raise ParameterError(
                f"{place}: expected COLUMN=NAME:EDGE:NAME, such as vibration=low:2:mid:5:high."
            )
        if column in mapping:
            raise ParameterError(f"{place}: {printable(column)} is given twice. Give it once.")
        mapping[column] = tuple(
            _number(item, place, "vibration=low:2:mid:5:high") if i % 2 else item
            for i, item in enumerate(items)
        )
    return mapping


def _prices(texts: Sequence[str]) -> dict[str, float]:
    mapping: dict[str, float] = {}
    for text in texts:
        for item in text.split(","):
            name, equals, amount = item.rpartition("=")
            place = f"--prices {printable(text)}"
            if not equals or not name:
                raise ParameterError(f"{place}: expected WHAT=NUMBER, such as action:repair=-10.")
            if name in mapping:
                raise ParameterError(f"{place}: {printable(name)} is given twice. Give it once.")
            mapping[name] = _number(amount, place, "action:repair=-10")
    return mapping


def _number(text: str, place: str, example: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ParameterError(
            f"{place}: {printable(text)!r} is not a number. Write it like {example}."
        ) from error


_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_FILE: dict[str, tuple[Any, Any]] = {  # how the file is written
    "file_format": (FileFormat, None),
    "separator": (Separator, None),
    "decimal": (Decimal, None),
    "dates": (Dates, None),
    "encoding": (Encoding, None),
    "turns": (Turns, None),
    "sheet": (Sheet, None),
}
_OPTIONS: dict[str, tuple[Any, Any]] = {
    "columns": (Columns, None),
    "ends": (Ends, None),
    "cost": (Cost, None),
    "bins": (Bins, None),
    "gap": (Gap, None),
    "missing": (Missing, "error"),
    "missing_reward": (MissingReward, None),
    "propensity_draws": (PropensityDraws, None),
    "repeated": (Repeated, "error"),
    "prices": (Prices, None),
    "each_file": (EachFile, False),
    **_FILE,
}


# what the decorator turns into the parameters `log` and `discount`, in front of all others ...
_FRONT: dict[str, tuple[Any, Any]] = {
    "log": (settings.Log, None),
    "discount": (settings.Discount, None),
    "yearly_discount": (settings.YearlyDiscount, None),
    "step_length": (settings.StepLength, None),
}
# ... and what it uses up itself
_BEHIND: dict[str, tuple[Any, Any]] = {
    "project": (settings.ProjectFile, None),
    "no_project": (settings.NoProject, False),
}
_MADE = ("reading", "used", "typed")  # made here, not asked for
_AGAIN: dict[str, tuple[Any, Any]] = {"again": (settings.Again, None)}


def log_options(command: Command) -> Command:
    """Gives a command the options of reading a log in place of its parameter `reading`."""
    signature = inspect.signature(command, eval_str=True)
    own = [p.replace(kind=_KEYWORD) for n, p in signature.parameters.items() if n != "reading"]

    @wraps(command)
    def run(**given: Any) -> Any:
        asked = {name: given.pop(name) for name in _OPTIONS}
        return command(**given, reading=as_reading(**asked))

    return cast(Command, _with_parameters(run, signature, [*own, *_made(_OPTIONS)]))


def reads_a_log(
    *, needs_discount: bool = True, repeatable: bool = False, **defaults: Any
) -> Callable[[Command], Command]:
    """Gives a command the options of what it reads: its parameters `log`, `discount` and `reading`
    (keyword arguments of `read_logs`) are filled from the command line, else from the project file.
    If it has the parameters `step_length`, `used` or `typed`, it gets the length of a step, all
    options as data, or the command as it was typed. `defaults` differ from the usual ones. Standard
    input (-) and pipes are there as a file while the command runs."""

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        wanted = signature.parameters
        behind = {**_BEHIND, **_AGAIN} if repeatable else _BEHIND
        own = {name: p for name, p in wanted.items() if name not in (*_FRONT, *_MADE)}

        @wraps(command)
        def run(context: typer.Context, **given: Any) -> Any:
            from jumar.io.formats import spooled

            known = settings.find(
                given.pop("project"), given.pop("no_project"), given.pop("again", None)
            )
            given = settings.fill(given, known, context)
            asked = {name: given.pop(name) for name in _OPTIONS}
            reading = as_reading(**asked)
            given["reading"] = settings.completed(reading, known)
            if given.get("counts") is None:  # which stand for a log
                given["log"] = settings.log_of(given["log"])
                if given["discount"] is None and given["yearly_discount"] is None:
                    given["discount"] = settings.discount_told(given["log"])
            given["discount"] = settings.discount_of(given, needs_discount)
            given["used"] = settings.used(given)
            given["reading"] = settings.with_objective(
                given["reading"], reading["columns"], given, known, context
            )
            given["typed"] = settings.typed(context)
            with spooled(given["log"]) as given["log"]:
                return command(**{name: item for name, item in given.items() if name in wanted})

        context = inspect.Parameter("context", _KEYWORD, annotation=typer.Context)
        plain = [p.replace(kind=_KEYWORD) for p in own.values()]
        front, rest = _made(_FRONT), _made({**behind, **_OPTIONS}, defaults)
        return cast(Command, _with_parameters(run, signature, [context, *front, *plain, *rest]))

    return decorate


def _made(
    options: dict[str, tuple[Any, Any]], defaults: dict[str, Any] | None = None
) -> list[inspect.Parameter]:
    usual = {name: default for name, (_, default) in options.items()} | (defaults or {})
    return [
        inspect.Parameter(name, _KEYWORD, default=usual[name], annotation=kind)
        for name, (kind, _) in options.items()
    ]


def _with_parameters(
    run: Callable[..., Any], signature: inspect.Signature, parameters: list[inspect.Parameter]
) -> Callable[..., Any]:
    """The function with other parameters than it seems to have, where typer looks for them."""
    parameters = panels.arranged(parameters)
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run
