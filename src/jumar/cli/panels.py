"""What a command asks for, as typer and `--help` show it: every option from the table `options`.

Only names: a shell asks at every press of the tab key, so nothing heavy may be loaded.
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
from jumar.options import DATA, DECISION, OUTPUT, POLICY, words

Run = TypeVar("Run", bound=Callable[..., Any])

COMMANDS = {
    "Main job": "init check improve samples",
    "Look closer": "show compare export estimate convert algorithms",
    "Large logs": "count merge",
    "Research": "models train simulate evaluate optimum plan study paper",
}
LONG = 30  # options, from which on the help is short
ALL = "jumar.help_all"


def placed() -> dict[str, str]:
    """The panel of every option, in the order of the help."""
    panels = (DATA, POLICY, DECISION, OUTPUT)
    known = sorted(words().items(), key=lambda item: panels.index(item[1].panel))
    return {name: word.panel for name, word in known}


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
        first = [p for p in options if p.name in words() and words()[p.name].first]
        for panel in dict.fromkeys(p.rich_help_panel for p in first):
            with formatter.section(panel):
                here = [p for p in first if p.rich_help_panel == panel]
                formatter.write_dl(
                    [(_typed(p), p.help.partition(". ")[0].removesuffix(".")) for p in here]
                )
        formatter.write_paragraph()
        formatter.write_text(
            f"{len(options) - len(first)} more options: {ctx.command_path} --help-all"
        )


def _typed(option: Any) -> str:
    name: str = option.opts[0] + "".join(f"/{no}" for no in option.secondary_opts)
    if option.is_flag:
        return name
    kinds = {int: "N", float: "NUMBER", str: "TEXT", Path: "PATH"}
    return f"{name} {option.metavar or kinds[words()[option.name].kind]}"


def _show_all(ctx: typer.Context, asked: bool) -> None:
    if asked:
        ctx.meta[ALL] = True
        ctx.command.format_help(ctx, ctx.make_formatter())  # which shows it
        ctx.exit()


def arrange_commands(app: typer.Typer) -> None:
    """Put every command into its panel, and the panels in order."""
    places = {name: panel for panel, names in COMMANDS.items() for name in names.split()}
    for info in app.registered_commands:
        name = info.name = str(info.name or getattr(info.callback, "__name__", ""))
        info.rich_help_panel = places[name]
    app.registered_commands.sort(key=lambda info: [*places].index(str(info.name)))


def worded(command: Run) -> Run:
    """Gives a command the options whose names its parameters have (`options`)."""
    signature = inspect.signature(command, eval_str=True)
    return cast(Run, with_parameters(command, signature, list(signature.parameters.values())))


def in_place_of(
    name: str, options: Mapping[str, Any], made: Callable[[dict[str, Any]], Any]
) -> Callable[[Run], Run]:
    """Gives a command several options, by their names and defaults, in place of one parameter,
    which is what is made of them. An option that the command asks for itself is not taken twice."""

    def decorate(command: Run) -> Run:
        signature = inspect.signature(command, eval_str=True)
        own = [p for n, p in signature.parameters.items() if n != name]
        taken = {n: default for n, default in options.items() if n not in signature.parameters}

        @wraps(command)
        def run(**given: Any) -> Any:
            asked = {n: given.pop(n) for n in taken}
            return command(**given, **{name: made(asked)})

        more = [asked_for(n, default) for n, default in taken.items()]
        return cast(Run, with_parameters(run, signature, [*own, *more]))

    return decorate


def asked_for(
    name: str, default: Any = None, kind: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    """An option of a command."""
    return inspect.Parameter(name, _KEYWORD, default=default, annotation=kind)


_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def with_parameters(
    run: Callable[..., Any], signature: inspect.Signature, parameters: list[inspect.Parameter]
) -> Any:
    """The function with other parameters than it seems to have, where typer looks for them: in the
    order of the help, each with its panel and the values that can be completed."""
    order = {name: i for i, name in enumerate(placed())}
    plain = [p.replace(kind=_KEYWORD) for p in parameters]
    plain.sort(key=lambda p: order.get(p.name, -1))  # what is no option comes first
    found = [_spelled(p) for p in plain]
    run.__signature__ = signature.replace(parameters=found)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in found}
    return run


def _spelled(parameter: inspect.Parameter) -> inspect.Parameter:
    """With its option, if it says nothing about one itself, and its panel."""
    word, default = words().get(parameter.name), parameter.default
    if word is None or parameter.name == "log":
        return parameter
    if get_origin(parameter.annotation) is Annotated:
        kind, option = get_args(parameter.annotation)[:2]
        if not isinstance(option, OptionInfo):
            return parameter
        option = copy.copy(option)  # several commands share it
    else:
        names = word.typed or (f"--{parameter.name.replace('_', '-')}",)
        option = typer.Option(*names, metavar=word.metavar, help=word.help)
        kind = list[word.kind] if word.many else word.kind  # type: ignore[name-defined]
        if default is not inspect.Parameter.empty and (word.kind is not bool or default is None):
            kind = kind | None
        if word.values:
            option.autocompletion = one_of(word.values)
        if parameter.name == "help_all":
            option.is_eager, option.callback = True, _show_all
    option.rich_help_panel = word.panel
    return parameter.replace(annotation=Annotated[kind, option], default=default)


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
