"""Models as files: a POMDP as a TOML or JSON document, written by hand or by jumar; or in
Cassandra's format, `.POMDP` (`jumar.lab.truth.cassandra`).

    format       = "jumar-model/1"
    name         = "machine"
    discount     = 0.95
    max_steps    = 100                                   # optional
    states       = ["good", "worn"]
    actions      = ["run", "replace"]
    observations = ["ok", "noise"]
    start        = { good = 1.0 }
    first_observation = { good = { ok = 0.9, noise = 0.1 }, worn = { noise = 1.0 } }

    [[outcomes]]
    state = "good"
    action = "run"
    probability = 0.1
    to = "worn"                                          # or: ends = true
    see = { ok = 0.3, noise = 0.7 }                      # or: see = "noise"
    reward = 1.0

Outcomes of one state and action must have probability 1 in all, with the endings.

Whoever takes a model by name takes such a file, with options after a colon:
`tiger.POMDP:first_observation=after:listen,discount=0.95` (`load_named`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.documents import (
    Format,
    at,
    check_format,
    check_keys,
    checked,
    lookup,
    nesting,
    number,
    read_document,
    whole,
)
from jumar.core.errors import ModelError, ParameterError, not_one_of
from jumar.core.files import write_atomically
from jumar.core.names import check_names
from jumar.lab.truth.pomdp import END, Pomdp

_NEEDED = ("discount", "states", "actions", "observations", "start", "outcomes")
_KEYS = ("format", "name", "max_steps", "first_observation", *_NEEDED)
MODEL = Format("model", 1, ModelError, _KEYS)
_OUTCOME_KEYS = ("state", "action", "probability", "to", "ends", "see", "reward")
CASSANDRA = ".pomdp"
_NAMED = re.compile(r"(?P<file>.*\.(?:json|toml|pomdp))(?::(?P<options>.*))?", re.I | re.DOTALL)
_YES = {"yes": True, "true": True, "no": False, "false": False}
OPTIONS: dict[str, tuple[Callable[[str], Any], str]] = {  # how each is read, and what it should be
    "first_observation": (str, "text"),
    "start": (str, "text"),
    "discount": (float, "a number"),
    "max_steps": (int, "a whole number"),
    "normalize": (lambda text: _YES[text.lower()], "yes or no"),
}


def load_model(
    path: str | os.PathLike[str],
    *,
    first_observation: str | None = None,
    start: str | None = None,
    discount: float | None = None,
    max_steps: int | None = None,
    normalize: bool = False,
) -> Pomdp:
    """Read a model from a TOML, JSON or `.POMDP` file.

    Parameters
    ----------
    path
        The file. A name that ends in .POMDP, in any case, is Cassandra's format.
    first_observation
        For a .POMDP file, which has none: "null" (the default) is one more symbol, seen before the
        first action and never again; the name of an observation is always seen first;
        "after:listen" is what the action `listen` shows of the first state.
    start
        For a .POMDP file: a state to start in, or "uniform", instead of what the file says.
    discount
        Instead of the file's.
    max_steps
        Where a simulation is cut off. A .POMDP file says nothing of it: without this, after the
        first number of steps with discount^steps < 0.001.
    normalize
        For a .POMDP file: divide rows that do not sum to 1 by their sum, however far they are off.

    Returns
    -------
    Pomdp
        The model.

    Examples
    --------
    >>> import tempfile
    >>> from jumar import models
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(models.sumatran_tiger(), f"{folder}/tiger.POMDP")
    ...     again = load_model(f"{folder}/tiger.POMDP", first_observation="present")
    >>> again.observations, again == models.sumatran_tiger()
    (('present', 'absent'), False)
    >>> (again.probability == models.sumatran_tiger().probability).all().item()
    True
    """
    source = str(os.fspath(path))
    of_pomdp = {"first_observation": first_observation, "start": start, "normalize": normalize}
    if source.lower().endswith(CASSANDRA):
        from jumar.lab.truth.cassandra.reading import read_pomdp

        return read_pomdp(source, discount=discount, max_steps=max_steps, **of_pomdp)
    if any(value not in (None, False) for value in of_pomdp.values()):
        raise ParameterError(
            f"{source}: first_observation, start and normalize are for .POMDP files; this file "
            "says that itself. Change the file."
        )
    model = model_from_document(read_document(source, MODEL), source)
    return replace(
        model,
        discount=model.discount if discount is None else discount,
        max_steps=model.max_steps if max_steps is None else max_steps,
    )


def save_model(pomdp: Pomdp, path: str | os.PathLike[str]) -> None:
    """Write a model into a file: .json, or .POMDP for other programs.

    A .json file keeps everything. In a .POMDP file endings become one more state, names are spelled
    as the format wants them, and comments tell with which options to read it back; what was read
    from such a file and is written again comes back bit for bit.

    Parameters
    ----------
    pomdp
        The model.
    path
        The file; its ending chooses the format.
    """
    source = str(os.fspath(path))
    if source.lower().endswith(CASSANDRA):
        from jumar.lab.truth.cassandra.writing import pomdp_to_text

        write_atomically(source, pomdp_to_text(pomdp))
    elif source.lower().endswith(".json"):
        write_atomically(source, json.dumps(model_to_document(pomdp), indent=1) + "\n")
    else:
        raise ParameterError(f"{source}: a model is written as .json or .POMDP. Choose one.")


def is_model_file(spec: str) -> bool:
    """Does this name a model file, with or without options, rather than a model we know?

    >>> is_model_file("tiger"), is_model_file("tiger.95.POMDP:discount=0.9")
    (False, True)
    """
    return _NAMED.fullmatch(spec) is not None


def load_named(spec: str, folder: str = ".") -> Pomdp:
    """A model from a file in that folder, with the options of `load_model` after a colon."""
    named = _NAMED.fullmatch(spec)
    if named is None:
        raise ParameterError(f"{spec}: a model file ends in .json, .toml or .POMDP.")
    options: dict[str, Any] = {}
    for option, text in read_options(named["options"] or "", tuple(OPTIONS), spec).items():
        read, kind = OPTIONS[option]
        try:
            options[option] = read(text)
        except (ValueError, KeyError):
            raise ParameterError(f"{spec}: option {option}: {text!r} is not {kind}.") from None
    return load_model(Path(folder) / named["file"], **options)


def read_options(text: str, known: tuple[str, ...], place: str) -> dict[str, str]:
    """The options of a model, as they stand after its name: discount=0.9,start=good."""
    options: dict[str, str] = {}
    for item in filter(None, text.split(",")):
        option, _, value = item.partition("=")
        if option not in known:
            raise ParameterError(f"{place}: {not_one_of('option', option, known or ('(none)',))}")
        if option in options:
            raise ParameterError(f"{place}: option {option} is given twice.")
        options[option] = value
    return options


def model_from_document(document: Any, source: str = "model") -> Pomdp:
    """A model from its document."""
    with nesting(source, MODEL):
        document = checked(document, dict, source, ModelError)
        check_format(document, source, MODEL)
        check_keys(document, MODEL.keys, source, MODEL)
        for key in _NEEDED:
            if key not in document:
                raise ModelError(f"{source}: has no {key!r}.")
        with at(source, ModelError):
            return _model(document, source)


def _model(document: Mapping[str, Any], source: str) -> Pomdp:
    numbers: dict[str, dict[str, int]] = {}
    for kind in ("state", "action", "observation"):
        listed = checked(document[f"{kind}s"], list, f"{kind}s", ModelError)
        numbers[kind] = {n: i for i, n in enumerate(check_names(kind, listed, ModelError))}
    S, A, O = map(len, numbers.values())
    first = checked(document.get("first_observation", {}), dict, "first_observation", ModelError)
    law = np.zeros((S, O))
    for state, row in first.items():
        s = lookup("state", state, numbers["state"], "first_observation", ModelError)
        law[s] = _law(row, "observation", numbers, f"first_observation of {state!r}")
    outcomes = []
    for i, item in enumerate(checked(document["outcomes"], list, "outcomes", ModelError)):
        outcomes += _outcomes(item, f"outcome {i + 1}", numbers, A)
    outcomes.sort(key=lambda outcome: outcome[0])
    columns = [np.array(column) for column in zip(*outcomes, strict=True)] or [np.zeros(0)] * 5
    limit = document.get("max_steps")
    return Pomdp(
        name=checked(document.get("name", source), str, "name", ModelError),
        states=tuple(numbers["state"]),
        actions=tuple(numbers["action"]),
        observations=tuple(numbers["observation"]),
        start=_law(document["start"], "state", numbers, "start"),
        first_observation=law,
        pointer=np.searchsorted(columns[0], np.arange(S * A + 1)),
        probability=columns[1],
        next_state=columns[2],
        next_observation=columns[3],
        reward=columns[4],
        discount=number(document["discount"], "discount", ModelError),
        max_steps=None if limit is None else whole(limit, "max_steps", ModelError, least=1),
    )


def _law(value: Any, kind: str, numbers: Mapping[str, Mapping[str, int]], place: str) -> Floats:
    """A distribution: one name, or names with probabilities."""
    law = np.zeros(len(numbers[kind]))
    if isinstance(value, str):
        law[lookup(kind, value, numbers[kind], place, ModelError)] = 1.0
        return law
    for name, p in checked(value, dict, place, ModelError).items():
        law[lookup(kind, name, numbers[kind], place, ModelError)] = number(p, place, ModelError)
    return law


def _outcomes(
    item: Any, place: str, numbers: Mapping[str, Mapping[str, int]], A: int
) -> list[tuple[int, float, int, int, float]]:
    """(pair, probability, next state, next observation, reward) for everything that may be seen."""
    item = checked(item, dict, place, ModelError)
    check_keys(item, _OUTCOME_KEYS, place, MODEL)
    for key in ("state", "action"):
        if key not in item:
            raise ModelError(f"{place}: names no {key}.")
    s = lookup("state", item["state"], numbers["state"], place, ModelError)
    a = lookup("action", item["action"], numbers["action"], place, ModelError)
    p = number(item.get("probability", 1.0), f"{place}, probability", ModelError)
    r = number(item.get("reward", 0.0), f"{place}, reward", ModelError)
    ends = checked(item.get("ends", False), bool, f"{place}, ends", ModelError)
    if ends == ("to" in item) or ends == ("see" in item):
        raise ModelError(f"{place}: give either ends = true, or both 'to' and 'see'.")
    if ends:
        return [(s * A + a, p, END, END, r)]
    t = lookup("state", item["to"], numbers["state"], place, ModelError)
    seen = _law(item["see"], "observation", numbers, f"{place}, see")
    return [(s * A + a, p * seen[z], t, int(z), r) for z in np.flatnonzero(seen)]


def model_to_document(pomdp: Pomdp) -> dict[str, Any]:
    """The document of a model, with every outcome written out."""
    A = len(pomdp.actions)
    outcomes = []
    for k, pair in enumerate(pomdp.pair_of_outcome.tolist()):
        item: dict[str, Any] = {
            "state": pomdp.states[pair // A],
            "action": pomdp.actions[pair % A],
            "probability": float(pomdp.probability[k]),
            "reward": float(pomdp.reward[k]),
        }
        if pomdp.next_state[k] == END:
            item["ends"] = True
        else:
            item["to"] = pomdp.states[pomdp.next_state[k]]
            item["see"] = pomdp.observations[pomdp.next_observation[k]]
        outcomes.append(item)
    return {
        "format": MODEL.tag,
        "name": pomdp.name,
        "discount": pomdp.discount,
        **({} if pomdp.max_steps is None else {"max_steps": pomdp.max_steps}),
        "states": list(pomdp.states),
        "actions": list(pomdp.actions),
        "observations": list(pomdp.observations),
        "start": _named(pomdp.start, pomdp.states),
        "first_observation": {
            state: _named(law, pomdp.observations)
            for state, law in zip(pomdp.states, pomdp.first_observation, strict=True)
            if law.any()
        },
        "outcomes": outcomes,
    }


def _named(law: Any, names: tuple[str, ...]) -> dict[str, float]:
    return {name: float(p) for name, p in zip(names, law, strict=True) if p != 0}


def model_hash(pomdp: Pomdp) -> str:
    """Changes with anything in the model."""
    return hashlib.sha256(json.dumps(model_to_document(pomdp)).encode()).hexdigest()
