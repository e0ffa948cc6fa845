"""A registry: entries by name, loaded when they are asked for.

    ALGORITHMS = Registry("algorithm", {"spibb": "jumar.algorithms.spibb:ENTRY", ...})
    ALGORITHMS["spibb"]          # loads the module, returns its ENTRY
    ALGORITHMS.add("mine", entry)  # from anywhere

The names are known without loading anything, so that `jumar --help` stays fast.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar, cast

from jumar.core.errors import ParameterError, not_one_of

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Entries by name, in the order in which they were listed."""

    def __init__(self, kind: str, entries: Mapping[str, str | T]) -> None:
        self.kind = kind  # what an entry is called in messages
        self._entries: dict[str, str | T] = dict(entries)  # "module:name" until it is loaded

    def __getitem__(self, name: str) -> T:
        found = self._entries[name]
        if isinstance(found, str):
            module, _, attribute = found.partition(":")
            found = self._entries[name] = cast(T, getattr(import_module(module), attribute))
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def find(self, name: str) -> T:
        """The entry of that name, or a ParameterError that lists the names."""
        if name not in self._entries:
            raise ParameterError(not_one_of(self.kind, name, self))
        return self[name]

    def add(self, name: str, entry: T) -> None:
        """Add an entry; a name can be used only once."""
        if name in self._entries:
            raise ParameterError(
                f"{self.kind} {name!r} is there already. Choose another name, or remove it first."
            )
        self._entries[name] = entry

    def remove(self, name: str) -> None:
        """Take an entry out again."""
        self.find(name)
        del self._entries[name]


def names_in(place: str) -> list[str]:
    """The names in a registry, which is loaded for it.

    >>> names_in("jumar.engines:ENGINES")
    ['here', 'processes', 'dask']
    """
    module, _, attribute = place.partition(":")
    return list(getattr(import_module(module), attribute))
