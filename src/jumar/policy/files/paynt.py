"""PAYNT's finite-state controllers as JSON: `action_function[n][z]` is an action or a distribution,
`update_function[n][z]` the next node, whatever was done.

A controller of ours can be written so if the node after ⟨n, z⟩ is the same for all actions that may
be taken there. Reading needs names: the labels in the file, or those of a model. A model that
jumar exported has two more observations behind its own, one at the start and one at the end; the
node after the one at the start is where the controller begins.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jumar.core.documents import checked, is_number, show, whole
from jumar.core.errors import ControllerError
from jumar.core.names import words_for
from jumar.core.text import listing
from jumar.policy.chances import SUM_TOLERANCE
from jumar.policy.controller import Controller
from jumar.policy.files.machines import Named, check_machine, from_machine, listed
from jumar.policy.files.nodes import Alphabet

MARK = "action_function"  # only their documents have it
_ADDED = 2  # observations of a model that jumar exported: at the start, and at the end


def is_paynt(document: Any) -> bool:
    """Is this one of PAYNT's documents, and none of ours?"""
    return isinstance(document, dict) and MARK in document and "format" not in document


def paynt_text(controller: Controller) -> str:
    """The text of a PAYNT file.

    >>> from jumar.memory import window
    >>> keep = Controller.constant(("good", "worn"), ("keep", "repair"), [1, 0], window(2))
    >>> json.loads(paynt_text(keep))["update_function"]
    [[1, 2], [1, 2], [1, 2]]
    """
    nodes = listed(controller, "PAYNT")
    M, O, _ = nodes.rows.shape
    actions: list[list[Any]] = []
    updates: list[list[int]] = []
    for n in range(M):
        actions.append([])
        updates.append([])
        for z in range(O):
            may = np.flatnonzero(nodes.possible[n, z]).tolist()
            to = sorted({int(nodes.moves[n, z, a]) for a in may})
            if len(to) > 1:
                raise ControllerError(
                    f"{controller.name}: on seeing {controller.observations[z]!r} at node {n}, the "
                    f"next node depends on which of {listing(controller.actions[a] for a in may)} "
                    "is done. PAYNT's controllers move by what is seen alone. Use a memory without "
                    "actions, or rules that choose one action."
                )
            row = {str(a): float(nodes.rows[n, z, a]) for a in may}
            actions[-1].append(may[0] if len(may) == 1 else row)
            updates[-1].append(to[0])
    rows = ",\n".join(
        f" {json.dumps(key)}: [\n" + ",\n".join(f"  {json.dumps(row)}" for row in table) + "\n ]"
        for key, table in ((MARK, actions), ("update_function", updates))
    )
    head = {
        "num_nodes": M,
        "num_observations": O,
        "action_labels": list(controller.actions),
        "observation_labels": list(controller.observations),
    }
    lines = "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items())
    return f"{{\n{lines}{rows}\n}}\n"


def from_paynt(
    document: Mapping[str, Any], place: str, name: str, names: Named | None = None
) -> Controller:
    """The controller of a PAYNT document."""
    M = _size(document, "num_nodes", place)
    n_seen = _size(document, "num_observations", place)
    labels = {key: _labels(document, key, place) for key in ("observation", "action")}
    if names is None:
        if not labels["observation"] or not labels["action"]:
            raise ControllerError(
                f"{place}: it has no labels, so that observations and actions have no names. Give "
                "the model it is for."
            )
        names = Alphabet(labels["observation"], labels["action"])
    O, A = len(names.observations), len(names.actions)
    if n_seen not in (O, O + _ADDED):
        raise ControllerError(
            f"{place}: it has {n_seen} observations, but there are names for {O}: "
            f"{listing(names.observations)}."
        )
    number = _action_numbers(labels["action"], names, place)
    doing = _table(document, MARK, M, n_seen, place)
    going = _table(document, "update_function", M, n_seen, place)
    check_machine(place, M, O, A)
    rows, update = np.zeros((M, O, A)), np.zeros((M, O), np.int64)
    for n in range(M):
        for z in range(O):
            where = f"{place}: node {n}, observation {names.observations[z]!r}"
            source = n if doing[n][z] is not None else 0  # what is left out is as at node 0
            if doing[source][z] is None:
                raise ControllerError(f"{where}: there is no action. Add one.")
            rows[n, z] = _row(doing[source][z], where, number, A)
            update[n, z] = _node(going[source][z], f"{where}, update", M)
    start = 0 if n_seen == O else _node(going[0][O], f"{place}: node 0 at the start", M)
    return from_machine(names, rows, update, start, [f"node {n}" for n in range(M)], name)


def _size(document: Mapping[str, Any], key: str, place: str) -> int:
    if key not in document:
        raise ControllerError(f"{place}: there is no {key!r}.")
    return whole(document[key], f"{place}, {key}", ControllerError, least=1)


def _labels(document: Mapping[str, Any], kind: str, place: str) -> tuple[str, ...]:
    where = f"{place}, {kind}_labels"
    found = checked(document.get(f"{kind}_labels") or [], list, where, ControllerError)
    return tuple(checked(label, str, where, ControllerError) for label in found)


def _action_numbers(labels: Sequence[str], names: Named, place: str) -> dict[int, int]:
    """From the numbers of the file to ours: by label where all of ours have one, else as they
    are."""
    ours = {name: a for a, name in enumerate(names.actions)}
    ours = {word: a for a, word in enumerate(words_for(names.actions))} | ours
    if not labels:
        return {a: a for a in range(len(names.actions))}
    known = {i: ours[label] for i, label in enumerate(labels) if label in ours}
    if len(set(known.values())) < len(names.actions):
        raise ControllerError(
            f"{place}: its actions are {listing(labels)}, but those that have names are "
            f"{listing(names.actions)}. Give the model it is for."
        )
    return known


def _table(document: Mapping[str, Any], key: str, M: int, n_seen: int, place: str) -> list[Any]:
    where = f"{place}, {key}"
    if key not in document:
        raise ControllerError(f"{place}: there is no {key!r}.")
    rows = checked(document[key], list, where, ControllerError)
    if len(rows) != M or any(not isinstance(row, list) or len(row) != n_seen for row in rows):
        raise ControllerError(f"{where}: expected {M} lists (nodes) of {n_seen} (observations).")
    return rows


def _row(choice: Any, where: str, number: Mapping[int, int], A: int) -> Any:
    row = np.zeros(A)
    chances = choice.items() if isinstance(choice, dict) else [(choice, 1.0)]
    for key, p in chances:
        a = _action(key, where, number)
        if not is_number(p) or not 0 <= p <= 1 + SUM_TOLERANCE:
            raise ControllerError(f"{where}: {show(p)} is not a probability.")
        row[a] += p
    if abs(row.sum() - 1) > SUM_TOLERANCE:
        raise ControllerError(f"{where}: probabilities sum to {row.sum():.12g}, not 1.")
    return row


def _action(key: Any, where: str, number: Mapping[int, int]) -> int:
    try:
        wanted = int(key) if isinstance(key, str) else key
    except ValueError:
        wanted = None
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted not in number:
        raise ControllerError(f"{where}: {show(key)} is not the number of an action.")
    return number[wanted]


def _node(value: Any, where: str, M: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < M:
        raise ControllerError(f"{where}: {show(value)} is not a node from 0 to {M - 1}.")
    return value
