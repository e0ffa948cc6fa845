"""Reading a TOML or JSON file into a document, and the small checks that every document needs.

`read_document` refuses what is no document at all; the checks refuse a value of the wrong type, an
unknown key, a format of another version. Each takes the class of error to raise and the place its
message begins with.

Why by hand. msgspec (0.10 s to import) and pydantic (0.25 s) silently take the last of two equal
keys and do not say which key was meant. `jumar --help` has 0.3 s.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

from jumar.core.errors import JumarError, not_one_of


@dataclass(frozen=True)
class Format:
    """A kind of file: how it is marked, what may stand at its top, and how errors speak of it.

    >>> from jumar.core.errors import ModelError
    >>> model = Format("model", 1, ModelError, keys=("format", "states"))
    >>> check_keys(parse('{"sates": 2}', "m.json", model), ["states"], "m.json", model)
    Traceback (most recent call last):
    jumar.core.errors.ModelError: m.json: key 'sates' is not one of states. Did you mean 'states'?
    """

    noun: str
    version: int
    error: type[JumarError]
    keys: tuple[str, ...]  # at the top of the document
    elsewhere: str = ""  # what to do about a missing file, besides looking at the path again

    @property
    def tag(self) -> str:
        """What stands under 'format' in the file, such as jumar-model/1."""
        return f"jumar-{self.noun}/{self.version}"


MOST_BYTES = 300_000_000  # of a file that people or programs write by rules


# ---- from file to document ----------------------------------------------------------------


def read_document(path: str | os.PathLike[str], form: Format) -> Any:
    """What a TOML or JSON file holds; without one of these endings its content decides."""
    source = str(os.fspath(path))
    return parse(read_text(source, form), source, form)


def parse(text: str, source: str, form: Format) -> Any:
    """The document in a text; `source` is the name of its file."""
    suffix = Path(source).suffix.lower()
    is_json = suffix == ".json" or (suffix != ".toml" and text.lstrip().startswith("{"))
    with nesting(source, form):
        return (_parse_json if is_json else _parse_toml)(text, source, form)


def read_text(source: str, form: Format) -> str:
    """The text of a file that is read whole."""
    try:
        with open(source, "rb") as file:  # a device may have no end
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        remedies = " ".join(filter(None, (_neighbour(source), form.elsewhere)))
        raise form.error(f"{source}: there is no such file. {remedies}") from error
    except (OSError, ValueError) as error:
        raise form.error(f"{source!r}: cannot be read ({error}). Check the path.") from error
    if len(data) > MOST_BYTES:
        raise form.error(
            f"{source}: has more than {MOST_BYTES:,} bytes. Is it a {form.noun}? Check the path."
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise form.error(
            f"{source}: not UTF-8 text (byte {error.start + 1} is 0x{data[error.start]:02x}). "
            f"Save the file as UTF-8, or give the path of a {form.noun} file."
        ) from error
    if not text.strip():
        raise form.error(
            f'{source}: the file is empty. A {form.noun} begins with format = "{form.tag}".'
        )
    return text


def _neighbour(source: str) -> str:
    path = Path(source)
    try:
        close = get_close_matches(path.name, os.listdir(path.parent), n=1)
    except OSError:
        return f"There is no directory '{path.parent}' either. Check the path."
    return f"Did you mean '{path.parent / close[0]}'?" if close else "Check the path."


def _parse_json(text: str, source: str, form: Format) -> Any:
    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in pairs:
            if key in made:
                twice = f"the key {key!r} stands twice in one object. Remove one of them."
                raise form.error(f"{source}: {twice}")
            made[key] = value
        return made

    try:
        return json.loads(text, object_pairs_hook=distinct)
    except json.JSONDecodeError as error:
        raise form.error(
            f"{source}, line {error.lineno}, column {error.colno}: not valid JSON: {error.msg}. "
            "Correct it there, or write the file again if it was cut off."
        ) from error
    except JumarError:  # from `distinct`; some of ours are ValueErrors as well
        raise
    except ValueError as error:  # a whole number of thousands of digits
        raise form.error(f"{source}: a number has too many digits. Shorten it.") from error


def _parse_toml(text: str, source: str, form: Format) -> Any:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        found = re.fullmatch(r"(.*) \(at (.*)\)", str(error), re.DOTALL)
        fact, where = found.groups() if found else (str(error), "")
        raise form.error(
            f"{source}{', ' * bool(where)}{where}: not valid TOML: {fact}. Correct it there; text "
            "stands in quotes, and so do keys with spaces or other special characters."
        ) from error


@contextmanager
def nesting(source: str, form: Format) -> Iterator[None]:
    """Refuse a document that is nested too deeply."""
    try:
        yield
    except RecursionError as error:
        raise form.error(f"{source}: nested too deeply to be a {form.noun}. Nest less.") from error


# ---- checks of a document -----------------------------------------------------------------


def check_format(document: Mapping[str, Any], place: str, form: Format) -> None:
    """Refuse a document that is not marked as one of this format and version."""
    if "format" not in document:
        raise form.error(
            f"{place}: there is no 'format'. Add format = \"{form.tag}\" at the top "
            f'(in JSON: "format": "{form.tag}").'
        )
    found = document["format"]
    pattern = rf"jumar-{form.noun}/(\d{{1,9}})"
    version = re.fullmatch(pattern, found) if isinstance(found, str) else None
    if version and int(version[1]) > form.version:
        raise form.error(
            f"{place}: the file is of a newer format version {int(version[1])}; this jumar reads "
            f"version {form.version}. Update jumar."
        )
    if found != form.tag:
        raise form.error(f"{place}: format {show(found)} is not {form.tag!r}. Correct it.")


def check_keys(
    document: Mapping[str, Any], known: Collection[str], place: str, form: Format
) -> None:
    """Refuse a key that is not one of the known ones."""
    for key in document:
        if key not in known:
            # in TOML everything below a heading belongs to it
            hint = f" '{key} = ...' goes above the first [heading]." if key in form.keys else ""
            raise form.error(f"{place}: {not_one_of('key', key, known)}{hint}")


# ---- checks of a value --------------------------------------------------------------------

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


def kind_of(value: Any) -> str:
    """What a value is, in the words of the person who wrote it."""
    return _KINDS.get(type(value), f"a {type(value).__name__}")


def show(value: Any) -> str:
    """The value for a message, not too long."""
    try:
        text = repr(value)
    except ValueError:  # Python does not print whole numbers of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 120 else text[:117] + "..."


def checked(value: Any, kind: type[T], place: str, error: type[JumarError]) -> T:
    """The value, which must be a bool, a str, a list or a dict."""
    if isinstance(value, kind):
        return value
    remedy = f"Write {_WANTED[kind]}."
    if kind is list and isinstance(value, dict):
        remedy = f"Write a list; as a heading in TOML it has two brackets: [[{place.split()[-1]}]]."
    raise error(f"{place}: is {kind_of(value)}. {remedy}")


def is_number(value: Any) -> bool:
    """Is it a number? True and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def number(value: Any, place: str, error: type[JumarError]) -> float:
    """The value, which must be a finite number."""
    if is_number(value) and abs(value) <= sys.float_info.max:
        return float(value)
    raise error(f"{place}: {show(value)} is not a number. Write one, such as 0.5.")


def whole(
    value: Any, place: str, error: type[JumarError], least: int = 0, most: int | None = None
) -> int:
    """The value, which must be a whole number of this range."""
    right = isinstance(value, Integral) and not isinstance(value, bool)  # numpy's, too
    if right and value >= least and (most is None or value <= most):
        return int(value)
    to = "" if most is None else f" to {most}"
    raise error(f"{place}: {show(value)} is not a whole number from {least}{to}.")


def lookup(
    kind: str, name: Any, numbers: Mapping[str, int], place: str, error: type[JumarError]
) -> int:
    """The number of a name."""
    if not isinstance(name, str):
        raise error(f"{place}: the {kind} is {kind_of(name)}. Write its name in quotes.")
    found = numbers.get(name)
    if found is None:
        raise error(f"{place}: {not_one_of(kind, name, numbers)}")
    return found


@contextmanager
def at(place: str, error: type[JumarError]) -> Iterator[None]:
    """Put the place in front of the message of another error."""
    try:
        yield
    except JumarError as found:
        raise error(f"{place}: {found}") from found
