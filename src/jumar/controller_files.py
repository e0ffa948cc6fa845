"""Controllers as files: one document, written by people as TOML or JSON, by jumar as JSON.

A document lists the alphabets, the memory and rules; the first rule that fits ⟨n, z⟩ gives the
row ψ(· | n, z), and where none fits, ``default`` or a nested ``otherwise`` controller does. With
exploration ε every row of its own becomes (1-ε)·row + ε/|A|. What jumar writes it reads back bit
for bit: floats stand as their shortest exact decimal and nothing is renormalised.

Nodes are read as rows of small integers, *fields* (-1 is the wildcard): one per remembered
observation or action, one per named node. A rule whose fields are all known is turned into node
words at once with all others of its kind; only wildcards make the memory list its nodes.
"""

from __future__ import annotations

import json
import math
import os
import re
import tomllib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from jumar.arrays import Bools, Floats, Ints, RowIndex, number_rows
from jumar.controller import SUM_TOLERANCE, Controller
from jumar.errors import ControllerError, JumarError, TooLarge, listing, not_one_of
from jumar.files import write_atomically
from jumar.memory import ENUMERABLE, Memory, Product, Table, Window
from jumar.names import NOTHING, WILDCARD, check_names

FORMAT = "jumar-controller/1"
LONGEST_WINDOW = 1_000
MOST_CELLS = 10_000_000  # of a listed memory: nodes × observations × actions
MOST_MOVES = 100_000_000  # of a memory table: nodes × observations × actions

_ANY = -1  # the wildcard among fields and observations

_NAMING_KEYS = ("format", "name", "observations", "actions")
_KEYS = (*_NAMING_KEYS, "memory", "exploration", "default", "rules", "otherwise")
_RULE_KEYS = ("node", "observation", "action")
_MOVE_KEYS = ("node", "observation", "action", "to")
_MEMORY_KEYS = {  # what goes with which kind of memory
    "nodes": ("nodes", "start", "moves"),
    "window": ("window", "actions"),
    "product": ("product",),
}


# ---- the public functions -----------------------------------------------------------------


def load_controller(path: str | os.PathLike[str]) -> Controller:
    """Read a controller from a TOML or JSON file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "behavior.toml")
    ...     _ = file.write_text('''
    ...         format = "jumar-controller/1"
    ...         observations = ["good", "worn"]
    ...         actions = ["keep", "repair"]
    ...         default = "keep"
    ...         rules = [{ observation = "worn", action = { keep = 0.25, repair = 0.75 } }]
    ...     ''')
    ...     load_controller(file).row([], "worn").tolist()
    [0.25, 0.75]
    """
    source = str(os.fspath(path))
    return controller_from_document(_parse(_read_text(source), source), source)


def save_controller(controller: Controller, path: str | os.PathLike[str]) -> None:
    """Write a JSON file, whole or not at all, that `load_controller` reads back exactly.

    >>> import tempfile
    >>> uniform = Controller.uniform(("good", "worn"), ("keep", "repair"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_controller(uniform, Path(folder, "uniform.json"))
    ...     load_controller(Path(folder, "uniform.json")).same_as(uniform)
    True
    """
    if Path(path).suffix.lower() != ".json":
        raise ControllerError(
            f"{path}: controllers are written as JSON, but the name does not end in .json. "
            f"Use '{Path(path).stem or 'controller'}.json'."
        )
    with _nesting(controller.name):
        text = _layout(controller_to_document(controller)) + "\n"
    write_atomically(path, text)


def controller_from_document(document: dict[str, Any], source: str = "controller") -> Controller:
    """The controller a document describes; `source` is what error messages call the document.

    >>> keep = {"format": "jumar-controller/1", "observations": ["good", "worn"],
    ...         "actions": ["keep", "repair"], "exploration": 0.5, "default": "keep"}
    >>> controller_from_document(keep).row([], "good").tolist()
    [0.75, 0.25]
    """
    with _nesting(source):
        return _controller(document, source, None, Path(source).stem)


