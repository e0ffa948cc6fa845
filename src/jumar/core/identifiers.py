"""Names as words that other languages accept: letters, digits and underscores."""

from __future__ import annotations

import re
from collections.abc import Sequence

# of PRISM and of DRN; no word of ours may be one of them
_WORDS = (
    "A bool clock const ctmc C double dtmc E endinit endinvariant endmodule endobservables "
    "endrewards endsystem false formula filter func F global G init invariant I int label max mdp "
    "min module X nondeterministic observable observables of Pmax Pmin P pomdp popta "
    "probabilistic prob pta rate rewards Rmax Rmin R S stochastic system true U W start end s o "
    "reward action state deadlock process"
)
_TAKEN = frozenset(_WORDS.split())


def words_for(names: Sequence[str], before: str = "") -> list[str]:
    """Names as words, all different, none with a meaning to a model checker.

    >>> words_for(["open left", "open-left", "2", "true"])
    ['open_left', 'open_left_2', 'a_2', 'a_true']
    """
    words: dict[str, None] = {}
    last: dict[str, int] = {}  # by word: the number that its last double got
    for name in names:
        word = before + re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
        if not word[:1].isalpha() or word in _TAKEN:
            word = f"a_{word}"
        wanted, n = word, last.get(word, 1)
        while word in words:
            n += 1
            word = f"{wanted}_{n}"
        words[word], last[wanted] = None, n
    return list(words)
