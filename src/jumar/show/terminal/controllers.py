"""Controllers, and the difference of two, as tables of a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from jumar.core.arrays import Floats, Ints
from jumar.core.errors import ParameterError, TooLarge
from jumar.core.text import counted, listing, percent, shown
from jumar.memory import history_states
from jumar.policy.controller import Controller
from jumar.policy.words import COLUMNS, action_lines, node_words
from jumar.show.differences import Difference
from jumar.show.terminal.look import beside_states, facts, plain_table, rest

MOST_ROWS = 40


def controller_view(controller: Controller, most: int = MOST_ROWS) -> RenderableType:
    """A controller as text: its memory, what it does in each history state, and everywhere else."""
    parts: list[RenderableType] = [
        Text(shown(controller.name, 200), style="bold"),
        facts(
            [
                ("memory", str(controller.memory)),
                ("observations", listing(map(shown, controller.observations))),
                ("actions", listing(map(shown, controller.actions))),
            ]
        ),
    ]
    states, complete = _states_to_show(controller, most)
    if len(states):
        parts.append(_choices(controller, states[:most]))
    parts += rest(len(states) - most, "situation")
    if isinstance(controller.otherwise, Controller):
        where = "Everywhere else" if len(states) else "Everywhere"
        parts.append(Text(f"{where} it does the same as:"))
        parts.append(Padding(controller_view(controller.otherwise, most), (0, 0, 0, 2)))
    elif not complete:
        done = ", ".join(action_lines(controller.actions, controller.otherwise))
        parts.append(Text(f"Everywhere else: {done}"))
    parts += _moves(controller, most)
    return Group(*parts)


def _states_to_show(controller: Controller, most: int) -> tuple[Ints, bool]:
    """The ⟨n, z⟩ that get a line, and whether these are all."""
    if isinstance(controller.otherwise, Controller):
        return controller.states, False
    O = len(controller.observations)
    try:
        nodes = controller.memory.enumerate(limit=max(1, most // O))
    except TooLarge:
        return controller.states, False
    return history_states(nodes, O), True


def _choices(controller: Controller, states: Ints) -> RenderableType:
    actions, rows, behavior = controller.actions, controller.rows_at(states), controller.otherwise
    columns = ["does"]
    if isinstance(behavior, Controller):
        columns = ["does: was → is"]
        cells = _changed(actions, rows, behavior.lift(controller.memory).rows_at(states))
    elif len(actions) <= COLUMNS:
        columns = [shown(action) for action in actions]
        cells = [[percent(p) if p else "·" for p in row] for row in rows]
    else:
        cells = [[", ".join(action_lines(actions, row))] for row in rows]
    return plain_table(*beside_states(controller, states, columns, cells))


def _changed(actions: Sequence[str], new: Floats, old: Floats) -> list[list[str]]:
    """What is done in each history state, and what was."""
    pairs = zip(new, old, strict=True)
    return [["\n".join(action_lines(actions, is_, was))] for is_, was in pairs]


def _moves(controller: Controller, most: int) -> list[RenderableType]:
    """How the tables of the memory move, unless the controller it falls back on shows them."""
    below = controller.otherwise
    known = below.memory.parts if isinstance(below, Controller) else ()
    views: list[RenderableType] = []
    names = controller.observations, controller.actions
    for part in controller.memory.parts:
        moves = part.moves(*names)
        if not moves or part in known:
            continue
        rows = [[_said(move, key, moves[:i]) for key in _MOVE] for i, move in enumerate(moves)]
        heads = ["memory", "on seeing", "after doing", "goes to"]
        start = node_words(part, part.read_node(part.initial(), *names))
        title = f"How the memory moves; it starts with {start!r}"
        views += [plain_table(heads, rows[:most], title=title), *rest(len(rows) - most, "move")]
    return views


_MOVE = ("node", "observation", "action", "to")


def _said(move: Mapping[str, str], key: str, before: Sequence[Mapping[str, str]]) -> str:
    """What a move says under a key; nothing means anything, or what the moves before it leave."""
    if key in move:
        return shown(move[key])
    rest = any(key in other and _same_place(move, other) for other in before[-MOST_ROWS:])
    return "anything else" if rest else "anything"


def _same_place(move: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return all(move.get(key) == other.get(key) for key in ("node", "observation"))


# ---- differences ---------------------------------------------------------------------------------


def difference_view(found: Difference, most: int = MOST_ROWS) -> RenderableType:
    """A difference as text: where the two differ, and what each does there."""
    if most < 1:
        raise ParameterError(f"most: {most} rows cannot show a difference. Give 1 or more.")
    title = f"From {shown(found.was.name, 200)} to {shown(found.now.name, 200)}"
    told = facts([("compared over", str(found.memory)), ("differ", _how_many(found))])
    return Group(Text(title, style="bold"), told, *_differences(found, most))


def _how_many(found: Difference) -> str:
    if found.same:
        return "nowhere: they behave the same everywhere"
    K = len(found.states)
    if found.compared is not None:
        return f"{K:,} of {found.compared:,} situations that one of them can come to"
    return f"{counted(K, 'situation')} listed in one of the files"


def _differences(found: Difference, most: int) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if len(found.states):
        cells = _changed(found.now.actions, found.new[:most], found.old[:most])
        heads = ["does: was → is"]
        parts.append(plain_table(*beside_states(found.now, found.states[:most], heads, cells)))
    parts += rest(len(found.states) - most, "situation")
    if found.rest is not None:
        below = f"Everywhere else they fall back on controllers over a {found.rest.memory}. These"
        parts.append(Text(f"{below} differ in {_how_many(found.rest)}:"))
        parts.append(Padding(Group(*_differences(found.rest, most)), (0, 0, 0, 2)))
    return parts
