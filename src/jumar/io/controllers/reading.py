"""From a document to the controller it describes: alphabet, memory, rules.

A rule whose fields are all known is turned into history states ⟨n, z⟩ at once with all others of
its kind; only wildcards in a node make the memory list its nodes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jumar.core.arrays import Floats, Ints, RowIndex, number_rows
from jumar.core.controller import SUM_TOLERANCE, Controller
from jumar.core.errors import ControllerError
from jumar.core.memory import LONGEST_WINDOW, Memory, Product, Table, Window
from jumar.core.names import WILDCARD, check_names
from jumar.core.text import listing
from jumar.io.controllers.nodes import ANY, Alphabet, Nodes
from jumar.io.documents import (
    Format,
    at,
    check_format,
    check_keys,
    checked,
    is_number,
    kind_of,
    lookup,
    show,
)

CONTROLLER = Format(
    "controller",
    1,
    ControllerError,
    keys=(
        "format",
        "name",
        "observations",
        "actions",
        "memory",
        "exploration",
        "default",
        "rules",
        "otherwise",
    ),
    numbers="Probabilities lie between 0 and 1.",
    shallower="Nest fewer 'otherwise' documents, products or lists.",
)
MOST_MOVES = 100_000_000  # of a memory table: nodes × observations × actions

_RULE_KEYS = ("node", "observation", "action")
_MOVE_KEYS = ("node", "observation", "action", "to")
_MEMORY_KEYS = {  # what goes with which kind of memory
    "nodes": ("nodes", "start", "moves"),
    "window": ("window", "actions"),
    "product": ("product",),
}


def read_controller(
    document: Any, place: str, name: str, outer: Alphabet | None = None
) -> Controller:
    """The controller of a document, which lies within another when there is an `outer` alphabet."""
    document = checked(document, dict, place, ControllerError)
    if outer is None or "format" in document:
        check_format(document, place, CONTROLLER)
    check_keys(document, CONTROLLER.keys, place, CONTROLLER)
    names = _alphabet(document, place, outer)
    name = checked(document.get("name", name), str, f"{place}, name", ControllerError)
    memory = _memory(document.get("memory", {"window": 1}), f"{place}, memory", names)
    nodes = Nodes(memory, names)
    ε = _exploration(document.get("exploration", 0), place)
    rules = checked(document.get("rules", []), list, f"{place}, rules", ControllerError)

    fields, z, rows = _read_rules(rules, place, nodes)
    states, decided_by = _expand(fields, z, rules, place, nodes)
    otherwise: Controller | Floats
    if "otherwise" in document:
        if "default" in document:
            raise ControllerError(
                f"{place}: both 'default' and 'otherwise' say what to do where no rule fits. "
                "Remove one of them."
            )
        otherwise = read_controller(document["otherwise"], f"{place}, otherwise", name, names)
    elif "default" in document:
        otherwise = _explore(_row(document["default"], f"{place}, default", names), ε)
    else:
        _check_covered(states, place, nodes)
        otherwise = np.full(len(names.actions), 1 / len(names.actions))  # decides nothing
    with at(place, ControllerError):
        return Controller(
            names.observations,
            names.actions,
            memory,
            states,
            _explore(rows, ε)[decided_by],
            otherwise,
            name=name,
        )


def _alphabet(document: dict[str, Any], place: str, outer: Alphabet | None) -> Alphabet:
    found: list[tuple[str, ...]] = []
    for kind in ("observation", "action"):
        key = f"{kind}s"
        inherited: tuple[str, ...] = getattr(outer, key) if outer else ()
        if key not in document and not outer:
            raise ControllerError(
                f'{place}: there are no \'{key}\'. List their names: {key} = ["...", "..."].'
            )
        names = _names(kind, document[key], place) if key in document else inherited
        if outer and names != inherited:
            raise ControllerError(
                f"{place}: its {key} ({listing(names)}) differ from those of the controller "
                f"around it ({listing(inherited)}). Leave them out: they are taken over."
            )
        found.append(names)
    return Alphabet(*found)


def _exploration(value: Any, place: str) -> float:
    if not is_number(value) or not 0 <= value < 1:
        raise ControllerError(
            f"{place}: exploration {show(value)} is not a number from 0 up to, but not "
            "including, 1. Write 0.02 for 2 % of the time."
        )
    return float(value)


def _explore(rows: Floats, ε: float) -> Floats:
    # without exploration nothing is touched: what was saved must come back bit for bit
    return (1 - ε) * rows + ε / rows.shape[-1] if ε else rows


# ---- memory -------------------------------------------------------------------------------


def _memory(document: Any, place: str, names: Alphabet) -> Memory:
    document = checked(document, dict, place, ControllerError)
    check_keys(document, [key for keys in _MEMORY_KEYS.values() for key in keys], place, CONTROLLER)
    kinds = [kind for kind in _MEMORY_KEYS if kind in document]
    if len(kinds) != 1:
        raise ControllerError(
            f"{place}: {' and '.join(kinds) or 'none'} of nodes, window, product given. Write "
            "exactly one: nodes = [...] with moves, window = 3, or product = [...]."
        )
    check_keys(document, _MEMORY_KEYS[kinds[0]], place, CONTROLLER)
    memory: Memory
    if kinds[0] == "nodes":
        memory = _table(document, place, names)
    elif kinds[0] == "window":
        actions = checked(
            document.get("actions", False), bool, f"{place}, actions", ControllerError
        )
        memory = Window(_window_length(document["window"], place), actions)
    else:
        parts = checked(document["product"], list, f"{place}, product", ControllerError)
        if not parts:
            raise ControllerError(f"{place}: the product is empty. List at least one memory.")
        memory = Product(
            tuple(_memory(part, f"{place}, part {i}", names) for i, part in enumerate(parts, 1))
        )
    return memory.on(len(names.observations), len(names.actions))


def _window_length(value: Any, place: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LONGEST_WINDOW:
        raise ControllerError(
            f"{place}: window {show(value)} is not a whole number from 1 (only the current "
            f"observation) to {LONGEST_WINDOW}."
        )
    return value


def _table(document: dict[str, Any], place: str, names: Alphabet) -> Table:
    nodes = _names("node", document["nodes"], place)
    number = {node: i for i, node in enumerate(nodes)}
    start = lookup(
        "node", document.get("start", nodes[0]), number, f"{place}, start", ControllerError
    )
    moves = checked(document.get("moves", []), list, f"{place}, moves", ControllerError)
    shape = len(nodes), len(names.observations), len(names.actions)
    if math.prod(shape) > MOST_MOVES:
        raise ControllerError(
            f"{place}: {shape[0]} nodes, {shape[1]} observations and {shape[2]} actions make "
            f"more than {MOST_MOVES} moves. Use fewer nodes, or a window."
        )
    decided_by = np.full(shape, -1, np.int32)
    to = np.zeros(len(moves), np.int64)
    numbers = (number, names.z, names.a)
    for i, move in enumerate(moves):
        here = f"{place}, move {i + 1}"
        move = checked(move, dict, here, ControllerError)
        check_keys(move, _MOVE_KEYS, here, CONTROLLER)
        if "to" not in move:
            raise ControllerError(f'{here}: does not say where to go. Add to = "{nodes[0]}".')
        to[i] = lookup("node", move["to"], number, here, ControllerError)
        where = []
        for key, known in zip(_MOVE_KEYS[:3], numbers, strict=True):
            j = _lookup_or_any(key, move.get(key, WILDCARD), known, here)
            where.append(slice(None) if j == ANY else slice(j, j + 1))
        block = decided_by[tuple(where)]  # a view
        if (block >= 0).all():
            raise _never("move", i, np.unique(block), place)
        block[block < 0] = i
    for n, z, a in np.argwhere(decided_by < 0)[:1]:
        raise ControllerError(
            f"{place}: no move fits node {nodes[n]!r}, observation {names.observations[z]!r}, "
            f"action {names.actions[a]!r}. Add one at the end, such as "
            f'{{ node = "{nodes[n]}", to = "{nodes[n]}" }}.'
        )
    return Table(nodes, to[decided_by], start)


# ---- rules --------------------------------------------------------------------------------


def _read_rules(rules: list[Any], place: str, nodes: Nodes) -> tuple[Ints, Ints, Floats]:
    """Per rule: the fields of its node, its observation (-1 fits all), its row."""
    names = nodes.names
    fields, observations = [], []
    rows = np.zeros((len(rules), len(names.actions)))
    for i, rule in enumerate(rules):
        here = f"{place}, rule {i + 1}"
        rule = checked(rule, dict, here, ControllerError)
        check_keys(rule, _RULE_KEYS, here, CONTROLLER)
        if "action" not in rule:
            raise ControllerError(f'{here}: has no action. Add action = "{names.actions[0]}".')
        fields.append(nodes.read(rule.get("node", WILDCARD), here))
        seen = rule.get("observation", WILDCARD)
        observations.append(_lookup_or_any("observation", seen, names.z, here))
        rows[i] = _row(rule["action"], here, names, rule)
    table = np.array(fields, np.int64).reshape(len(rules), nodes.n_fields)
    return table, np.array(observations, np.int64), rows


def _row(choice: Any, place: str, names: Alphabet, rule: dict[str, Any] | None = None) -> Floats:
    row = np.zeros(len(names.actions))
    if isinstance(choice, str):
        row[lookup("action", choice, names.a, place, ControllerError)] = 1
        return row
    if not isinstance(choice, dict):
        raise ControllerError(
            f"{place}: the action is {kind_of(choice)}. Write the name of an action, or "
            f'probabilities such as {{ "{names.actions[0]}" = 1.0 }}.'
        )
    for name, p in choice.items():
        a = lookup("action", name, names.a, place, ControllerError)
        if not is_number(p) or not 0 <= p <= 1 + SUM_TOLERANCE:
            raise ControllerError(
                f"{place}: {show(p)} for action {name!r} is not a probability. Write a number "
                "from 0 to 1."
            )
        row[a] = p
    if abs(row.sum() - 1) > SUM_TOLERANCE:
        known = [f"{key} {show(rule[key])}" for key in _RULE_KEYS[:2] if rule and key in rule]
        raise ControllerError(
            f"{place}: probabilities sum to {row.sum():.12g}, not 1"
            f"{' (' * bool(known)}{', '.join(known)}{')' * bool(known)}. "
            "Write the row so that it sums to 1."
        )
    return row


def _expand(fields: Ints, z: Ints, rules: list[Any], place: str, nodes: Nodes) -> tuple[Ints, Ints]:
    """The ⟨n, z⟩ that some rule fits, and the first rule that does."""
    O = len(nodes.names.observations)
    exact = (fields != ANY).all(1)
    for i in np.flatnonzero(exact & ~nodes.possible(fields))[:1]:
        raise nodes.refused(rules[i]["node"], f"{place}, rule {i + 1}")
    e = np.flatnonzero(exact)
    times = np.where(z[e] == ANY, O, 1)
    decided_by = np.repeat(e, times)
    nth = np.arange(len(decided_by)) - np.repeat(np.cumsum(times) - times, times)
    seen = np.where(z[decided_by] == ANY, nth, z[decided_by])
    states = np.column_stack([np.repeat(nodes.words(fields[e]), times, 0), seen])
    if not exact.all():
        states, decided_by = _with_wildcards(states, decided_by, fields, z, rules, place, nodes)
    order = np.argsort(decided_by, kind="stable")
    states, decided_by = states[order], decided_by[order]
    distinct, number = number_rows(states)
    first = np.empty(len(distinct), np.int64)
    first[number[::-1]] = np.arange(len(states) - 1, -1, -1)
    winner = decided_by[first]
    idle = np.ones(len(rules), np.bool_)
    idle[winner] = False
    for i in np.flatnonzero(idle)[:1]:
        raise _never("rule", int(i), np.unique(winner[number[decided_by == i]]), place)
    return distinct, winner


def _with_wildcards(
    states: Ints,
    decided_by: Ints,
    fields: Ints,
    z: Ints,
    rules: list[Any],
    place: str,
    nodes: Nodes,
) -> tuple[Ints, Ints]:
    """Add the ⟨n, z⟩ that rules with wildcards in the node fit to those of the exact rules."""
    wild = np.flatnonzero((fields == ANY).any(1))
    listed = nodes.listed(f"{place}, rule {wild[0] + 1}: fits many nodes")
    grid = nodes.fields(listed)
    free = len(rules)
    first = np.full((len(listed), len(nodes.names.observations)), free)  # the first rule that fits
    at = RowIndex(listed).find(states[:, :-1])
    np.minimum.at(first, (at[at >= 0], states[at >= 0, -1]), decided_by[at >= 0])
    for i in wild:
        known = fields[i] != ANY
        fits = np.flatnonzero((grid[:, known] == fields[i, known]).all(1))
        if len(fits) == 0:
            raise ControllerError(
                f"{place}, rule {i + 1}: node {show(rules[i]['node'])} fits nothing that can "
                "ever be remembered. Correct the node, or remove the rule."
            )
        seen = slice(None) if z[i] == ANY else slice(z[i], z[i] + 1)
        block = first[fits, seen]
        if (block < i).all():
            raise _never("rule", int(i), np.unique(block), place)
        first[fits, seen] = np.minimum(block, i)
    n, seen_there = np.nonzero(first < free)
    more = np.column_stack([listed[n], seen_there])
    return np.concatenate([states, more]), np.concatenate([decided_by, first[n, seen_there]])


def _never(kind: str, i: int, rivals: Ints, place: str) -> ControllerError:
    if len(rivals) == 1:
        by = f"{kind} {rivals[0] + 1} comes first and fits everything it fits"
    else:
        by = f"earlier {kind}s, {listing([str(j + 1) for j in rivals], 5)}, fit everything it fits"
    return ControllerError(
        f"{place}, {kind} {i + 1}: can never apply, because {by}. Remove it, or move it up."
    )


def _check_covered(states: Ints, place: str, nodes: Nodes) -> None:
    fact = f"{place}: there is neither 'default' nor 'otherwise'"
    listed = nodes.listed(fact)
    O = len(nodes.names.observations)
    everything = np.column_stack([np.repeat(listed, O, 0), np.tile(np.arange(O), len(listed))])
    for i in np.flatnonzero(RowIndex(states).find(everything) < 0)[:1]:
        node = nodes.memory.read_node(everything[i, :-1].tolist(), *nodes.alphabet)
        seen = nodes.names.observations[everything[i, -1]]
        raise ControllerError(
            f"{fact}, and no rule fits node {node!r}, observation {seen!r}. "
            f'Add default = "{nodes.names.actions[0]}", or a rule that fits it.'
        )


def _names(kind: str, value: Any, place: str) -> tuple[str, ...]:
    for i, name in enumerate(checked(value, list, f"{place}, {kind}s", ControllerError), 1):
        checked(name, str, f"{place}, {kind} {i}", ControllerError)
        if not name.isascii() and any("\ud800" <= c <= "\udfff" for c in name):
            raise ControllerError(
                f"{place}, {kind} {i}: {name!r} has half a character (a lone surrogate). "
                "Correct the name."
            )
    with at(place, ControllerError):
        return check_names(kind, value, ControllerError)


def _lookup_or_any(kind: str, name: Any, numbers: dict[str, int], place: str) -> int:
    if isinstance(name, str) and name == WILDCARD:
        return ANY
    return lookup(kind, name, numbers, place, ControllerError)
