"""Between documents and controllers: alphabet, memory, nodes, rules, in both directions.

A node has three forms: as files write it, as fields (small whole numbers, `jumar.memory.forms`,
with `ANY` for a wildcard), and as words of the memory. A rule whose fields are all known is turned
into history states ⟨n, z⟩ at once with all others of its kind; only wildcards in a node make the
memory list its nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from jumar.core.arrays import Floats, Ints, RowIndex, number_rows
from jumar.core.documents import (
    at,
    check_format,
    check_keys,
    checked,
    is_number,
    kind_of,
    lookup,
    show,
)
from jumar.core.errors import ControllerError, TooLarge
from jumar.core.names import WILDCARD
from jumar.core.text import listing
from jumar.memory import ENUMERABLE, Memory, forms, history_states
from jumar.memory.forms import ANY
from jumar.policy.chances import SUM_TOLERANCE, without_exploration
from jumar.policy.controller import Controller
from jumar.policy.files.entries import CONTROLLER, Alphabet, Entry, fitting, read_memory, read_names

MOST_CELLS = 10_000_000  # of a listed memory: nodes × observations × actions
_RULE_KEYS = ("node", "observation", "action")


def read_controller(
    document: Any,
    place: str,
    name: str,
    outer: Alphabet | None = None,
    exploration: float | None = None,
) -> Controller:
    """The controller of a document, which lies within another when there is an `outer` alphabet.
    `exploration` is taken in place of what the document says."""
    document = checked(document, dict, place, ControllerError)
    if outer is None or "format" in document:
        check_format(document, place, CONTROLLER)
    check_keys(document, CONTROLLER.keys, place, CONTROLLER)
    names = _alphabet(document, place, outer)
    entry = Entry(document, place, names)
    name, estimated = entry.get("name", str, name), entry.get("estimated", bool, False)
    memory = read_memory(document.get("memory", {"window": 1}), f"{place}, memory", names)
    nodes = Nodes(memory, names)
    slips = _Exploration(document, place, exploration)
    fields, z, rows = _read_rules(entry, nodes)
    states, decided_by = _expand(fields, z, entry, nodes)
    otherwise: Controller | Floats
    if "otherwise" in document:
        if "default" in document:
            raise entry.error(
                "both 'default' and 'otherwise' say what to do where no rule fits. Remove one of "
                "them."
            )
        otherwise = read_controller(
            document["otherwise"], f"{place}, otherwise", name, names, exploration
        )
    elif "default" in document:
        otherwise = slips.on(_row(document["default"], f"{place}, default", names))
    else:
        _check_covered(states, place, nodes)
        otherwise = np.full(len(names.actions), 1 / len(names.actions))  # decides nothing
    with at(place, ControllerError):
        return Controller(
            names.observations,
            names.actions,
            memory,
            states,
            slips.on(rows)[decided_by],
            otherwise,
            name=name,
            estimated=estimated,
            exploration=slips.ε,
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
        names = read_names(kind, document[key], place) if key in document else inherited
        if outer and names != inherited:
            raise ControllerError(
                f"{place}: its {key} ({listing(names)}) differ from those of the controller "
                f"around it ({listing(inherited)}). Leave them out: they are taken over."
            )
        found.append(names)
    return Alphabet(*found)


class _Exploration:
    """How often any action is taken: what is to be added to the rows of a document."""

    def __init__(self, document: dict[str, Any], place: str, instead: float | None) -> None:
        added, self._contained = (
            share_explored(document.get(key, 0), f"{place}: {key}")
            for key in ("exploration", "explored")
        )
        if added and self._contained:
            raise ControllerError(
                f"{place}: both 'exploration' and 'explored' are given. Keep 'exploration' if it "
                "is to be added to the probabilities, 'explored' if they contain it already."
            )
        self._instead = instead is not None
        self._added = share_explored(instead, "--exploration") if self._instead else added
        self.ε = self._added if self._instead else added or self._contained

    def on(self, rows: Floats) -> Floats:
        """Rows of the document with exploration."""
        if self._instead:
            rows = without_exploration(rows, self._contained)
        # without exploration nothing is touched: what was saved must come back bit for bit
        ε = self._added
        return (1 - ε) * rows + ε / rows.shape[-1] if ε else rows


def share_explored(value: Any, place: str) -> float:
    """How often any action is taken, checked."""
    if not is_number(value) or not 0 <= value < 1:
        raise ControllerError(
            f"{place} {show(value)} is not a number from 0 up to, but not including, 1. Write 0.02 "
            "for 2 % of the time."
        )
    return float(value)


# ---- rules --------------------------------------------------------------------------------


Seen = list[Sequence[int]]  # per rule, the numbers of the observations it fits


def _read_rules(entry: Entry, nodes: Nodes) -> tuple[Ints, Seen, Floats]:
    """Per rule: the fields of its node, the observations it fits, its row."""
    names = nodes.names
    fields, rows = [], []
    observations: Seen = []
    for rule in entry.items("rules", "rule", _RULE_KEYS):
        if "action" not in rule:
            raise rule.error(f'has no action. Add action = "{names.actions[0]}".')
        fields.append(nodes.read(rule.document.get("node", WILDCARD), rule.place))
        seen = rule.document.get("observation", WILDCARD)
        observations.append(fitting("observation", seen, names.z, rule.place))
        rows.append(_row(rule.document["action"], rule.place, names, rule.document))
    n, A = len(rows), len(names.actions)
    table = np.array(fields, np.int64).reshape(n, nodes.n_fields)
    return table, observations, np.array(rows, np.float64).reshape(n, A)


def _row(choice: Any, place: str, names: Alphabet, rule: Mapping[str, Any] = {}) -> Floats:
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
        known = ", ".join(f"{key} {show(rule[key])}" for key in _RULE_KEYS[:2] if key in rule)
        where = f" ({known})" if known else ""
        raise ControllerError(
            f"{place}: probabilities sum to {row.sum():.12g}, not 1{where}. Write the row so that "
            "it sums to 1."
        )
    return row


def _expand(fields: Ints, z: Seen, entry: Entry, nodes: Nodes) -> tuple[Ints, Ints]:
    """The ⟨n, z⟩ that some rule fits, and the first rule that does."""
    place, rules = entry.place, entry.get("rules", list, [])
    exact = (fields != ANY).all(1)
    e = np.flatnonzero(exact)
    for i in e[~nodes.memory.possible(fields[e])][:1]:
        raise nodes.refused(rules[i]["node"], f"{place}, rule {i + 1}")
    times = np.array([len(z[i]) for i in e], np.int64)
    decided_by = np.repeat(e, times)
    seen = np.fromiter(chain.from_iterable(z[i] for i in e), np.int64, len(decided_by))
    states = np.column_stack([np.repeat(nodes.memory.from_fields(fields[e]), times, 0), seen])
    if not exact.all():
        states, decided_by = _with_wildcards(states, decided_by, fields, z, entry, nodes)
    order = np.argsort(decided_by, kind="stable")
    states, decided_by = states[order], decided_by[order]
    distinct, number = number_rows(states)
    first = np.empty(len(distinct), np.int64)
    first[number[::-1]] = np.arange(len(states) - 1, -1, -1)
    winner = decided_by[first]
    idle = np.ones(len(rules), np.bool_)
    idle[winner] = False
    for i in np.flatnonzero(idle)[:1]:
        raise entry.never("rule", int(i), np.unique(winner[number[decided_by == i]]))
    return distinct, winner


def _with_wildcards(
    states: Ints, decided_by: Ints, fields: Ints, z: Seen, entry: Entry, nodes: Nodes
) -> tuple[Ints, Ints]:
    """Add the ⟨n, z⟩ that rules with wildcards in the node fit to those of the exact rules."""
    place, rules = entry.place, entry.get("rules", list, [])
    wild = np.flatnonzero((fields == ANY).any(1))
    listed = nodes.listed(f"{place}, rule {wild[0] + 1}: fits many nodes")
    grid = nodes.memory.to_fields(listed)
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
        cells = np.ix_(fits, np.asarray(z[i]))
        block = first[cells]
        if (block < i).all():
            raise entry.never("rule", int(i), np.unique(block))
        first[cells] = np.minimum(block, i)
    n, seen_there = np.nonzero(first < free)
    more = np.column_stack([listed[n], seen_there])
    return np.concatenate([states, more]), np.concatenate([decided_by, first[n, seen_there]])


def _check_covered(states: Ints, place: str, nodes: Nodes) -> None:
    fact = f"{place}: there is neither 'default' nor 'otherwise'"
    listed = nodes.listed(fact)
    O = len(nodes.names.observations)
    everything = history_states(listed, O)
    for i in np.flatnonzero(RowIndex(states).find(everything) < 0)[:1]:
        node = nodes.memory.read_node(everything[i, :-1], *nodes.alphabet)
        seen = nodes.names.observations[everything[i, -1]]
        raise ControllerError(
            f"{fact}, and no rule fits node {node!r}, observation {seen!r}. "
            f'Add default = "{nodes.names.actions[0]}", or a rule that fits it.'
        )


# ---- nodes --------------------------------------------------------------------------------------


class Nodes:
    """Nodes of a memory, as files write them, as fields, and as words."""

    def __init__(self, memory: Memory, names: Alphabet) -> None:
        self.memory, self.names = memory, names
        self.alphabet = names.observations, names.actions
        self._form = memory.form(*self.alphabet)
        self.n_fields = forms.size(self._form)

    def read(self, node: Any, place: str) -> list[int]:
        """The fields of a node as it stands in a file, wildcards included."""
        if node == WILDCARD:
            return [ANY] * self.n_fields
        try:
            return forms.read(self._form, node)
        except (ControllerError, ValueError) as error:  # Python does not print very long numbers
            _check_node_text(node, place)
            raise self.memory.refused(f"{place}: {error}") from error

    def refused(self, node: Any, place: str) -> ControllerError:
        """The error for a node whose names are right, but which does not exist."""
        return self.memory.refused(f"{place}: node {show(node)} does not exist in a {self.memory}.")

    def write(self, words: Ints) -> list[Any]:
        """The nodes as they stand in a file."""
        return [forms.write(self._form, row) for row in self.memory.to_fields(words).tolist()]

    def listed(self, fact: str) -> Ints:
        """(M, W) every node that can be reached; an error that begins with `fact` if too many."""
        O, A = self.memory.alphabet
        most = min(ENUMERABLE, max(1, MOST_CELLS // (O * A)))
        try:
            if max(part.count_nodes() for part in self.memory.parts) > most:  # before any is made
                raise TooLarge
            return self.memory.enumerate(most)
        except TooLarge as error:
            raise ControllerError(
                f"{fact}, but a {self.memory} has more than {most} nodes, too many to list. "
                "Write the nodes out, use a smaller memory, or put the rule into an 'otherwise' "
                "controller with a smaller memory."
            ) from error


def _check_node_text(node: Any, place: str) -> None:
    if isinstance(node, list):
        for item in node:
            _check_node_text(item, place)
    elif not isinstance(node, str):
        raise ControllerError(
            f"{place}: the node holds {kind_of(node)}. Write nodes as names in quotes and lists of "
            "them."
        )


# ---- writing ------------------------------------------------------------------------------------


def write_document(controller: Controller, nested: bool = False) -> dict[str, Any]:
    """The document of a controller; nested, it takes format and names over from the one around."""
    names = Alphabet(controller.observations, controller.actions)
    nodes = Nodes(controller.memory, names)
    document: dict[str, Any] = {} if nested else {"format": CONTROLLER.tag}
    document["name"] = controller.name
    if not nested:
        if controller.estimated:  # what lies within is part of a rule, and made no log
            document["estimated"] = True
        document["observations"] = list(names.observations)
        document["actions"] = list(names.actions)
    document["memory"] = controller.memory.to_document(*nodes.alphabet)
    if controller.exploration:  # the rows contain it: as "exploration" it would be added again
        document["explored"] = controller.exploration
    if not isinstance(controller.otherwise, Controller):
        document["default"] = _choice(controller.otherwise.tolist(), names)
    rules = [
        {"observation": names.observations[z], "action": _choice(row, names)}
        for z, row in zip(controller.states[:, -1], controller.rows.tolist(), strict=True)
    ]
    if nodes.n_fields:  # else there is only one node, and nothing to say about it
        written = nodes.write(controller.states[:, :-1])
        rules = [{"node": node, **rule} for node, rule in zip(written, rules, strict=True)]
    document["rules"] = rules
    if isinstance(controller.otherwise, Controller):
        document["otherwise"] = write_document(controller.otherwise, nested=True)
    return document


def _choice(row: list[float], names: Alphabet) -> str | dict[str, float]:
    chosen = {name: p for name, p in zip(names.actions, row, strict=True) if p > 0}
    return next(iter(chosen)) if list(chosen.values()) == [1.0] else chosen
