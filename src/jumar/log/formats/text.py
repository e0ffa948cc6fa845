"""Files of text: perhaps compressed, in UTF-8 or in another encoding that was asked for."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from io import TextIOWrapper
from typing import IO

from jumar.core.errors import ParameterError
from jumar.core.text import printable
from jumar.log.formats.places import Place, unzipped

BLOCK = 1 << 22  # bytes read at a time
GZIP = b"\x1f\x8b"
UTF_8_MARK = codecs.BOM_UTF8
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
AS_UTF_8 = "Save the file as UTF-8, or say how it is encoded"
HOW_ENCODED = f"{AS_UTF_8}: encoding='cp1252' (--encoding cp1252) is what Excel often writes."
HOW_UTF_16 = f"{AS_UTF_8}; it begins like encoding='utf-16' (--encoding utf-16)."


class TextFile:
    """A file of text."""

    def __init__(self, path: Place, encoding: str | None = None) -> None:
        self.path = path
        self.encoding = encoding  # nothing: UTF-8
        self.compressed = is_compressed(path) or starts(path, 2) == GZIP

    def opened(self) -> IO[bytes]:
        """The bytes, decompressed."""
        return unzipped(self.path) if self.compressed else self.path.open("rb")

    def lines(self) -> IO[str]:
        """The text; bytes that are not UTF-8 become lone surrogates. Line ends stay as they are."""
        errors = "surrogateescape" if self.encoding is None else "strict"
        return TextIOWrapper(
            self.opened(), encoding=self.encoding or "utf-8-sig", errors=errors, newline=""
        )

    def blocks(self) -> Iterator[bytes]:
        """The text as UTF-8, without a byte order mark, in pieces that end anywhere."""
        with self.opened() as file:
            if self.encoding is None:
                first = file.read(BLOCK)
                yield first.removeprefix(UTF_8_MARK)
                while block := file.read(BLOCK):
                    yield block
                return
            decoder = codecs.getincrementaldecoder(self.encoding)()
            while block := file.read(BLOCK):
                yield decoder.decode(block).removeprefix("\ufeff").encode()
            yield decoder.decode(b"", final=True).encode()

    @property
    def how_encoded(self) -> str:
        """What to do about bytes that are not UTF-8."""
        with self.opened() as file:
            return HOW_UTF_16 if file.read(2) in UTF_16_MARKS else HOW_ENCODED


def is_compressed(path: Place) -> bool:
    """Whether the name says that the file is compressed."""
    return path.suffix.lower() == ".gz"


def starts(path: Place, size: int) -> bytes:
    """The first bytes of a file."""
    with path.open("rb") as file:
        return file.read(size)


def check_encoding(encoding: str) -> str | None:
    """The encoding by its usual name, nothing for UTF-8; or an error that shows how to write it.

    >>> check_encoding("Windows-1252"), check_encoding("utf8")
    ('cp1252', None)
    """
    try:
        found = codecs.lookup(encoding)
        "a".encode(encoding)  # refuses what is no encoding of text, such as zip
    except (LookupError, ValueError, TypeError) as error:
        raise ParameterError(
            f"encoding: {printable(str(encoding))!r} is not known. Write cp1252, latin-1, utf-16 "
            "or the like."
        ) from error
    return None if found.name in ("utf-8", "utf-8-sig") else found.name
