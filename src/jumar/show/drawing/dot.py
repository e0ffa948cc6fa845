"""The DOT text of a picture: the one source from which every other form is made.

Boxes are tables in Graphviz' HTML-like labels, because these alone align text in columns. Names
come from logs, so everything that is text goes through `text_of`: markup is escaped, the escapes
of Graphviz (``\\N``) are defused, and a name written from right to left does not turn around the
words beside it. Colours are those of `INK`; a change is told by its sign and its weight as well.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from jumar.show.drawing.graph import Arrow, Box, StateLine

FONT = "Arial"  # Graphviz knows its widths by heart, and other systems have a font as wide
WIDEST = 44  # letters on a line, beyond which it is broken
CHANGED, START = "▲", "▶"  # for those who do not see colours

# what each colour is for; `svg` gives them another form, so that they can follow a page
INK = {
    "ink": "#1f2328",
    "muted": "#59636e",
    "line": "#848d97",
    "head": "#eaeef2",
    "changed": "#b84500",
    "mark": "#fff0e2",
}

_RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
_TURNS = re.compile(f"([{_RIGHT_TO_LEFT}])(?! ?[{_RIGHT_TO_LEFT}])")


def text_of(text: str) -> str:
    """Text that Graphviz shows as it is.

    >>> print(text_of("a <b> & c"), text_of("x\\\\N"))
    a &lt;b&gt; &amp; c x\\\\N
    """
    return escape(left_to_right(text), quote=False).replace("\\", "\\\\")


def left_to_right(text: str) -> str:
    """Text that goes on from left to right after a name that does not.

    >>> left_to_right("keep 50%"), ascii(left_to_right("\u05d0 50%"))
    ('keep 50%', "'\\\\u05d0\\\\u200e 50%'")
    """
    return _TURNS.sub("\\1\u200e", text)


def broken(pieces: Sequence[str], between: str, widest: int = WIDEST) -> list[str]:
    """Pieces set on as few lines as have room for them.

    >>> broken(["keep 50%", "repair 30%", "sell 20%"], ", ", 22)
    ['keep 50%, repair 30%,', 'sell 20%']
    """
    lines = [pieces[0]]
    for piece in pieces[1:]:
        if len(lines[-1]) + len(between) + len(piece) <= widest:
            lines[-1] += between + piece
        else:
            lines[-1] += between.rstrip()
            lines.append(piece)
    return lines


def graph_dot(
    boxes: Sequence[Box], arrows: Sequence[Arrow], title: str, notes: Sequence[str] = ()
) -> str:
    """A digraph with one box per memory node."""
    nodes = [f"  n{i} [label=<{_box(box)}>];" for i, box in enumerate(boxes)]
    return _digraph([*nodes, *map(_arrow, arrows)], title, notes)


def table_dot(
    heads: Sequence[str],
    rows: Sequence[tuple[Sequence[str], StateLine]],
    title: str,
    notes: Sequence[str] = (),
) -> str:
    """A digraph whose one node is a table: a history state in words, and what is done there."""
    counted = any(line.count is not None for _, line in rows)
    titles = [" ", *heads, "does", *(["seen"] if counted else [])]
    table = [[_cell([title], BOLD, INK["head"]) for title in titles]]
    for words, line in rows:
        texts = [[CHANGED if line.changed else " "], *map(_newest, words)]
        table.append(_row(line, texts, f"{line.count or 0:,}×" if counted else ""))
    return _digraph([f"  n0 [label=<{_table(table)}>];"], title, notes)


def _digraph(statements: Sequence[str], title: str, notes: Sequence[str]) -> str:
    head = _table(
        [[_cell([title], TITLE)], *([_cell([note], NOTE)] for note in notes)], border=0, padding=3
    )
    font = f'fontname="{FONT}", fontcolor="{INK["ink"]}", fontsize={PLAIN.size}'
    return "\n".join(
        [
            "digraph controller {",
            f"  graph [label=<{head}>, labelloc=t, labeljust=l, {font},",
            '         bgcolor=transparent, charset="UTF-8", nodesep=0.35, ranksep=0.45, pad=0.1];',
            f"  node [shape=plain, {font}];",
            f'  edge [color="{INK["line"]}", arrowsize=0.7, {font}];',
            *statements,
            "}",
            "",
        ]
    )


def _box(box: Box) -> str:
    counted = any(line.count is not None for line in box.lines)
    span = 4 if counted else 3
    name = _newest(box.name)
    name[0] = f"{START} {name[0]}" if box.initial else name[0]
    table = [[_cell(name, BOLD, INK["head"], span=span)]]
    for line in box.lines:
        seen = f"{CHANGED} {line.seen}" if line.changed else line.seen
        times = f"seen {line.count:,}×" if line.count else "never seen"
        table.append(_row(line, [[seen], ["→"]], times if counted else ""))
    if box.more:
        table.append([_cell([f"+{box.more:,} more"], NOTE, span=span)])
    return _table(table, border=2 if box.initial else 1)


def _row(line: StateLine, texts: Sequence[Sequence[str]], times: str) -> list[str]:
    """A history state, what is done there on a few lines, and how often it was seen."""
    look, back = (CHANGE, INK["mark"]) if line.changed else (PLAIN, None)
    done = broken(", ".join(line.done).split(", "), ", ")
    cells = [_cell(text, look, back) for text in (*texts, done)]
    return [*cells, _cell([times], SMALL, back, "RIGHT")] if times else cells


def _newest(name: str) -> list[str]:
    """A memory node on a few lines; of a long one the end, which is what happened last."""
    lines = broken(name.split(" → "), " → ")
    return lines if len(lines) <= 4 else ["…", *lines[-3:]]


def _arrow(arrow: Arrow) -> str:
    # in a cell, as that keeps the text off the line
    label = _table([[_cell(arrow.when, LABEL)]], border=0, padding=3) if arrow.when else ""
    return f"  n{arrow.source} -> n{arrow.target}" + (f" [label=<{label}>];" if label else ";")


# ---- cells --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DotStyle:
    """How letters look."""

    size: int = 13
    bold: bool = False
    color: str = INK["ink"]


PLAIN, BOLD, TITLE = DotStyle(), DotStyle(bold=True), DotStyle(15, bold=True)
CHANGE = DotStyle(bold=True, color=INK["changed"])
SMALL, NOTE = DotStyle(10, color=INK["muted"]), DotStyle(11, color=INK["muted"])
LABEL = DotStyle(11)


def _table(rows: Sequence[Sequence[str]], border: int = 1, padding: int = 4) -> str:
    look = f'BORDER="{border}" CELLBORDER="0" CELLSPACING="0" CELLPADDING="{padding}"'
    round_ = f' STYLE="ROUNDED" COLOR="{INK["line"]}"' if border else ""
    inside = "".join(f"<TR>{''.join(row)}</TR>" for row in rows)
    return f"<TABLE {look}{round_}>{inside}</TABLE>"


def _cell(
    texts: Sequence[str],
    look: DotStyle,
    back: str | None = None,
    align: str = "LEFT",
    span: int = 1,
) -> str:
    room = 8 + max(width_of(text, look) for text in texts)
    fill = f' BGCOLOR="{back}"' if back else ""
    wide = f' COLSPAN="{span}"' if span > 1 else ""
    color = f' COLOR="{look.color}"' if look.color != PLAIN.color else ""
    size = f' POINT-SIZE="{look.size}"' if look.size != PLAIN.size else ""
    opening, closing = ("<B>", "</B>") if look.bold else ("", "")
    if color or size:
        opening, closing = f"<FONT{color}{size}>{opening}", f"{closing}</FONT>"
    # Graphviz sets bold lines closer than others; a line of almost no height makes up for it
    between = '<BR/><FONT POINT-SIZE="2"> </FONT><BR/>' if look.bold else "<BR/>"
    content = between.join(f"{opening}{text_of(text)}{closing}" for text in texts)
    return f'<TD ALIGN="{align}" BALIGN="LEFT" WIDTH="{room}"{fill}{wide}>{content}</TD>'


def width_of(text: str, look: DotStyle) -> int:
    """Room that a text needs, on the safe side: Graphviz takes letters it does not know for
    narrow ones, and then words run over the edge of their box.

    >>> width_of("keep", PLAIN) < width_of("keep", BOLD) < width_of("修理する", PLAIN)
    True
    """
    ems = sum(_ems(letter) for letter in text)
    return math.ceil(ems * look.size * (1.08 if look.bold else 1.02))


def _ems(letter: str) -> float:
    """The width of a letter in Arial, about, in parts of its size."""
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.3
    if not letter.isascii():
        return 1.0 if letter in f"→…{CHANGED}{START}" else 0.72
    if letter in "ijl|.,:;'!":
        return 0.28
    if letter in ' ftrI()[]{}-/\\"`':
        return 0.34
    if letter in "mwMW%@":
        return 0.92
    return 0.7 if letter.isupper() else 0.56
