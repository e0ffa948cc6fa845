"""One line for many observations of several columns: "high+*" where the second does not matter.

The first rule of a file that fits decides. So rules are found from the last to the first: starting
from the default, always the pattern and action that put right most more names than they put wrong,
until all are right. A name alone puts right one and wrong none, so this ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations

from jumar.core.names import JOINT, WILDCARD

MOST_COLUMNS = 6  # a name of c columns has 2^c patterns


def patterns(usual: Mapping[str, int], default: int) -> list[tuple[str, int, list[str]]]:
    """Patterns in the order of the file, each with its action and the names it decides.

    >>> rule = {"yes+low": 1, "yes+mid": 1, "yes+high": 2, "no+low": 0, "no+high": 0}
    >>> [(pattern, action) for pattern, action, _ in patterns(rule, default=0)]
    [('yes+high', 2), ('yes+*', 1)]
    """
    fits: dict[str, list[str]] = {}
    for name in usual:
        for pattern in _of(name):
            fits.setdefault(pattern, []).append(name)
    said = dict.fromkeys(usual, default)
    found: list[tuple[str, int]] = []
    while any(said[name] != usual[name] for name in usual):
        best, most = ("", 0), 0
        for pattern, names in fits.items():
            wrong = Counter(usual[name] for name in names if said[name] != usual[name])
            if not wrong:
                continue
            action, fixed = wrong.most_common(1)[0]
            broken = sum(said[name] == usual[name] != action for name in names)
            # alone, a name is clearer than a pattern
            if fixed - broken > most and (fixed > 1 or pattern == names[0]):
                best, most = (pattern, action), fixed - broken
        found.insert(0, best)
        said.update(dict.fromkeys(fits[best[0]], best[1]))
    decided: set[str] = set()
    lines = []
    for pattern, action in found:
        own = [name for name in fits[pattern] if name not in decided]
        decided.update(own)
        lines += [(pattern, action, own)] if own else []
    return lines


def _of(name: str) -> Iterator[str]:
    """The name itself, and its patterns."""
    parts = name.split(JOINT)
    yield name
    if not 2 <= len(parts) <= MOST_COLUMNS:
        return
    for count in range(1, len(parts)):
        for stars in combinations(range(len(parts)), count):
            yield JOINT.join(WILDCARD if i in stars else part for i, part in enumerate(parts))
