"""`auto`: choose memory and controller from the log, and test the choice on held-out episodes.

    dealing                each unit into a half and a block, by its hash; the log as all see it
    limits, scoring, bets  what returns are possible; one score per unit; bets on scores
    makers, candidates     who makes candidates; the candidates, and what models expect of them
    bench                  where they are fitted and scored, over every memory they may have
    proved, asymptotic     the two tests; objectives: signals that must not get worse
    halves                 candidates of one half on the other; surveying: of logs not held
    selecting              `auto`: from what is asked to a choice
    trials, outcome        what was tried; the certificates; samples: how much more data it takes

Free to change: how candidates are made, judged and listed, for that is decided by the half that is
learned from, and no such choice can make a test false. Held in place by the proof: `dealing` (a
unit's half and block come from its label and the seed alone), `limits` and `scoring` (a score has
the gain as its mean, and is never below the floor), `bets` (fixed before a score is seen, on units
in the order of hashes), and the shares of the level in `proved`.
"""

from __future__ import annotations

from jumar.gate.selecting import held_out_test, select
from jumar.gate.trials import GATES, Selection, Setting, Trial

__all__ = ["GATES", "Selection", "Setting", "Trial", "held_out_test", "select"]
