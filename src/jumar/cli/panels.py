"""What stands together in `--help`, and which values a shell can complete.

Only names: a shell asks at every press of the tab key, so nothing heavy may be loaded. A test
compares them with the registries they come from.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

import typer
from typer.core import TyperCommand
from typer.models import OptionInfo

from jumar.core.registry import names_in
from jumar.options import DATA, DECISION, OUTPUT, RULE, words

Run = TypeVar("Run", bound=Callable[..., Any])

COMMANDS = {
    "Main job": "init check improve samples",
    "Look closer": "show export estimate convert algorithms",
    "Large logs": "count merge",
    "Research": "models train simulate evaluate optimum plan study paper",
}
# options that are one command's own, behind those that say something about a log (`options`)
OWN = {
    DATA: "counts project no_project again",
    RULE: "controller",
    DECISION: "gain power level estimator interval sides difference",
    OUTPUT: "output yes force resume shard engine scheduler jobs help_all",
}
VALUES = {
    "estimator": "all evidence.offpolicy:ESTIMATORS",
    "interval": "evidence.offpolicy:INTERVALS",
    "sides": "two lower upper",
    "engine": "engines:ENGINES",
}
BRIEF = {  # what a short help shows of these, and of what every command has
    "controller": "the policy to judge (.toml, .json)",
    "gain": "a gain per episode to certify",
    "level": "a test fails when its p-value is at most this",
    "output": "folder for the report, the policy and the rest",
}
LONG = 30  # options, from which on the help is short


def placed() -> dict[str, str]:
    """The panel of every option, in the order of the help."""
    known = words()
    panels = {
        panel: [*(n for n, word in known.items() if word.panel == panel), *own.split()]
        for panel, own in OWN.items()
    }
    return {name: panel for panel, names in panels.items() for name in names}


class Command(TyperCommand):
    """A command whose `--help` stands with the other options of its output."""

    def get_help_option(self, ctx: Any) -> Any:
        """The option, in a panel that the command has anyway."""
        option: Any = super().get_help_option(ctx)
        if option is not None:
            option.rich_help_panel = OUTPUT
        return option

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Of a long list, what a person needs first, on one screen; all of it with --help-all."""
        options: list[Any] = [p for p in self.params if p.param_type_name == "option"]
        if len(options) <= LONG or ctx.meta.get(ALL):
            super().format_help(ctx, formatter)
            return
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text((self.help or "").partition("\n\n")[0])
        brief = BRIEF | {name: word.brief for name, word in words().items() if word.brief}
        shown = [p for p in options if p.name in brief]
        for panel in OWN:
            rows = [(_typed(p), brief[p.name]) for p in shown if p.rich_help_panel == panel]
            if rows:
                with formatter.section(panel):
                    formatter.write_dl(rows)
        formatter.write_paragraph()
        formatter.write_text(
            f"{len(options) - len(shown)} more options: {ctx.command_path} --help-all"
        )


def _typed(option: Any) -> str:
    name: str = option.opts[-1] if option.opts[0] == "-o" else option.opts[0]
    name += f"/{option.secondary_opts[0]}" if option.secondary_opts else ""
    if option.is_flag:
        return name
    word = words().get(option.name)
    return f"{name} {option.metavar or _KINDS[word.kind if word else Path]}"


_KINDS = {int: "N", float: "NUMBER", str: "TEXT", Path: "PATH"}


ALL = "jumar.help_all"


def _show_all(ctx: typer.Context, asked: bool) -> None:
    if asked:
        ctx.meta[ALL] = True
        ctx.command.format_help(ctx, ctx.make_formatter())  # which shows it
        ctx.exit()


HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all",
        is_eager=True,
        callback=_show_all,
        rich_help_panel=OUTPUT,
        help="Show the other options as well, and exit.",
    ),
]


def arrange_commands(app: typer.Typer) -> None:
    """Put every command into its panel, and the panels in order."""
    places = {
        name: (place, panel)
        for place, (panel, name) in enumerate(
            (panel, name) for panel, names in COMMANDS.items() for name in names.split()
        )
    }
    for info in app.registered_commands:
        name = info.name = str(info.name or getattr(info.callback, "__name__", ""))
        info.rich_help_panel = places[name][1]
    app.registered_commands.sort(key=lambda info: places[str(info.name)])


