"""How much does the log tell? What reading it changed, how the steps are spread, what was cut off.

*Rows.* Nothing that the reader puts right is wrong by itself: rows may come in any order,
recordings may have gaps, rewards may be computed from prices. But whoever trusts the result should
know what was done to the file.

*Spread.* An improvement can only rest on pairs (history, action) that were tried often enough. A
history has a *choice* when two of its actions were. Where there is none, the behavior stays as it
is.

*Cuts.* A record of T steps that was cut off says nothing of what came later, which has γ^T of the
weight that a value for ever gives to its episode. The mean of that share over all episodes (0 for
those that ended) is the part of every value that comes from a model, or from elsewhere in the log,
and from no return that was seen. Records of 6 steps at a discount of 0.95 leave 74 % open.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jumar.core.reading import Files, row_words
from jumar.core.text import percent, plural
from jumar.evidence.checking.base import Columns, Question, Section, look, passed, table
from jumar.log.episodes import Episodes, Remarks
from jumar.tally.replay import Replay

FEW, USUAL = 5, 20  # times that two actions must have been tried, for a choice between them
LITTLE = 0.1  # of all steps lie where there is a choice
MANY, RARE = 100, 10  # histories, and steps per history, where more of the same is no remedy
MUCH, MOST = 0.05, 0.5  # of the weight lies beyond cuts; more is worth a look

# ---- rows ---------------------------------------------------------------------------------------


def check_rows(log: Episodes) -> Section | None:
    """The reader's remarks; None for a log that was not read from anywhere."""
    if log.origin is None:
        return None
    found = log.origin.remarks
    keys = ("count", "what", "serious")
    told = (dict(zip(keys, one, strict=True)) for one in _remarks(found, log.origin.files))
    remarks = [remark for remark in told if remark["count"]]
    verdict = passed("All rows were read as they stand.")
    if serious := [f"{r['count']:,} {r['what']}" for r in remarks if r["serious"]]:
        verdict = look("Reading changed the file: " + "; ".join(serious) + ".")
    facts = {"source": log.origin.source, "rows": found.rows, "remarks": remarks}
    heads: Columns = {"how many": lambda row: f"{row['count']:,}", "what": "what"}
    return Section(verdict, facts, table(remarks, heads))


def _remarks(r: Remarks, files: Files) -> Iterator[tuple[int, str, bool]]:
    """How many rows, episodes or values something was done to, what, and can it change what is
    learned?"""
    early = r.first_out_of_order
    first = "" if early is None else f" (first: {row_words(early, files)})"
    assumed, costs = r.rows * r.rewards_assumed, r.rows * r.costs
    rest = "that repeats another" if r.repeated == 1 else "that repeat another"
    between = "with rows of others in between, put together"
    yield r.out_of_order, f"{plural('row', r.out_of_order)} out of order, sorted{first}", True
    yield r.interleaved, f"{plural('episode', r.interleaved)} {between}", False
    yield r.repeated, f"{plural('row', r.repeated)} {rest}, left out", True
    yield r.dropped, f"{plural('episode', r.dropped)} with a missing value, left out", True
    yield r.replaced, f"missing {plural('observation', r.replaced)}, called 'missing'", False
    yield r.gaps, f"{plural('gap', r.gaps)} at which an episode was cut in two", False
    yield assumed, f"{plural('row', assumed)} whose reward was computed from prices", True
    yield costs, f"{plural('row', costs)} whose reward is a cost, negated", False
    for guess in r.guessed:
        yield r.rows, f"{plural('row', r.rows)} {guess}", False


# ---- spread -------------------------------------------------------------------------------------


def check_spread(replay: Replay) -> Section:
    """Count how often every history and every pair came up with a known outcome."""
    known, taken = replay.known, replay.taken
    tried = np.bincount(replay.pair[known], minlength=taken.size).reshape(taken.shape)
    tried = tried[taken.any(1)]
    visits = tried.sum(1)
    steps, histories = int(visits.sum()), len(tried)
    # two actions that were tried more often than this
    few, usual = ((tried > least).sum(1) > 1 for least in (FEW, USUAL))
    rare, share = (float(visits[chosen].sum() / max(steps, 1)) for chosen in (few, usual))
    where = f"situations with two actions seen more than {USUAL} times each"
    if rare < LITTLE and histories > MANY and steps < RARE * histories:
        verdict = look(
            f"{steps:,} steps are spread over {histories:,} situations: each is met too seldom to "
            "learn from. Remember less, or cut readings into ranges: more of the same log helps "
            "little.",
        )
    elif not few.any():
        verdict = look(
            f"In no situation were two actions seen more than {FEW} times each: there is nothing "
            "to choose between, so nothing can be improved safely from this log.",
        )
    elif share < LITTLE:
        verdict = look(
            f"Only {percent(share)} of the steps lie in {where}: little can be improved safely. "
            "Log more, or explore more.",
        )
    else:
        verdict = passed(f"{percent(share)} of the steps lie in {where}.")
    facts = {
        "memory": str(replay.memory),
        "steps": steps,  # with known outcome
        "left_out": int((~known).sum()),  # the log does not tell what followed
        "histories": histories,
        "pairs": tried.size,  # of these histories with every action
        "never": int((tried == 0).sum()),  # pairs that were never tried
        "choices": int(usual.sum()),  # histories with two actions seen more than USUAL times each
        "share": share,  # of all steps, spent in these
    }
    return Section(verdict, facts)


# ---- cuts ---------------------------------------------------------------------------------------


def check_cuts(log: Episodes, discount: float | None) -> Section | None:
    """What the cuts hide; None where nothing was cut off, or without a discount below 1."""
    cut, E = int((~log.terminated).sum()), len(log)
    if cut == 0 or discount is None or discount == 1:
        return None
    beyond = log.beyond_cut(discount)
    were = "was" if cut == 1 else "were"
    much = f"{100 * beyond:.2g} %" if beyond >= 1e-4 else "less than 0.01 %"
    said = f"{cut:,} of {E:,} {were} cut off; {much} of what counts happens after that."
    if beyond > MUCH:
        said += " There we rely on a model."
    if beyond > MOST:
        said += (
            " What pays only later does not show in such records; keep your policy unless the "
            "memory is known to suffice."
        )
    verdict = (look if beyond > MUCH else passed)(said)
    return Section(verdict, {"episodes": E, "cut": cut, "discount": discount, "beyond": beyond})


ROWS = Question("What did reading the file change?", lambda subject, rng: check_rows(subject.log))
SPREAD = Question(
    "Is there enough data, where it matters?", lambda subject, rng: check_spread(subject.replay)
)
CUTS = Question(
    "How much lies beyond where recordings stop?",
    lambda subject, rng: check_cuts(subject.log, subject.discount),
)
