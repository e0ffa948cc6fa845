"""Files that lie elsewhere: read through a file system of pyarrow, as if they were here."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any

AT_ONCE = 1 << 18  # bytes that are asked for at least: every question takes a while


@dataclass(frozen=True, eq=False, repr=False)
class FarFile:
    """A file in a store. It travels as pyarrow pickles its file system, with credentials."""

    name: str  # how messages call it
    system: Any  # a file system of pyarrow
    path: str  # in it
    size: int  # bytes

    def __repr__(self) -> str:
        return f"FarFile({self.name!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FarFile):
            return NotImplemented
        same = (self.name, self.path, self.size) == (other.name, other.path, other.size)
        return same and bool(self.system.equals(other.system))

    def __hash__(self) -> int:
        return hash((self.name, self.path, self.size))

    def __str__(self) -> str:
        return self.name

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.path).suffix

    def open(self, mode: str = "rb") -> Any:
        """Its bytes, one after the other, as `Path.open` gives them."""
        assert mode == "rb"
        return self.stream(None)

    def stream(self, compression: str | None) -> Any:
        """The same, decompressed."""
        return self.system.open_input_stream(
            self.path, compression=compression, buffer_size=AT_ONCE
        )

    def file(self) -> Any:
        """The file for Arrow, to be read anywhere."""
        return self.system.open_input_file(self.path)


Place = Path | FarFile


def arrow_stream(place: Place, compression: str | None) -> Any:
    """A file from its beginning to its end, decompressed, for Arrow."""
    import pyarrow as pa

    if isinstance(place, FarFile):
        return place.stream(compression)
    return pa.input_stream(str(place), compression=compression)


def arrow_file(place: Place) -> Any:
    """A file that Arrow reads anywhere."""
    import pyarrow as pa

    # not mapped into memory: a file that is cut short meanwhile would end the process
    return place.file() if isinstance(place, FarFile) else pa.OSFile(str(place))


def seekable(place: Place) -> IO[bytes]:
    """The bytes of a file that is read here and there; one that lies elsewhere is fetched whole."""
    if not isinstance(place, FarFile):
        return place.open("rb")
    with place.open() as file:
        return BytesIO(file.read())


def unzipped(place: Place) -> IO[bytes]:
    """The bytes of a file that is compressed."""
    if isinstance(place, FarFile):
        return _Unzipped(place.open())  # type: ignore[return-value]
    return gzip.open(place)  # type: ignore[return-value]


class _Unzipped(gzip.GzipFile):
    """Closes the file that it reads, too."""

    def __init__(self, file: Any) -> None:
        self._under = file
        super().__init__(fileobj=file, mode="rb")

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._under.close()