def controller_to_document(controller: Controller) -> dict[str, Any]:
    """The document of a controller, of nothing but lists, dicts, text and numbers.

    >>> keep = Controller.constant(("good", "worn"), ("keep", "repair"), [1, 0], name="keep")
    >>> document = controller_to_document(keep)
    >>> document["memory"], document["default"], document["rules"]
    ({'window': 1}, 'keep', [])
    """
    with _nesting(controller.name):
        return _document(controller, nested=False)


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of controller documents.

    >>> schema()["title"]
    'jumar controller, version 1'
    """
    text = resources.files("jumar").joinpath("schemas", "controller-1.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


# ---- from file to document ----------------------------------------------------------------


def _read_text(source: str) -> str:
    try:
        data = Path(source).read_bytes()
    except FileNotFoundError as error:
        raise ControllerError(f"{source}: there is no such file.{_neighbour(source)}") from error
    except IsADirectoryError as error:
        raise ControllerError(
            f"{source}: this is a directory. Give the path of a .toml or .json file in it."
        ) from error
    except (OSError, ValueError) as error:
        raise ControllerError(f"{source!r}: cannot be read ({error}). Check the path.") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ControllerError(
            f"{source}: not UTF-8 text (byte {error.start + 1} is 0x{data[error.start]:02x}). "
            "Save the file as UTF-8, or give the path of a controller file."
        ) from error
    if not text.strip():
        raise ControllerError(
            f'{source}: the file is empty. A controller begins with format = "{FORMAT}".'
        )
    return text


def _neighbour(source: str) -> str:
    path = Path(source)
    try:
        close = get_close_matches(path.name, os.listdir(path.parent), n=1)
    except OSError:
        return f" There is no directory '{path.parent}' either. Check the path."
    return f" Did you mean '{path.parent / close[0]}'?" if close else " Check the path."


def _parse(text: str, source: str) -> Any:
    suffix = Path(source).suffix.lower()
    if suffix not in (".json", ".toml"):
        suffix = ".json" if text.lstrip().startswith("{") else ".toml"
    with _nesting(source):
        return _parse_json(text, source) if suffix == ".json" else _parse_toml(text, source)


def _parse_json(text: str, source: str) -> Any:
    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ControllerError(
                f"{source}: the key {twice!r} stands twice in one object. Remove one of them."
            )
        return made

    try:
        return json.loads(text, object_pairs_hook=distinct)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        remedy = "The file seems to be cut off: write it again." if cut else "Correct it there."
        raise ControllerError(
            f"{source}, line {error.lineno}, column {error.colno}: not valid JSON: {error.msg}. "
            f"{remedy}"
        ) from error
    except ValueError as error:  # a whole number of thousands of digits
        raise ControllerError(
            f"{source}: a number has too many digits. Probabilities lie between 0 and 1."
        ) from error


def _parse_toml(text: str, source: str) -> Any:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        found = re.fullmatch(r"(.*) \(at (.*)\)", str(error), re.DOTALL)
        fact, where = found.groups() if found else (str(error), "")
        raise ControllerError(
            f"{source}{', ' * bool(where)}{where}: not valid TOML: {fact}. Correct it there; text "
            "stands in quotes, and so do keys with spaces or other special characters."
        ) from error


# ---- from document to controller ----------------------------------------------------------


@dataclass(frozen=True)
class _Alphabet:
    """The names, and the number of each."""

    observations: tuple[str, ...]
    actions: tuple[str, ...]

    @cached_property
    def z(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.observations)}

    @cached_property
    def a(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.actions)}


def _controller(document: Any, place: str, outer: _Alphabet | None, name: str) -> Controller:
    """The controller of a document, which lies within another when there is an `outer` one."""
    document = _checked(document, dict, place)
    _check_format(document, place, nested=outer is not None)
    _check_keys(document, _KEYS, place)
    names = _alphabet(document, place, outer)
    name = _checked(document.get("name", name), str, f"{place}, name")
    memory = _memory(document.get("memory", {"window": 1}), f"{place}, memory", names)
    nodes = _Nodes(memory, names)
    ε = _exploration(document.get("exploration", 0), place)
    rules = _checked(document.get("rules", []), list, f"{place}, rules")

    fields, z, rows = _read_rules(rules, place, nodes)
    states, decided_by = _expand(fields, z, rules, place, nodes)
    otherwise: Controller | Floats
    if "otherwise" in document:
        if "default" in document:
            raise ControllerError(
                f"{place}: both 'default' and 'otherwise' say what to do where no rule fits. "
                "Remove one of them."
            )
        otherwise = _controller(document["otherwise"], f"{place}, otherwise", names, name)
    elif "default" in document:
        otherwise = _explore(_row(document["default"], f"{place}, default", names), ε)
    else:
        _check_covered(states, place, nodes)
        otherwise = np.full(len(names.actions), 1 / len(names.actions))  # decides nothing
    with _at(place):
        return Controller(
            names.observations,
            names.actions,
            memory,
            states,
            _explore(rows, ε)[decided_by],
            otherwise,
            name=name,
        )


def _check_format(document: dict[str, Any], place: str, nested: bool) -> None:
    if "format" not in document:
        if nested:
            return
        close = get_close_matches("format", map(str, document), n=1)
        hint = f" Is {close[0]!r} meant to be it?" if close else ""
        raise ControllerError(
            f"{place}: there is no 'format'.{hint} Add format = \"{FORMAT}\" at the top "
            f'(in JSON: "format": "{FORMAT}").'
        )
    found = document["format"]
    if found == FORMAT:
        return
    version = re.fullmatch(r"jumar-controller/(\d{1,9})", found) if isinstance(found, str) else None
    if version and int(version[1]) > 1:
        raise ControllerError(
            f"{place}: the file is of a newer format version {int(version[1])}; this jumar reads "
            "version 1. Update jumar."
        )
    raise ControllerError(f"{place}: format {_show(found)} is not {FORMAT!r}. Correct it.")


def _alphabet(document: dict[str, Any], place: str, outer: _Alphabet | None) -> _Alphabet:
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
    return _Alphabet(*found)


def _exploration(value: Any, place: str) -> float:
    if not _is_number(value) or not 0 <= value < 1:
        raise ControllerError(
            f"{place}: exploration {_show(value)} is not a number from 0 up to, but not "
            "including, 1. Write 0.02 for 2 % of the time."
        )
    return float(value)


def _explore(rows: Floats, ε: float) -> Floats:
    # without exploration nothing is touched: what was saved must come back bit for bit
    return (1 - ε) * rows + ε / rows.shape[-1] if ε else rows


# ---- memory -------------------------------------------------------------------------------


def _memory(document: Any, place: str, names: _Alphabet) -> Memory:
    document = _checked(document, dict, place)
    _check_keys(document, [key for keys in _MEMORY_KEYS.values() for key in keys], place)
    kinds = [kind for kind in _MEMORY_KEYS if kind in document]
    if len(kinds) != 1:
        raise ControllerError(
            f"{place}: {' and '.join(kinds) or 'none'} of nodes, window, product given. Write "
            "exactly one: nodes = [...] with moves, window = 3, or product = [...]."
        )
    _check_keys(document, _MEMORY_KEYS[kinds[0]], place)
    memory: Memory
    if kinds[0] == "nodes":
        memory = _table(document, place, names)
    elif kinds[0] == "window":
        actions = _checked(document.get("actions", False), bool, f"{place}, actions")
        memory = Window(_window_length(document["window"], place), actions)
    else:
        parts = _checked(document["product"], list, f"{place}, product")
        if not parts:
            raise ControllerError(f"{place}: the product is empty. List at least one memory.")
        memory = Product(
            tuple(_memory(part, f"{place}, part {i}", names) for i, part in enumerate(parts, 1))
        )
    return memory.on(len(names.observations), len(names.actions))


def _window_length(value: Any, place: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LONGEST_WINDOW:
        raise ControllerError(
            f"{place}: window {_show(value)} is not a whole number from 1 (only the current "
            f"observation) to {LONGEST_WINDOW}."
        )
    return value


def _table(document: dict[str, Any], place: str, names: _Alphabet) -> Table:
    nodes = _names("node", document["nodes"], place)
    number = {node: i for i, node in enumerate(nodes)}
    start = _lookup("node", document.get("start", nodes[0]), number, f"{place}, start")
    moves = _checked(document.get("moves", []), list, f"{place}, moves")
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
        move = _checked(move, dict, here)
        _check_keys(move, _MOVE_KEYS, here)
        if "to" not in move:
            raise ControllerError(f'{here}: does not say where to go. Add to = "{nodes[0]}".')
        to[i] = _lookup("node", move["to"], number, here)
        where = []
        for key, known in zip(_MOVE_KEYS[:3], numbers, strict=True):
            j = _lookup(key, move.get(key, WILDCARD), known, here, wildcard=True)
            where.append(slice(None) if j == _ANY else slice(j, j + 1))
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


def _read_rules(rules: list[Any], place: str, nodes: _Nodes) -> tuple[Ints, Ints, Floats]:
    """Per rule: the fields of its node, its observation (-1 fits all), its row."""
    names = nodes.names
    fields, observations = [], []
    rows = np.zeros((len(rules), len(names.actions)))
    for i, rule in enumerate(rules):
        here = f"{place}, rule {i + 1}"
        rule = _checked(rule, dict, here)
        _check_keys(rule, _RULE_KEYS, here)
        if "action" not in rule:
            raise ControllerError(f'{here}: has no action. Add action = "{names.actions[0]}".')
        fields.append(nodes.read(rule.get("node", WILDCARD), here))
        seen = rule.get("observation", WILDCARD)
        observations.append(_lookup("observation", seen, names.z, here, wildcard=True))
        rows[i] = _row(rule["action"], here, names, rule)
    table = np.array(fields, np.int64).reshape(len(rules), nodes.n_fields)
    return table, np.array(observations, np.int64), rows


def _row(choice: Any, place: str, names: _Alphabet, rule: dict[str, Any] | None = None) -> Floats:
    row = np.zeros(len(names.actions))
    if isinstance(choice, str):
        row[_lookup("action", choice, names.a, place)] = 1
        return row
    if not isinstance(choice, dict):
        raise ControllerError(
            f"{place}: the action is {_kind(choice)}. Write the name of an action, or "
            f'probabilities such as {{ "{names.actions[0]}" = 1.0 }}.'
        )
    for name, p in choice.items():
        a = _lookup("action", name, names.a, place)
        if not _is_number(p) or not 0 <= p <= 1 + SUM_TOLERANCE:
            raise ControllerError(
                f"{place}: {_show(p)} for action {name!r} is not a probability. Write a number "
                "from 0 to 1."
            )
        row[a] = p
    if abs(row.sum() - 1) > SUM_TOLERANCE:
        known = [f"{key} {_show(rule[key])}" for key in _RULE_KEYS[:2] if rule and key in rule]
        raise ControllerError(
            f"{place}: probabilities sum to {row.sum():.12g}, not 1"
            f"{' (' * bool(known)}{', '.join(known)}{')' * bool(known)}. "
            "Write the row so that it sums to 1."
        )
    return row


def _expand(
    fields: Ints, z: Ints, rules: list[Any], place: str, nodes: _Nodes
) -> tuple[Ints, Ints]:
    """The ⟨n, z⟩ that some rule fits, and the first rule that does."""
    O = len(nodes.names.observations)
    exact = (fields != _ANY).all(1)
    for i in np.flatnonzero(exact & ~nodes.possible(fields))[:1]:
        raise nodes.refused(rules[i]["node"], f"{place}, rule {i + 1}")
    e = np.flatnonzero(exact)
    times = np.where(z[e] == _ANY, O, 1)
    decided_by = np.repeat(e, times)
    nth = np.arange(len(decided_by)) - np.repeat(np.cumsum(times) - times, times)
    seen = np.where(z[decided_by] == _ANY, nth, z[decided_by])
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
    nodes: _Nodes,
) -> tuple[Ints, Ints]:
    """Add the ⟨n, z⟩ that rules with wildcards in the node fit to those of the exact rules."""
    wild = np.flatnonzero((fields == _ANY).any(1))
    listed = nodes.listed(f"{place}, rule {wild[0] + 1}: fits many nodes")
    grid = nodes.fields(listed)
    free = len(rules)
    first = np.full((len(listed), len(nodes.names.observations)), free)  # the first rule that fits
    at = RowIndex(listed).find(states[:, :-1])
    np.minimum.at(first, (at[at >= 0], states[at >= 0, -1]), decided_by[at >= 0])
    for i in wild:
        known = fields[i] != _ANY
        fits = np.flatnonzero((grid[:, known] == fields[i, known]).all(1))
        if len(fits) == 0:
            raise ControllerError(
                f"{place}, rule {i + 1}: node {_show(rules[i]['node'])} fits nothing that can "
                "ever be remembered. Correct the node, or remove the rule."
            )
        seen = slice(None) if z[i] == _ANY else slice(z[i], z[i] + 1)
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


def _check_covered(states: Ints, place: str, nodes: _Nodes) -> None:
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


# ---- nodes --------------------------------------------------------------------------------


class _Nodes:
    """Nodes of a memory in three forms: as files write them, as fields, as words."""

    def __init__(self, memory: Memory, names: _Alphabet) -> None:
        self.memory, self.names = memory, names
        self.alphabet = names.observations, names.actions
        self._parts = [
            _WindowFields(part, names) if isinstance(part, Window) else _TableFields(part)
            for part in (memory.parts if isinstance(memory, Product) else (memory,))
        ]
        sizes = [part.size for part in self._parts]
        self.n_fields = sum(sizes)
        self._cuts = np.cumsum(sizes)[:-1]

    def read(self, node: Any, place: str) -> list[int]:
        """The fields of a node as it stands in a file, wildcards included."""
        if isinstance(node, str) and node == WILDCARD:
            return [_ANY] * self.n_fields
        try:
            if not isinstance(self.memory, Product):
                return self._parts[0].read(node)
            if isinstance(node, list) and len(node) == len(self._parts):
                pieces = zip(self._parts, node, strict=True)
                return [field for part, item in pieces for field in part.read(item)]
        except (KeyError, TypeError):
            pass
        raise self.refused(node, place)

    def refused(self, node: Any, place: str) -> ControllerError:
        """What is wrong with a node."""
        try:
            _check_node_text(node, place)
            # write_node has the words for it; wildcards, which it does not know, are not at fault
            tame = _without_wildcards(node, self.memory, self.names)
            self.memory.write_node(tame, *self.alphabet, f"{place}: ")
        except ControllerError as error:
            return error
        return ControllerError(f"{place}: {_show(node)} is no node of a {self.memory}.")

    def possible(self, fields: Ints) -> Bools:
        """(N,) whether these fields, all of them known, make a node."""
        pieces = zip(self._parts, np.split(fields, self._cuts, axis=1), strict=True)
        found: Bools = np.all([part.possible(piece) for part, piece in pieces], axis=0)
        return found

    def words(self, fields: Ints) -> Ints:
        """(N, W) the nodes with these fields, all of them known."""
        pieces = zip(self._parts, np.split(fields, self._cuts, axis=1), strict=True)
        return np.concatenate([part.words(piece) for part, piece in pieces], axis=1)

    def fields(self, words: Ints) -> Ints:
        """(N, F) the fields of nodes."""
        pieces = self.memory.split(words) if isinstance(self.memory, Product) else [words]
        both = zip(self._parts, pieces, strict=True)
        return np.concatenate([part.fields(piece) for part, piece in both], axis=1)

    def write(self, words: Ints, place: str) -> list[Any]:
        """The nodes as they stand in a file."""
        fields = self.fields(words)
        right = self.possible(fields) & (self.words(fields) == words).all(1)
        for i in np.flatnonzero(~right)[:1]:
            raise ControllerError(
                f"{place}: a row belongs to the node numbered {words[i].tolist()}, which is no "
                f"node of a {self.memory}. Make the controller's states with controller.state()."
            )
        pieces = zip(self._parts, np.split(fields, self._cuts, axis=1), strict=True)
        columns = [part.write(piece) for part, piece in pieces]
        if isinstance(self.memory, Product):
            return [list(parts) for parts in zip(*columns, strict=True)]
        return columns[0]

    def listed(self, fact: str) -> Ints:
        """(M, W) every node that can be reached; an error that begins with `fact` if too many."""
        O, A = self.memory.alphabet
        most = min(ENUMERABLE, max(1, MOST_CELLS // (O * A)))
        parts = self.memory.parts if isinstance(self.memory, Product) else (self.memory,)
        try:
            if max(part.count_nodes() for part in parts) > most:  # before any is made
                raise TooLarge
            return self.memory.enumerate(most)
        except TooLarge as error:
            raise ControllerError(
                f"{fact}, but a {self.memory} has more than {most} nodes, too many to list. "
                "Write the nodes out, use a smaller memory, or put the rule into an 'otherwise' "
                "controller with a smaller memory."
            ) from error


class _TableFields:
    """One field: the number of the node."""

    size = 1

    def __init__(self, memory: Memory) -> None:
        if not isinstance(memory, Table):
            raise ControllerError(f"A {memory} has no form in files. Use a window or a table.")
        self._nodes = memory.nodes
        self._number = {WILDCARD: _ANY, **{node: i for i, node in enumerate(memory.nodes)}}

    def read(self, node: Any) -> list[int]:
        return [self._number[node]]

    def write(self, fields: Ints) -> list[Any]:
        return [self._nodes[n] for n in fields[:, 0]]

    def possible(self, fields: Ints) -> Bools:
        found: Bools = (fields[:, 0] >= 0) & (fields[:, 0] < len(self._nodes))
        return found

    def words(self, fields: Ints) -> Ints:
        return fields

    def fields(self, words: Ints) -> Ints:
        return words


class _WindowFields:
    """Oldest first, per remembered step: 0 for nothing yet, else 1 + the observation; with
    actions a second field, 0 or 1 + the action."""

    def __init__(self, memory: Window, names: _Alphabet) -> None:
        self._memory, self._A = memory, len(names.actions)
        self._steps = memory.length - 1
        self.size = self._steps * (2 if memory.actions else 1)
        self._z_names, self._a_names = (NOTHING, *names.observations), (NOTHING, *names.actions)
        self._z, self._a = (
            {WILDCARD: _ANY, **{name: i for i, name in enumerate(names)}}
            for names in (self._z_names, self._a_names)
        )

    def read(self, node: Any) -> list[int]:
        if isinstance(node, str) and node == WILDCARD:
            return [_ANY] * self.size
        if not isinstance(node, list) or len(node) != self._steps:
            raise TypeError
        if not self._memory.actions:
            return [self._z[item] for item in node]
        fields = []
        for item in node:
            if not isinstance(item, list):
                item = [item] * 2 if item == WILDCARD else []
            if len(item) != 2:
                raise TypeError
            fields += [self._z[item[0]], self._a[item[1]]]
        return fields

    def write(self, fields: Ints) -> list[Any]:
        z = [[self._z_names[i] for i in row] for row in self._split(fields)[0].tolist()]
        if not self._memory.actions:
            return z
        a = [[self._a_names[i] for i in row] for row in self._split(fields)[1].tolist()]
        return [[list(pair) for pair in zip(*row, strict=True)] for row in zip(z, a, strict=True)]

    def _split(self, fields: Ints) -> tuple[Ints, Ints]:
        return (fields[:, ::2], fields[:, 1::2]) if self._memory.actions else (fields, fields)

    def possible(self, fields: Ints) -> Bools:
        z, a = self._split(fields)
        begun = (z[:, 1:] > 0) | (z[:, :-1] == 0)  # nothing yet only before the first step
        found: Bools = begun.all(1) & ((z == 0) == (a == 0)).all(1)
        return found

    def words(self, fields: Ints) -> Ints:
        z, a = self._split(fields)
        digits = np.where(z == 0, 0, (z - 1) * self._A + a) if self._memory.actions else z
        return self._memory.pack(digits[:, ::-1])

    def fields(self, words: Ints) -> Ints:
        digits = self._memory.digits(words)[:, ::-1]
        if not self._memory.actions:
            return digits
        z, a = np.divmod(digits - 1, self._A)
        pairs = np.where(digits[:, :, None] == 0, 0, np.stack([z, a], 2) + 1)
        return pairs.reshape(len(words), self.size)


def _check_node_text(node: Any, place: str) -> None:
    if isinstance(node, list):
        for item in node:
            _check_node_text(item, place)
    elif not isinstance(node, str):
        raise ControllerError(
            f"{place}: the node holds {_kind(node)}. Write nodes as names in quotes and lists of "
            "them."
        )


def _without_wildcards(node: Any, memory: Memory, names: _Alphabet) -> Any:
    """A node that is wrong where the given one is, with something right for every wildcard."""
    if node == WILDCARD:
        return memory.read_node(memory.initial().tolist(), names.observations, names.actions)
    if isinstance(memory, Product) and isinstance(node, list) and len(node) == len(memory.parts):
        pairs = zip(node, memory.parts, strict=True)
        return [_without_wildcards(item, part, names) for item, part in pairs]
    if (
        not isinstance(memory, Window)
        or not isinstance(node, list)
        or len(node) != memory.length - 1
    ):
        return node  # nothing to fill in, or wrong as a whole
    z, a = names.observations[0], names.actions[0]
    if not memory.actions:
        return [z if item == WILDCARD else item for item in node]
    tame: list[Any] = []
    for item in node:
        if item == WILDCARD:
            item = [z, a]
        elif isinstance(item, list) and len(item) == 2 and WILDCARD in item:
            fill = [NOTHING, NOTHING] if NOTHING in item else [z, a]
            item = [f if i == WILDCARD else i for i, f in zip(item, fill, strict=True)]
        tame.append(item)
    return tame


# ---- from controller to file --------------------------------------------------------------


def _document(controller: Controller, nested: bool) -> dict[str, Any]:
    names = _Alphabet(controller.observations, controller.actions)
    nodes = _Nodes(controller.memory, names)
    for part in getattr(controller.memory, "parts", (controller.memory,)):
        if isinstance(part, Window):
            _window_length(part.length, controller.name)
    document: dict[str, Any] = {} if nested else {"format": FORMAT}
    document["name"] = controller.name
    if not nested:
        document["observations"] = list(names.observations)
        document["actions"] = list(names.actions)
    document["memory"] = controller.memory.to_document(*nodes.alphabet)
    if not isinstance(controller.otherwise, Controller):
        document["default"] = _choice(controller.otherwise.tolist(), names)
    rules = [
        {"observation": names.observations[z], "action": _choice(row, names)}
        for z, row in zip(controller.states[:, -1], controller.rows.tolist(), strict=True)
    ]
    if nodes.n_fields:  # else there is only one node, and nothing to say about it
        written = nodes.write(controller.states[:, :-1], controller.name)
        rules = [{"node": node, **rule} for node, rule in zip(written, rules, strict=True)]
    document["rules"] = rules
    if isinstance(controller.otherwise, Controller):
        document["otherwise"] = _document(controller.otherwise, nested=True)
    return document


def _choice(row: list[float], names: _Alphabet) -> str | dict[str, float]:
    chosen = {name: p for name, p in zip(names.actions, row, strict=True) if p > 0}
    return next(iter(chosen)) if list(chosen.values()) == [1.0] else chosen


def _layout(value: Any, indent: str = "", key: str = "") -> str:
    """JSON with one rule, one move or one part of a product on a line."""
    inner = indent + "  "
    if key in ("", "otherwise") or (
        key in ("memory", "part") and not value.keys().isdisjoint(("moves", "product"))
    ):
        lines = [f"{json.dumps(k)}: {_layout(v, inner, k)}" for k, v in value.items()]
        opening, closing = "{}"
    elif key in ("rules", "moves", "product") and value:
        lines = [_layout(item, inner, "part" if key == "product" else "item") for item in value]
        opening, closing = "[]"
    else:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    body = ",\n".join(inner + line for line in lines)
    return f"{opening}\n{body}\n{indent}{closing}"


# ---- saying what is wrong -----------------------------------------------------------------

_KINDS = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a table of keys and values",
    type(None): "null",
}
_WANTED = {bool: "true or false", str: "text in quotes", list: "a list [...]", dict: "{...}"}

T = TypeVar("T")


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), f"a {type(value).__name__}")


def _show(value: Any) -> str:
    """The value for a message, not too long."""
    try:
        text = repr(value)
    except ValueError:  # Python does not print whole numbers of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 120 else text[:117] + "..."


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _checked(value: Any, kind: type[T], place: str) -> T:
    if isinstance(value, kind):
        return value
    remedy = f"Write {_WANTED[kind]}."
    if kind is list and isinstance(value, dict):
        remedy = f"Write a list; as a heading in TOML it has two brackets: [[{place.split()[-1]}]]."
    raise ControllerError(f"{place}: is {_kind(value)}. {remedy}")


def _check_keys(document: dict[str, Any], known: Collection[str], place: str) -> None:
    for key in document:
        if key not in known:
            # in TOML everything below a heading belongs to it
            hint = f" '{key} = ...' goes above the first [heading]." if key in _KEYS else ""
            raise ControllerError(f"{place}: {not_one_of('key', key, known)}{hint}")


def _names(kind: str, value: Any, place: str) -> tuple[str, ...]:
    for i, name in enumerate(_checked(value, list, f"{place}, {kind}s"), 1):
        _checked(name, str, f"{place}, {kind} {i}")
        if not name.isascii() and any("\ud800" <= c <= "\udfff" for c in name):
            raise ControllerError(
                f"{place}, {kind} {i}: {name!r} has half a character (a lone surrogate). "
                "Correct the name."
            )
    with _at(place):
        return check_names(kind, value, ControllerError)


def _lookup(
    kind: str, name: Any, number: dict[str, int], place: str, wildcard: bool = False
) -> int:
    if not isinstance(name, str):
        raise ControllerError(f"{place}: the {kind} is {_kind(name)}. Write its name in quotes.")
    if wildcard and name == WILDCARD:
        return _ANY
    found = number.get(name)
    if found is None:
        raise ControllerError(f"{place}: {not_one_of(kind, name, number)}")
    return found


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Put the place in front of what others found wrong."""
    try:
        yield
    except JumarError as error:
        raise ControllerError(f"{place}: {error}") from error


@contextmanager
def _nesting(source: str) -> Iterator[None]:
    try:
        yield
    except RecursionError as error:
        raise ControllerError(
            f"{source}: nested too deeply to be a controller. Nest fewer 'otherwise' documents, "
            "products or lists."
        ) from error
