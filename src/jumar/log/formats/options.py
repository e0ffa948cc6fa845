"""How a file is written, where its name does not tell: options, checked before it is opened."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields

from jumar.core.errors import ParameterError
from jumar.core.text import printable
from jumar.log.formats.separators import check_separator
from jumar.log.formats.text import check_encoding


@dataclass(frozen=True)
class FileOptions:
    """What was said about a file; nothing where it shall be recognised."""

    separator: str | None = None  # what stands between columns
    encoding: str | None = None  # of text; nothing for UTF-8
    turns: str | None = None  # the key of the list that holds the steps
    sheet: str | None = None  # of a workbook

    @classmethod
    def checked(
        cls,
        separator: str | None = None,
        encoding: str | None = None,
        turns: str | None = None,
        sheet: str | None = None,
    ) -> FileOptions:
        """The options, or an error that shows how to write them."""
        for name, value in (("turns", turns), ("sheet", sheet)):
            if value == "":
                raise ParameterError(f"{name}: is empty. Write a name, or leave it out.")
        return cls(
            None if separator is None else check_separator(separator),
            None if encoding is None else check_encoding(encoding),
            turns,
            sheet,
        )

    @property
    def given(self) -> dict[str, str]:
        """The options that were given."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in found.items() if value is not None}

    def for_format(self, kind: str, known: Collection[str]) -> dict[str, str]:
        """The options for a format, which must know all of them."""
        for name, value in self.given.items():
            if name not in known:
                raise ParameterError(
                    f"{name}: {printable(value)!r} says nothing about {kind}. Leave {name} "
                    f"(--{name}) out, or say which format it is (--format)."
                )
        return self.given