def worded(command: Run) -> Run:
    """Gives a command the options whose names its parameters have (`options`)."""
    signature = inspect.signature(command, eval_str=True)
    return cast(Run, with_parameters(command, signature, list(signature.parameters.values())))


def in_place_of(
    name: str,
    options: Mapping[str, Any],
    made: Callable[[dict[str, Any]], Any],
    kinds: Mapping[str, Any] | None = None,
) -> Callable[[Run], Run]:
    """Gives a command several options, by their names and defaults, in place of one parameter,
    which is what is made of them. An option that the command asks for itself is not taken twice.
    `kinds` says what they are, where `options` does not."""

    def decorate(command: Run) -> Run:
        signature = inspect.signature(command, eval_str=True)
        own = [p for n, p in signature.parameters.items() if n != name]
        taken = {n: default for n, default in options.items() if n not in signature.parameters}

        @wraps(command)
        def run(**given: Any) -> Any:
            asked = {n: given.pop(n) for n in taken}
            return command(**given, **{name: made(asked)})

        empty = inspect.Parameter.empty
        more = [
            inspect.Parameter(n, _KEYWORD, default=default, annotation=(kinds or {}).get(n, empty))
            for n, default in taken.items()
        ]
        return cast(Run, with_parameters(run, signature, [*own, *more]))

    return decorate


def with_parameters(
    run: Callable[..., Any], signature: inspect.Signature, parameters: list[inspect.Parameter]
) -> Any:
    """The function with other parameters than it seems to have, where typer looks for them: in the
    order of the help, each with its panel and the values that can be completed."""
    order = {name: i for i, name in enumerate(placed())}
    plain = [p.replace(kind=_KEYWORD) for p in parameters]
    plain.sort(key=lambda p: order.get(p.name, -1))  # what is no option comes first
    found = [_in_panel(_spelled(p)) for p in plain]
    run.__signature__ = signature.replace(parameters=found)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in found}
    return run


_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def _spelled(parameter: inspect.Parameter) -> inspect.Parameter:
    """With its option, if it says nothing about one itself."""
    word = words().get(parameter.name)
    if word is None or parameter.name == "log" or get_origin(parameter.annotation) is Annotated:
        return parameter
    names = word.typed or (f"--{parameter.name.replace('_', '-')}",)
    values = one_of(word.values) if word.values else None
    given = typer.Option(*names, metavar=word.metavar, help=word.help, autocompletion=values)
    kind: Any = list[word.kind] if word.many else word.kind  # type: ignore[name-defined]
    if word.kind is not bool or parameter.default is None:
        kind = kind | None
    default = parameter.default
    if default is inspect.Parameter.empty:
        default = None
    return parameter.replace(annotation=Annotated[kind, given], default=default)


def _in_panel(parameter: inspect.Parameter) -> inspect.Parameter:
    panel = placed().get(parameter.name)
    if panel is None or get_origin(parameter.annotation) is not Annotated:
        return parameter
    kind, given = get_args(parameter.annotation)[:2]
    if not isinstance(given, OptionInfo):
        return parameter
    option = copy.copy(given)  # several commands share it
    option.rich_help_panel = panel
    if parameter.name in VALUES:
        option.autocompletion = one_of(VALUES[parameter.name])
    return parameter.replace(annotation=Annotated[kind, option])


def one_of(values: str) -> Callable[[str], list[str]]:
    """What a shell completes to one of these values: words, and names in a registry, which is
    loaded when somebody presses the tab key."""

    def complete(incomplete: str) -> list[str]:
        return [value for value in listed(values) if value.startswith(incomplete)]

    return complete


def listed(values: str) -> list[str]:
    """
    >>> listed("terminated cut"), listed("engines:ENGINES")
    (['terminated', 'cut'], ['here', 'processes', 'dask'])
    """
    found: list[str] = []
    for word in values.split():
        found += names_in(f"jumar.{word}") if ":" in word.strip(":") else [word]
    return found
