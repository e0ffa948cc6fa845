"""Which parts of which files were counted: none may be counted twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from jumar.core.errors import CountsError
from jumar.core.text import printable


class FilePart(NamedTuple):
    """A part of a file that was counted."""

    file: str
    first: int  # row group; 0 for a file without any
    last: int  # not included
    labels: tuple[Any, Any] | None = None  # the first and the last of episodes that begin there
    rising: bool = True  # and do all between them rise?


@dataclass(frozen=True)
class CountedFiles:
    """Which parts of which files were counted; none may be counted twice."""

    parts: tuple[FilePart, ...] = ()

    def __add__(self, other: CountedFiles) -> CountedFiles:
        """
        >>> one = CountedFiles((FilePart("log.parquet", 0, 3, (1, 7)),))
        >>> (one + CountedFiles((FilePart("log.parquet", 3, 5, (8, 9)),))).parts[0][:4]
        ('log.parquet', 0, 5, (1, 9))
        >>> one + CountedFiles((FilePart("log.parquet", 2, 5),))
        Traceback (most recent call last):
        jumar.core.errors.CountsError: log.parquet: a part of it is counted twice. ...
        """
        joined: list[FilePart] = []
        for part in sorted((*self.parts, *other.parts), key=lambda part: part[:3]):
            before = joined[-1] if joined and joined[-1].file == part.file else None
            if before is None or before.last < part.first:
                joined.append(part)
                continue
            if before.last > part.first:
                raise CountsError(
                    f"{printable(part.file)}: a part of it is counted twice. Add each file of "
                    "counts once, and count every shard once."
                )
            joined[-1] = _one_part(before, part)
        return CountedFiles(tuple(joined))

    def to_dict(self) -> list[Any]:
        """In plain JSON types."""
        return [list(part) for part in self.parts]


def _one_part(one: FilePart, two: FilePart) -> FilePart:
    """Two parts of a file of which the second follows the first."""
    rising = one.rising and two.rising
    labels = one.labels or two.labels
    if one.labels and two.labels:
        if type(one.labels[1]) is not type(two.labels[0]):
            raise CountsError(
                f"{printable(one.file)}: labels of episodes are numbers in one part of it and text "
                "in another. Count the whole file again."
            )
        labels = one.labels[0], two.labels[1]
        rising = rising and one.labels[1] < two.labels[0]
    return FilePart(one.file, one.first, two.last, labels, rising)
