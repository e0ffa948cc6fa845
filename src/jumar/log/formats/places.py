"""Where the bytes of a log lie: in a file here, in a store, in a pipe; compressed or not.

A file in a store is read through a file system of pyarrow, as if it were here. What can be read
only once, standard input or a pipe, is first put into a temporary file: a log is read more than
once, for its header, for the rows of a message, for its fingerprint.
"""

from __future__ import annotations

import codecs
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BytesIO, TextIOWrapper
from pathlib import Path, PurePosixPath
from typing import IO, Any

from jumar.core.errors import LogError, ParameterError
from jumar.core.text import printable

AT_ONCE = 1 << 18  # bytes that are asked for at least in a store: every question takes a while
BLOCK = 1 << 22  # bytes of text read at a time
HEAD = 1 << 12  # bytes by which a format is recognised
STDIN = "-"
GZIP = b"\x1f\x8b"
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
AS_UTF_8 = "Save the file as UTF-8, or say how it is encoded"
HOW_ENCODED = f"{AS_UTF_8}: encoding='cp1252' (--encoding cp1252) is what Excel often writes."
HOW_UTF_16 = f"{AS_UTF_8}; it begins like encoding='utf-16' (--encoding utf-16)."
_MAGIC = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\xff\xff\xff\xff": "Arrow",  # a stream
    b"PK\x03\x04": "Excel",
}


@dataclass(frozen=True)
class FarFile:
    """A file in a store. It travels as pyarrow pickles its file system, with credentials."""

    name: str  # how messages call it
    system: Any = field(repr=False, compare=False)  # a file system of pyarrow
    path: str  # in it
    size: int  # bytes

    def __str__(self) -> str:
        return self.name

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.path).suffix


Place = Path | FarFile


def arrow_stream(place: Place, compression: str | None = None) -> Any:
    """The bytes of a file from its beginning to its end, decompressed."""
    import pyarrow as pa

    if isinstance(place, FarFile):
        return place.system.open_input_stream(
            place.path, compression=compression, buffer_size=AT_ONCE
        )
    return pa.input_stream(str(place), compression=compression)


def arrow_file(place: Place) -> Any:
    """A file that Arrow reads anywhere."""
    import pyarrow as pa

    if isinstance(place, FarFile):
        return place.system.open_input_file(place.path)
    return pa.OSFile(str(place))  # not mapped into memory: one that is cut short ends the process


def seekable(place: Place) -> IO[bytes]:
    """The bytes of a file that is read here and there; one that lies elsewhere is fetched whole."""
    if isinstance(place, FarFile):
        with arrow_stream(place) as file:
            return BytesIO(file.read())
    return place.open("rb")


def starts(place: Place, size: int, compression: str | None = None) -> bytes:
    """The first bytes of a file."""
    with arrow_stream(place, compression) as file:
        found: bytes = file.read(size)
        return found


def is_compressed(path: Place) -> bool:
    """Whether the name says that the file is compressed."""
    return path.suffix.lower() == ".gz"


# ---- text ---------------------------------------------------------------------------------------


class TextFile:
    """A file of text, perhaps compressed, in UTF-8 or in an encoding that was asked for."""

    def __init__(self, path: Place, encoding: str | None = None) -> None:
        self.path = path
        self.encoding = encoding  # nothing: UTF-8
        self._compressed = is_compressed(path) or starts(path, 2) == GZIP

    def opened(self) -> Any:
        """The bytes, decompressed."""
        return arrow_stream(self.path, "gzip" if self._compressed else None)

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
                yield file.read(BLOCK).removeprefix(codecs.BOM_UTF8)
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


def is_not_utf8(text: str) -> bool:
    """Has the text bytes that were not UTF-8?"""
    return not text.isascii() and any("\udc80" <= letter <= "\udcff" for letter in text)


def check_encoding(encoding: str) -> str | None:
    """The encoding by its usual name, nothing for UTF-8; or an error that shows how to write it."""
    try:
        found = codecs.lookup(encoding)
        "a".encode(encoding)  # refuses what is no encoding of text, such as zip
    except (LookupError, ValueError, TypeError) as error:
        raise ParameterError(
            f"encoding: {printable(str(encoding))!r} is not known. Write cp1252, latin-1, utf-16 "
            "or the like."
        ) from error
    return None if found.name in ("utf-8", "utf-8-sig") else found.name


# ---- standard input and pipes -------------------------------------------------------------------


@dataclass(frozen=True)
class Spooled:
    """A temporary file, and what it was read from. As a path it is the file, as text the name that
    was given."""

    path: Path
    given: str

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return self.given

    @property
    def name(self) -> str:
        """How messages call it."""
        return "standard input" if self.given == STDIN else self.given


@contextmanager
def spooled(source: Any) -> Iterator[Any]:
    """The source, or the temporary file into which it was read if it can be read only once."""
    named = isinstance(source, str | os.PathLike) and not isinstance(source, Spooled)
    if not named or not (str(source) == STDIN or _is_pipe(Path(source))):
        yield source
        return
    handle, path = tempfile.mkstemp(prefix="jumar-", suffix=".tmp")
    file = Spooled(Path(path), str(source))
    try:
        try:
            with os.fdopen(handle, "wb") as target:
                if file.given == STDIN:
                    shutil.copyfileobj(sys.stdin.buffer, target)
                else:
                    with open(file.given, "rb") as pipe:
                        shutil.copyfileobj(pipe, target)
        except OSError as error:
            raise LogError(
                f"{file.name}: cannot be put into a temporary file in '{file.path.parent}' "
                f"({error.strerror or error}). Make room there, or name another folder with TMPDIR."
            ) from error
        yield file
    finally:
        with suppress(OSError):
            os.unlink(path)


def _is_pipe(path: Path) -> bool:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def format_by_content(path: Path) -> str | None:
    """The format, by the first bytes of a file; nothing if they look like no log."""
    head = starts(path, HEAD)
    if head.startswith(GZIP):
        try:
            head = starts(path, HEAD, "gzip")
        except OSError:
            return None
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    if head.startswith(UTF_16_MARKS):
        head = head[2:].replace(b"\0", b"")
    if b"\0" in head:
        return None
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if text.startswith(b"{"):
        return "NDJSON"
    return "JSON" if text.startswith(b"[") else "CSV"
