"""Controllers as programs: one table, and a template for every language.

A new language is one template and one entry in `LANGUAGES`. A template is given

    table     the `ControllerTable`: names, reading, layers, distributions
    flat      the same as plain numbers side by side (`Flat`); codes: as text (`Codes`)
    p         a word made of the file's name, for names in the program
    title     the name of the controller, without control characters
    example   a raw reading: columns and values

and the filter `text`, which writes a name as a literal of the language, so that no name can end its
string. `comment` writes a name in plain ASCII, on one line; it cannot end a comment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from itertools import chain
from operator import attrgetter
from typing import Any

from jumar.core.errors import ControllerError
from jumar.core.reading import NO_NUMBER, ReadColumn
from jumar.core.registry import Registry
from jumar.core.text import printable
from jumar.show.program.flat import Codes, Flat
from jumar.show.program.table import ControllerTable, source_of

_PER_LINE = 16  # numbers on a line of a long list


@dataclass(frozen=True)
class Language:
    """How a controller is written in a language."""

    name: str
    template: str  # the text of a jinja2 template
    text: Callable[[Any], str]  # a name as a literal
    # what the template needs besides
    more: Callable[[ControllerTable], dict[str, Any]] = lambda table: {}


def _text_of(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


# ---- names as literals --------------------------------------------------------------------------
# Python's is `ascii`: no name can end its string, open another, or turn the text around it.


def javascript_text(value: Any) -> str:
    """JSON that can stand in a page: a name cannot end the script.

    >>> print(javascript_text("</script>"))
    "\\u003c/script>"
    """
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")


def c_text(name: str) -> str:
    """All but letters, digits, spaces and a few marks as octal numbers of three digits: quotes,
    backslashes, line breaks, the question marks of trigraphs, bytes of UTF-8.

    >>> print(c_text('a "?'))
    "a \\042\\077"
    """
    _check_no_null(name, "C")
    safe = re.compile(rb"[^A-Za-z0-9 _.,:;=+()<>&|!#-]")
    escaped = safe.sub(lambda found: b"\\%03o" % found[0][0], name.encode())
    return f'"{escaped.decode()}"'


def sql_text(name: str) -> str:
    """
    >>> sql_text("it's")
    "'it''s'"
    """
    _check_no_null(name, "SQL")
    return "'" + name.replace("'", "''") + "'"


def _sql_name(name: str) -> str:
    _check_no_null(name, "SQL")
    return '"' + name.replace('"', '""') + '"'


def _check_no_null(name: str, language: str) -> None:
    if "\x00" in name:
        raise ControllerError(
            f"name {name!a} has a null character, which text in {language} cannot hold. Rename it."
        )


def _comment(name: str) -> str:
    # two question marks and a slash are a backslash to C, also in a comment
    return ascii(printable(name))[1:-1].replace("*", "\\x2a").replace("?", "\\x3f")


# ---- the languages ------------------------------------------------------------------------------


def _python(table: ControllerTable) -> dict[str, Any]:
    """The functions that memories move by, under names of their own; and the part that is the same
    for every controller."""
    moves: dict[Any, str] = {}
    for part in chain.from_iterable(layer.parts for layer in table.layers):
        moves.setdefault(part.move, f"_next_{len(moves) + 1}")
    head, _, rest = _text_of("runtime.py").partition("# ---- data: begin ----\n")
    runtime = rest.partition("# ---- data: end ----\n")[2].strip("\n")
    imports = head.partition("import annotations\n")[2].strip("\n")
    return {"moves": moves, "imports": imports, "runtime": runtime}


def _for_everyone(table: ControllerTable) -> None:
    """An error where a memory is a Python function."""
    for part in chain.from_iterable(layer.parts for layer in table.layers):
        if part.kind == "function":
            raise ControllerError(
                f"{table.name}: its memory has too many nodes to list and moves by a function of "
                "its own, which only a Python program can hold. Export a .py file."
            )


def _c(table: ControllerTable) -> dict[str, Any]:
    _for_everyone(table)
    return {"flat": Flat(table)}


def _javascript(table: ControllerTable, module: bool = False) -> dict[str, Any]:
    _for_everyone(table)
    text = table.text().rstrip("\n").replace("<", "\\u003c")
    return {"module": module, "table_text": text, "no_number": NO_NUMBER}


def _sql(table: ControllerTable) -> dict[str, Any]:
    _for_everyone(table)
    seen = " || '+' || ".join(_sql_column(c, table.missing) for c in table.reading.observation)
    done = " || '+' || ".join(_sql_column(c, None) for c in table.reading.action)
    return {"codes": Codes(table), "seen": seen, "done": done}


def _sql_column(column: ReadColumn, missing: str | None) -> str:
    """What the value of a column is called, as an expression."""
    name = _sql_name(column.name)
    nothing = "NULL" if missing is None else sql_text(missing)
    if column.bins is None:
        text = f"CAST({name} AS TEXT)"
        return f"CASE WHEN {name} IS NULL OR {text} = '' THEN {nothing} ELSE {text} END"
    # an SQL number that is none is larger than all others in some databases
    cases = [f"WHEN {name} IS NULL OR LOWER(CAST({name} AS TEXT)) = 'nan' THEN {nothing}"]
    for called, edge in zip(column.bins.names, column.bins.edges, strict=False):
        cases.append(f"WHEN {name} < {edge!r} THEN {sql_text(called)}")
    return f"CASE {' '.join(cases)} ELSE {sql_text(column.bins.names[-1])} END"


def _shipped(
    name: str, text: Callable[[Any], str], more: Callable[[ControllerTable], dict[str, Any]]
) -> Language:
    return Language(name, _text_of(f"templates/{name.lower()}.j2"), text, more)


# by the ending of the file; a new language is one more line
LANGUAGES: Registry[Language] = Registry(
    "language",
    {
        ".py": _shipped("Python", ascii, _python),
        ".c": _shipped("C", c_text, _c),
        ".js": _shipped("JavaScript", javascript_text, _javascript),
        ".mjs": _shipped("JavaScript", javascript_text, partial(_javascript, module=True)),
        ".sql": _shipped("SQL", sql_text, _sql),
    },
)


def render(table: ControllerTable, language: Language, stem: str = "improved") -> str:
    """The text of a program that runs the controller. `stem` is the name of its file, of which
    names in it are made."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "text": language.text,
        "comment": _comment,
        "json": javascript_text,
        "name": _sql_name,
        "ranges": attrgetter("ranges"),
        "source": source_of,
        "literal": _literal,
        "json_lines": _json_lines,
        "numbers": _numbers,
        "wrapped": _wrapped,
    }
    reading = table.reading
    return environment.from_string(language.template).render(
        table=table,
        p=_word(stem),
        title=printable(table.name),
        example={
            column.name: "..." if column.bins is None else column.bins.edges[0]
            for column in reading.observation
        },
        **language.more(table),
    )


def _word(stem: str) -> str:
    """
    >>> _word("my pump-2"), _word("2nd")
    ('my_pump_2', 'c2nd')
    """
    word = re.sub(r"[^A-Za-z0-9]+", "_", stem).strip("_")
    return word if word[:1].isalpha() else f"c{word}"


def _numbers(values: Sequence[Any]) -> str:
    return ", ".join(map(repr, values))


def _wrapped(values: Sequence[int]) -> str:
    lines = (values[i : i + _PER_LINE] for i in range(0, len(values), _PER_LINE))
    return ",\n".join(f"    {_numbers(line)}" for line in lines)


def _literal(data: Any) -> str:
    """One row of a table on a line."""
    if not isinstance(data, tuple):
        return repr(data)
    return "(\n" + "".join(f"                {row},\n" for row in data) + "            )"


def _json_lines(rows: Sequence[Any]) -> str:
    return ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
