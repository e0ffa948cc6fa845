"""Algorithms: from a log and the behavior to an improved controller.

An algorithm is one module with ``improve(mdp, behavior, *, parameters) -> Improvement``, usually
only the rows it admits, handed to the solver, and an `Algorithm` (`entry`) that holds
all that is known of it. What `improve` takes and returns is told once, by `spibb`; the others tell
their own parameters. `ALGORITHMS` lists the modules; ``ALGORITHMS.add(name, entry)`` enters one
from elsewhere. An algorithm sees what a log shows and the behavior, never a true model: this
package may not import models, simulation or exact evaluation.

Free to change: what an algorithm admits and how it is tuned: whatever comes out is tested, or its
certificate is computed from what it returns. A bound it claims for itself must be proved.
"""

from __future__ import annotations

from collections.abc import Iterable

from jumar.algorithms.entry import Algorithm, Choice, Grid, Look, Looks, Words
from jumar.algorithms.problem import Material, Outcome, Problem
from jumar.core.errors import ParameterError, not_one_of
from jumar.core.lazy import lazily
from jumar.core.registry import Registry
from jumar.policy.controller import Controller
from jumar.solve.nouns import Improvement
from jumar.tally.history import HistoryMdp

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Choice",
    "Grid",
    "Look",
    "Looks",
    "Material",
    "Outcome",
    "Problem",
    "Words",
    "algorithm",
    "meant",
    "run",
    "tried_by",
    "trusted_from",
]

# the first one is the default
ALGORITHMS: Registry[Algorithm] = Registry(
    "algorithm",
    {
        "auto": "jumar.gate.selecting:ENTRY",
        "spibb": "jumar.algorithms.spibb:ENTRY",
        "spibb_leq": "jumar.algorithms.spibb_leq:ENTRY",
        "strict": "jumar.algorithms.strict:ENTRY",
        "tilt": "jumar.algorithms.tilt:ENTRY",
        "basic": "jumar.algorithms.basic:ENTRY",
        "soft": "jumar.algorithms.soft:ENTRY",
        "decision_points": "jumar.algorithms.decision_points:ENTRY",
        "robust": "jumar.algorithms.robust:ENTRY",
        "ramdp": "jumar.algorithms.ramdp:ENTRY",
        "mbie": "jumar.algorithms.mbie:ENTRY",
    },
)

# `jm.algorithms.basic.improve(mdp, behavior)`
__getattr__ = lazily(
    __name__, {name: f"algorithms.{name}:" for name in ALGORITHMS if name != "auto"}
)


def algorithm(name: str) -> Algorithm:
    """A registry entry by name, however that is spelled.

    >>> algorithm("SPIBB-leq").name
    'spibb_leq'
    """
    if not isinstance(name, str):
        raise ParameterError(f"algorithm: {name!r} is no name. `jumar algorithms` lists them.")
    key = name.replace("-", "_").lower()
    if key not in ALGORITHMS:
        raise ParameterError(not_one_of("algorithm", name, ALGORITHMS))
    return ALGORITHMS[key]


def meant(
    name: str | None, parameters: Iterable[str] = (), others: Iterable[str] = ()
) -> Algorithm:
    """The algorithm that a caller means: the one that is named; else the first one that has all the
    parameters that are given; without any, the default. `others` are words that somebody may have
    meant by a parameter that no algorithm has.

    >>> meant(None).name, meant(None, ["n_wedge"]).name, meant("basic").name
    ('auto', 'spibb', 'basic')
    """
    if name is not None:
        return algorithm(name)
    wanted = set(parameters)
    for entry in ALGORITHMS.values():  # each is loaded as it is looked at
        if wanted <= set(entry.parameters):
            return entry
    every = sorted({p for entry in ALGORITHMS.values() for p in entry.parameters})
    for parameter in sorted(wanted - set(every)):
        raise ParameterError(not_one_of("parameter", parameter, [*every, *others]))
    raise ParameterError(
        f"{', '.join(sorted(wanted))}: no algorithm has all of these parameters. "
        "`jumar algorithms` lists them."
    )


def run(name: str, mdp: HistoryMdp, behavior: Controller, **parameters: object) -> Improvement:
    """Improve with the algorithm of that name on a model; an unknown parameter is an error. What it
    needs of a log beside the model is passed by name too."""
    entry = algorithm(name)
    entry.check({p: value for p, value in parameters.items() if p not in entry.needs})
    if entry.improve is None:
        raise ParameterError(f"{entry.name}: works on a log, not on a model. See jumar.improve.")
    return entry.improve(mdp, behavior, **parameters)


def tried_by(test: str) -> list[Algorithm]:
    """The algorithms that have a grid for a test."""
    return [entry for entry in ALGORITHMS.values() if test in entry.grids]


def trusted_from(improvement: Improvement) -> int | float | None:
    """The visits that a pair had to exceed to be trusted; None where nothing says so."""
    made_by = improvement.parameters.get("base", improvement.algorithm)  # of a choice: the chosen
    maker = ALGORITHMS.get(str(made_by))
    return maker.trusted(improvement.parameters) if maker else None
