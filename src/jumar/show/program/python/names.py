"""Names as lines of text, and in messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import get_close_matches

# ---- names as lines of text ----

RESET = "reset"


def written(name: str) -> str:
    """A name as one line: as it is, or in JSON quotes where it could be misread.

    Quotes are needed for line breaks and other invisible characters, for spaces at the ends, for
    the word that starts a new episode, and for a name that begins with a quote itself.
    """
    plain = name.isprintable() and name == name.strip() and name != RESET
    return name if plain and not name.startswith('"') else json.dumps(name)


def _read(line: str) -> str:
    """The name that a line holds."""
    if line.startswith('"'):
        try:
            name = json.loads(line)
        except ValueError:
            return line
        if isinstance(name, str):
            return name
    return line


def _unknown(kind: str, name: object, names: Sequence[str]) -> str:
    shown = [_short(known) for known in names[:12]]
    more = f", ... ({len(names)} in all)" if len(names) > 12 else ""
    close = get_close_matches(str(name)[:60], names, n=1)
    hint = f" Did you mean {_short(close[0])}?" if close else ""
    return f"{kind} {_shown(name)} is not one of {', '.join(shown)}{more}.{hint}"


def _shown(value: object) -> str:
    return _short(value) if isinstance(value, str) else ascii(value)[:60]


def _short(name: str) -> str:
    text = written(name)
    return text if len(text) <= 60 else text[:57] + "..."
