"""Names of a package that are loaded when they are first used, so that an import costs nothing."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # not from typing, which takes longer to load than all that is here
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazily(package: str, places: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a package. Each name stands with the place below jumar where it lives:
    "module", "module:its name there", or "module:" for the module itself."""

    def load(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        place, colon, inner = places[name].partition(":")
        module = import_module(f"jumar.{place}")
        found: object = module if colon and not inner else getattr(module, inner or name)
        setattr(sys.modules[package], name, found)
        return found

    return load
