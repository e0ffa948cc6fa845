"""jumar: safe policy improvement under partial observability.

    import jumar as jm

    result = jm.improve("logs.csv", "behavior.toml", discount=0.95)
    print(result.certificate)
    result.controller.save("improved.json")

Names are loaded when they are first used, so ``import jumar`` costs next to nothing.
"""

from __future__ import annotations

from jumar.core.lazy import lazily

TYPE_CHECKING = False  # not from typing, which takes longer to load than all that is here

__version__ = "0.2.0"

# public name -> the module it lives in
_PUBLIC = {
    "Certificate": "evidence.certificate",
    "Controller": "policy.controller",
    "Counts": "tally.history",
    "Episodes": "log.episodes",
    "HistoryMdp": "tally.history",
    "Improvement": "solve.nouns",
    "JumarError": "core.errors",
    "Keep": "gate.objectives",
    "LogFiles": "log.reading.options",
    "Memory": "memory",
    "Options": "options",
    "Pomdp": "lab.truth.pomdp",
    "Result": "verdict.result",
    "Replays": "tally.replay",
    "RewardRange": "evidence.certificate",
    "check": "evidence.checking",
    "count": "tally.replay",
    "count_logs": "tally.counting",
    "estimate": "pipeline",
    "estimate_behavior": "evidence.estimation",
    "evaluate": "lab.truth.evaluation",
    "export_controller": "show.program",
    "improve": "pipeline",
    "learn_memory": "evidence.remembering",
    "load_controller": "policy.files",
    "load_counts": "tally.files",
    "load_model": "lab.truth.model_files",
    "load_project": "project",
    "load_result": "show.comparing",
    "models": "lab.truth.models:",
    "offpolicy": "evidence.offpolicy:",
    "optimum": "lab.truth.optimality",
    "order_test": "evidence.order",
    "read_logs": "log.reading",
    "read_minari": "log.minari",
    "record": "lab.envs.recording",
    "simulate": "lab.truth.simulation",
    "spibb": "algorithms.spibb:improve",
    "train_behavior": "lab.truth.training",
    "window": "memory",
    "write_logs": "log.reading",
    "write_minari": "log.minari",
}

# what else can be reached: `jm.memory.product(...)`, `jm.evidence.order_tests(...)`
_ROOMS = {room: f"{room}:" for room in ("algorithms", "evidence", "lab", "memory", "pipeline")}

__all__ = [
    "Certificate",
    "Controller",
    "Counts",
    "Episodes",
    "HistoryMdp",
    "Improvement",
    "JumarError",
    "Keep",
    "LogFiles",
    "Memory",
    "Options",
    "Pomdp",
    "Replays",
    "Result",
    "RewardRange",
    "check",
    "count",
    "count_logs",
    "estimate",
    "estimate_behavior",
    "evaluate",
    "export_controller",
    "improve",
    "learn_memory",
    "load_controller",
    "load_counts",
    "load_model",
    "load_project",
    "load_result",
    "models",
    "offpolicy",
    "optimum",
    "order_test",
    "read_logs",
    "read_minari",
    "record",
    "simulate",
    "spibb",
    "train_behavior",
    "window",
    "write_logs",
    "write_minari",
]

if TYPE_CHECKING:  # the same table, in the form type checkers read
    from jumar.algorithms.spibb import improve as spibb
    from jumar.core.errors import JumarError
    from jumar.evidence import offpolicy as offpolicy
    from jumar.evidence.checking import check
    from jumar.evidence.claims import Certificate
    from jumar.evidence.estimation import estimate_behavior
    from jumar.evidence.order import order_test
    from jumar.evidence.remembering import learn_memory
    from jumar.evidence.rewards import RewardRange
    from jumar.gate.objectives import Keep
    from jumar.lab.envs.recording import record
    from jumar.lab.truth import models as models
    from jumar.lab.truth.evaluation import evaluate
    from jumar.lab.truth.model_files import load_model
    from jumar.lab.truth.optimality import optimum
    from jumar.lab.truth.pomdp import Pomdp
    from jumar.lab.truth.simulation import simulate
    from jumar.lab.truth.training import train_behavior
    from jumar.log.episodes import Episodes
    from jumar.log.minari import read_minari, write_minari
    from jumar.log.reading import read_logs, write_logs
    from jumar.log.reading.options import LogFiles
    from jumar.memory import Memory, window
    from jumar.options import Options
    from jumar.pipeline import estimate, improve
    from jumar.policy.controller import Controller
    from jumar.policy.files import load_controller
    from jumar.project import load_project
    from jumar.show.comparing import load_result
    from jumar.show.program import export_controller
    from jumar.solve.nouns import Improvement
    from jumar.tally.counting import count_logs
    from jumar.tally.files import load_counts
    from jumar.tally.history import Counts, HistoryMdp
    from jumar.tally.replay import Replays, count
    from jumar.verdict.result import Result

__getattr__ = lazily(__name__, _PUBLIC | _ROOMS)


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS, "__version__"]
