"""What stands together in `--help`, and which values a shell can complete.

Only names: a shell asks at every press of the tab key, so nothing heavy may be loaded. A test
compares them with the registries they come from.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand

DATA, RULE, DECISION, OUTPUT = "Data", "Rule", "Decision", "Output"

COMMANDS = {
    "Main job": "init check improve samples",
    "Look closer": "show export estimate convert algorithms",
    "Large logs": "count merge",
    "Research": "models train simulate evaluate optimum plan study paper",
}
# the options of commands that read a log, each panel in the order of the help
OPTIONS = {
    DATA: "counts each_file sort columns ends cost bins gap missing missing_reward repeated prices "
    "propensity_draws file_format separator decimal dates encoding turns sheet project no_project "
    "again",
    RULE: "policy exploration controller window with_actions",
    DECISION: "discount yearly_discount step_length algorithm n_wedge parameter delta gate "
    "candidates learn_memory objective keep keep_cost keep_range simplify gain_share "
    "thorough rewards ending_rewards horizon gain power level estimator interval sides difference "
    "forecast ahead folds seed",
    OUTPUT: "output pictures unit yes force resume shard engine scheduler jobs as_json",
}
VALUES = {
    "ends": "terminated cut",
    "missing": "error symbol drop",
    "repeated": "error drop",
    "file_format": "CSV TSV Parquet Arrow NDJSON JSON Excel Minari",
    "separator": ", ; tab",
    "decimal": ". ,",
    "gate": "proved asymptotic",
    "algorithm": "auto spibb spibb_leq strict tilt basic soft decision_points robust ramdp mbie",
    "estimator": "all pdis dr wdr",
    "interval": "hoeffding bernstein truncated t bootstrap-t",
    "sides": "two lower upper",
    "engine": "here processes dask",
}

_PLACE = {
    name: (place, panel)
    for place, (panel, name) in enumerate(
        (panel, name) for panel, names in OPTIONS.items() for name in names.split()
    )
}


class Command(TyperCommand):
    """A command whose `--help` stands with the other options of its output."""

    def get_help_option(self, ctx: Any) -> Any:
        """The option, in a panel that the command has anyway."""
        option: Any = super().get_help_option(ctx)
        if option is not None:
            option.rich_help_panel = OUTPUT
        return option


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


def arranged(parameters: Sequence[inspect.Parameter]) -> list[inspect.Parameter]:
    """The parameters of a command in the order of the panels, each with its panel and the values
    that can be completed. What is no option comes first."""
    ordered = sorted(parameters, key=lambda p: _PLACE.get(p.name, (-1, ""))[0])
    return [_placed(p) if p.name in _PLACE else p for p in ordered]


def _placed(parameter: inspect.Parameter) -> inspect.Parameter:
    kind, given = get_args(parameter.annotation)[:2]
    option = copy.copy(given)  # several commands share it
    option.rich_help_panel = _PLACE[parameter.name][1]
    if parameter.name in VALUES:
        option.autocompletion = one_of(VALUES[parameter.name].split())
    return parameter.replace(annotation=Annotated[kind, option])


def one_of(values: Sequence[str]) -> Callable[[str], list[str]]:
    """What a shell completes to one of these values."""

    def complete(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return complete
