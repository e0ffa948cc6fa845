"""Where the truth is known: models, their exact values, planners, environments, studies, the paper.

Nothing outside imports it, but for the command line: what improves a policy cannot look at the
truth. Models, figures and studies may be changed freely; what `evaluate` returns is held to exact
values by tests, and the tables of the paper do not move.
"""

from __future__ import annotations

from jumar.core.lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jumar.lab.truth.checkers import export_model as export_model
    from jumar.lab.truth.model_files import save_model as save_model
    from jumar.lab.truth.planning import Pouct as Pouct
    from jumar.lab.truth.planning import plan as plan
    from jumar.lab.truth.simulation import simulated_value as simulated_value

__getattr__ = lazily(
    __name__,
    {
        "Pouct": "lab.truth.planning",
        "export_model": "lab.truth.checkers",
        "plan": "lab.truth.planning",
        "save_model": "lab.truth.model_files",
        "simulated_value": "lab.truth.simulation",
    },
)
