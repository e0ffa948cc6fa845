"""Does every episode of a log lie in one place?

A log that is read as it lies must have the rows of an episode together. Within a stretch that is
plain to see, but an episode may come up again a million rows later, or in another file. Labels
that rise settle it at once: the first and the last label of each stretch are enough. Where they do
not rise, or lie among those of another file, all are compared, each as a number of 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from jumar.core.arrays import Ints
from jumar.core.errors import CountsError
from jumar.core.randomness import KEY_SIZE, hash_spans
from jumar.core.text import printable
from jumar.log.shards.plan import CountedFiles

MOST_KEPT = 1 << 16  # labels of a file that rise
NO_KEY = bytes(KEY_SIZE)


@dataclass(frozen=True, eq=False)
class Stretch:
    """The labels of the episodes that begin in some units of a file."""

    first: Any  # label, as Python has it
    last: Any
    rises: bool
    keys: Ints | None = None  # of all, where they were kept


class EpisodeOrder:
    """Watches the labels of one shard as they come. Of few labels in a file keys are kept even
    while they rise: those of other files may lie among them."""

    def __init__(self) -> None:
        self._seen: dict[str, Stretch] = {}  # by file, without keys
        self._keys: dict[str, list[Ints] | None] = {}

    def add(self, file: str, labels: Any) -> None:
        """The labels of episodes that begin, one after the other: whole numbers, or text as an
        Arrow array."""
        if len(labels) == 0:
            return
        first, last = _plain(labels[0]), _plain(labels[len(labels) - 1])
        seen, keys = self._seen.get(file), self._keys.setdefault(file, [])
        goes_on = seen is None or (seen.rises and seen.last < first)
        seen = Stretch(seen.first if seen else first, last, goes_on and _rise(labels))
        self._seen[file] = seen
        if keys is not None:
            keys.append(label_keys(labels))
            if seen.rises and sum(map(len, keys)) > MOST_KEPT:
                self._keys[file] = None

    @property
    def stretches(self) -> dict[str, Stretch]:
        """All that came, by file."""
        return {
            file: replace(seen, keys=np.concatenate(keys) if keys else None)
            for (file, seen), keys in zip(self._seen.items(), self._keys.values(), strict=True)
        }


def repeated(stretches: Sequence[Stretch], keys: Callable[[int], Ints]) -> tuple[int, int] | None:
    """Two stretches, or twice the same, in which an episode begins a second time; None if none
    does. `keys(i)` reads the labels of a stretch once more."""
    if not stretches:
        return None
    kinds = {type(s.first) for s in stretches}
    if all(s.rises for s in stretches) and len(kinds) < 2:
        order = sorted(range(len(stretches)), key=lambda i: stretches[i].first)
        if all(stretches[i].last < stretches[j].first for i, j in pairwise(order)):
            return None
    every = [keys(i) if s.keys is None else s.keys for i, s in enumerate(stretches)]
    if len(kinds) > 1:  # numbers in one file are text in another
        every = [
            _as_text(k) if isinstance(s.first, int) else k
            for k, s in zip(every, stretches, strict=True)
        ]
    joined = np.concatenate(every)
    place = np.argsort(joined, kind="stable")
    again = np.flatnonzero(joined[place[1:]] == joined[place[:-1]])
    if len(again) == 0:
        return None
    ends = np.cumsum([len(k) for k in every])
    one, two = (int(np.searchsorted(ends, place[again[0] + i], side="right")) for i in range(2))
    return one, two


def check_apart(files: CountedFiles) -> str:
    """Could an episode lie in two files that were counted apart? What is to be said about it, or
    nothing."""
    told = [part for part in files.parts if part.labels is not None]
    if not all(part.rising for part in told):
        return (
            "Labels of episodes do not rise in these logs, so it was not checked that no episode "
            "lies in two of them."
        )
    try:
        pairs = sorted(part.labels for part in told if part.labels is not None)
    except TypeError as error:
        raise CountsError(
            "Labels of episodes are numbers in one log and text in another. Write all alike."
        ) from error
    for (_, last), (first, _) in pairwise(pairs):
        if first <= last:
            return (
                f"Labels from {printable(str(first))} to {printable(str(last))} may stand for "
                "episodes in two of these logs. If rows of one episode lie in both, count them "
                "together."
            )
    return ""


def _plain(label: Any) -> Any:
    return label.as_py() if hasattr(label, "as_py") else int(label)


def _rise(labels: Any) -> bool:
    import pyarrow.compute as pc

    if isinstance(labels, np.ndarray):
        return bool((labels[1:] > labels[:-1]).all())
    return len(labels) < 2 or bool(pc.all(pc.greater(labels[1:], labels[:-1])).as_py())


def label_keys(labels: Any) -> Ints:
    """(n,) a number for each label: a whole number itself, of text 64 bits that tell it apart."""
    if isinstance(labels, np.ndarray):
        return labels
    return hash_spans(*text_buffers(labels), NO_KEY).view(np.int64)


def _as_text(numbers: Ints) -> Ints:
    """The keys of labels that are numbers, as if they were written in text."""
    import pyarrow as pa

    return label_keys(pa.array(numbers).cast(pa.string()))


def text_buffers(labels: Any) -> tuple[np.ndarray, Ints]:
    """The bytes of all labels, and (n+1,) where each begins."""
    import pyarrow as pa

    text = labels.cast(pa.large_string())
    if text.offset:
        text = pa.concat_arrays([text])
    _, offsets, data = text.buffers()
    at = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
    letters = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return letters, at
