"""Anything as plain JSON types: what every `to_dict` and every file is made of.

JSON has no infinity and no NaN. A number that is not finite becomes None; what that means is said
in words next to it.
"""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any


def finite(number: float | None) -> float | None:
    """The number, or None where JSON has none.

    >>> finite(1.5), finite(math.inf), finite(math.nan), finite(None)
    (1.5, None, None, None)
    """
    return number if number is not None and math.isfinite(number) else None


def picked(value: Any, names: str) -> dict[str, Any]:
    """Some attributes of a value, by their names, in plain types.

    >>> picked(1 + 2j, "real imag")
    {'real': 1.0, 'imag': 2.0}
    """
    return {name: plain(getattr(value, name)) for name in names.split()}


def plain(value: Any) -> Any:
    """Dataclasses become objects, tuples lists, and numbers that are not finite None. A field that
    is called otherwise in JSON says so in its metadata, as ``{"key": "situation"}``.

    >>> plain((1, math.inf, "a"))
    [1, None, 'a']
    """
    if is_dataclass(value):
        return {f.metadata.get("key", f.name): plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return finite(value) if isinstance(value, float) else value
