"""jumar: safe policy improvement under partial observability.

    import jumar as jm

    log      = jm.read_logs("logs.csv")
    behavior = jm.load_controller("behavior.toml")
    result   = jm.improve(log, behavior, discount=0.95)
    print(result.certificate)
    result.controller.save("improved.json")

Names are loaded when they are first used, so ``import jumar`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

# public name -> the module it lives in
_PUBLIC = {
    "Certificate": "certificate",
    "Controller": "controller",
    "Counts": "history",
    "Episodes": "episodes",
    "HistoryMdp": "history",
    "Improvement": "improvement",
    "JumarError": "errors",
    "Memory": "memory",
    "Pomdp": "pomdp",
    "Result": "pipeline",
    "RewardRange": "certificate",
    "Table": "memory",
    "basic": "algorithms.basic:improve",
    "check": "checking",
    "choose": "pipeline",
    "count": "history",
    "estimate_behavior": "estimation",
    "evaluate": "evaluation",
    "first_returns": "first_visits",
    "improve": "pipeline",
    "join": "refinement",
    "load_controller": "controller_files",
    "load_model": "model_files",
    "models": "models:",
    "offpolicy": "offpolicy:",
    "optimum": "optimality",
    "order_test": "order",
    "order_tests": "order",
    "Pouct": "planning",
    "plan": "planning",
    "product": "memory",
    "read_logs": "logs",
    "simulate": "simulation",
    "simulated_value": "simulation",
    "spibb": "algorithms.spibb:improve",
    "spibb_leq": "algorithms.spibb_leq:improve",
    "stream": "streams",
    "strict": "algorithms.strict:improve",
    "train": "training",
    "window": "memory",
    "write_logs": "logs",
}

__all__ = [
    "Certificate",
    "Controller",
    "Counts",
    "Episodes",
    "HistoryMdp",
    "Improvement",
    "JumarError",
    "Memory",
    "Pomdp",
    "Pouct",
    "Result",
    "RewardRange",
    "Table",
    "basic",
    "check",
    "choose",
    "count",
    "estimate_behavior",
    "evaluate",
    "first_returns",
    "improve",
    "join",
    "load_controller",
    "load_model",
    "models",
    "offpolicy",
    "optimum",
    "order_test",
    "order_tests",
    "plan",
    "product",
    "read_logs",
    "simulate",
    "simulated_value",
    "spibb",
    "spibb_leq",
    "stream",
    "strict",
    "train",
    "window",
    "write_logs",
]

if TYPE_CHECKING:  # the same table, in the form type checkers read
    from jumar import models as models
    from jumar import offpolicy as offpolicy
    from jumar.algorithms.basic import improve as basic
    from jumar.algorithms.spibb import improve as spibb
    from jumar.algorithms.spibb_leq import improve as spibb_leq
    from jumar.algorithms.strict import improve as strict
    from jumar.certificate import Certificate, RewardRange
    from jumar.checking import check
    from jumar.controller import Controller
    from jumar.controller_files import load_controller
    from jumar.episodes import Episodes
    from jumar.errors import JumarError
    from jumar.estimation import estimate_behavior
    from jumar.evaluation import evaluate
    from jumar.first_visits import first_returns
    from jumar.history import Counts, HistoryMdp, count
    from jumar.improvement import Improvement
    from jumar.logs import read_logs, write_logs
    from jumar.memory import Memory, Table, product, window
    from jumar.model_files import load_model
    from jumar.optimality import optimum
    from jumar.order import order_test, order_tests
    from jumar.pipeline import Result, choose, improve
    from jumar.planning import Pouct, plan
    from jumar.pomdp import Pomdp
    from jumar.refinement import join
    from jumar.simulation import simulate, simulated_value
    from jumar.streams import stream
    from jumar.training import train


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'jumar' has no attribute {name!r}")
    module, _, inner = _PUBLIC[name].partition(":")
    loaded = import_module(f"jumar.{module}")
    found = loaded if _PUBLIC[name].endswith(":") else getattr(loaded, inner or name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
