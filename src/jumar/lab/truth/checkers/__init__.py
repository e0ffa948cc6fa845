"""Models for model checkers: a model, or a model run by a controller, as DRN or PRISM.

A model alone becomes a POMDP: states are pairs (s, z) of a hidden state and what is seen in it,
after one more state at the start, in which nothing is seen yet, and before one at the end. A model
with a controller becomes a Markov chain (DTMC) over the triples (s, n, z) that can be reached.

The discount γ is written as an ending: every step goes on with probability γ and ends with 1-γ.
So the expected total reward, ``R{"reward"}=? [C]``, is the discounted value. Numbers are written
as exact decimals and every row sums to exactly 1, so that an exact engine can be used.

A new format is one function of a `StateGraph`, and one line in `WRITERS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from jumar.core.errors import ParameterError
from jumar.core.files import write_atomically
from jumar.core.registry import Registry
from jumar.lab.truth.checkers.graph import StateGraph, chain_graph, model_graph
from jumar.lab.truth.checkers.texts import drn, prism
from jumar.lab.truth.pomdp import Pomdp
from jumar.policy.controller import Controller

WRITERS: Registry[Callable[[StateGraph], str]] = Registry(
    "model format", {".drn": drn, ".prism": prism}
)


def model_text(
    model: Pomdp, kind: str, controller: Controller | None = None, *, discounted: bool = True
) -> str:
    """The text of a model, or of a model run by a controller, in a format given by the ending of
    its files.

    >>> from jumar import models
    >>> print(model_text(models.tiger(), ".drn").splitlines()[3])
    @type: POMDP
    """
    if controller is None:
        graph = model_graph(model, discounted)
    else:
        graph = chain_graph(model, controller, discounted)
    return WRITERS.find(kind)(graph)


def export_model(
    model: Pomdp,
    path: str | os.PathLike[str],
    controller: Controller | None = None,
    *,
    discounted: bool = True,
) -> None:
    """Write a model, or a model run by a controller, for a model checker.

    Parameters
    ----------
    model
        The model.
    path
        The file; .drn is Storm's explicit format, .prism the language of PRISM.
    controller
        Without it the file holds a POMDP, with it the Markov chain of both.
    discounted
        Write the discount as an ending, so that the expected total reward is the discounted value.

    Examples
    --------
    >>> import tempfile
    >>> from jumar import models
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_model(models.tiger(), Path(folder, "tiger.prism"))
    ...     Path(folder, "tiger.prism").read_text().splitlines()[3]
    'pomdp'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in WRITERS:
        raise ParameterError(
            f"{path}: a model is written as {' or '.join(WRITERS)}, but the name ends in none of "
            f"these. Use '{Path(path).stem or 'model'}.drn'."
        )
    write_atomically(path, model_text(model, suffix, controller, discounted=discounted))
