"""What is noticed about a log before anything is learned from it.

A check asks a question and answers it always. A notice speaks only if there is something to say,
and brings its remedy as words of the command line. From elsewhere,

    LOOKS.add("zeros", look)

is all that a new one takes: a function of the `Subject` of a check, its sections by name, and a
generator of its own. Notices about results are in `jumar.verdict.noticing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from jumar.core.arrays import ROUNDING, Floats, Ints
from jumar.core.names import JOINT
from jumar.core.plain import picked
from jumar.core.reading import NO_NUMBER
from jumar.core.registry import Registry
from jumar.core.text import counted, percent, printable
from jumar.log.episodes import Episodes

if TYPE_CHECKING:
    from jumar.evidence.checking.base import Section, Subject

RARE = 30  # steps per observation, on average, below which hardly anything can be learned
MOST_WHOLE = 50  # whole numbers up to here may be names: floors, rooms, scores
MUCH, ALMOST_ALL = 0.25, 0.9  # of the squared differences between rewards
DEALS, BEYOND_DOUBT = 30, 8.0  # random deals, and standard errors above them


@dataclass(frozen=True)
class Notice:
    """Something about a log or a result that its reader may have overlooked.

    >>> Notice("cost", "'cost' looks like a cost.", "Add --cost.", ("--cost",)).to_dict()["remedy"]
    'Add --cost.'
    """

    kind: str
    fact: str  # one or two sentences
    remedy: str  # one sentence
    options: tuple[str, ...] = ()  # to add to the command line, or to replace there
    loud: bool = False  # what is learned cannot be relied on until this is settled
    file: str = ""  # of the output folder, that holds the remedy

    def to_dict(self, command: str | None = None) -> dict[str, Any]:
        """In plain JSON types; `command` can be pasted."""
        return {**picked(self, "kind fact remedy"), "command": command}


Look = Callable[..., Iterator[Notice]]

# ---- costs --------------------------------------------------------------------------------------


def look_at_cost(subject: Subject, *_: object) -> Iterator[Notice]:
    """A column of rewards that is called a cost, though nobody said whether more is better.

    The name decides: costs and earnings have the same shape. A name that only tells a unit ("EUR",
    "minutes") says neither; then the question is asked, but nothing is called unreliable.
    """
    from jumar.draft.parts import is_unit, mostly_positive, named_like_cost

    origin, reward = subject.log.origin, subject.log.reward
    if origin is None or origin.cost_said or origin.remarks.rewards_assumed:
        return
    (column,) = origin.columns.get("reward", ("",))
    if not column or not mostly_positive(reward):
        return
    name, never_negative = printable(column), bool((reward >= 0).all())
    read = "It is read as a reward: the more, the better."
    settle = "Add --cost if less is better, or --no-cost if more is better."
    signs = "never negative" if never_negative else "mostly positive"
    fact = f"is called a cost, and its numbers are {signs}"
    if not (loud := named_like_cost(column)):
        fact = "does not say whether it holds costs or earnings"
    if loud or (is_unit(column) and never_negative):
        yield Notice("cost", f"The column {name!r} {fact}. {read}", settle, ("--cost",), loud)


# ---- readings -----------------------------------------------------------------------------------


def look_at_readings(subject: Subject, *_: object) -> Iterator[Notice]:
    """Numbers that were never cut into ranges: nearly every step is an observation of its own.

    Then no history state is met twice, nothing can be learned, and a longer log would not help. Of
    a combined observation each column is looked at by itself.
    """
    log = subject.log
    found = _uncut(log)
    if not found:
        return
    seen = len(np.unique(log.observation))
    loud = log.n_steps < RARE * seen
    which = ", ".join(repr(printable(name)) for name, _ in found if name) or "The observation"
    fact = (
        f"{which} {'holds' if len(found) == 1 else 'hold'} numbers that were never cut into "
        f"ranges: {counted(log.n_steps, 'step')} show {seen:,} different observations."
    )
    if loud:
        fact += " Each is met too seldom to learn from, and a longer log will not help."
    options = _bins(log, found)
    if options and subject.practice.controllers and not subject.estimated:
        options += ("--policy", "estimate")  # a policy written for the numbers knows no range
    remedy = "Cut them into ranges that matter to you"
    if options:
        remedy += ", for example at these round numbers, and change them if you know better"
    yield Notice("readings", fact, f"{remedy} (--bins).", options, loud=loud)


def _uncut(log: Episodes) -> list[tuple[str, Floats]]:
    """The columns of numbers with so many values that they need ranges: the name ("" where nobody
    knows), and (N,) the number at every step, NaN where nothing was read."""
    columns = log.origin.columns.get("observation", ()) if log.origin else ()
    parts = [name.split(JOINT) for name in log.observations]
    width = max(1, len(columns))
    if any(len(cells) != width for cells in parts):  # a name with a "+" of its own
        parts, width = [[name] for name in log.observations], 1
    found = []
    for k in range(width):
        values = _numbers(log, [cells[k] for cells in parts])
        if values is not None:
            found.append(("".join(columns[k : k + 1]), values))
    return found


def _numbers(log: Episodes, cells: list[str]) -> Floats | None:
    from jumar.draft.looking import as_number
    from jumar.draft.ranges import needs_ranges

    seen = set(np.unique(log.observation).tolist())
    number = np.array([as_number(cell) for cell in cells])
    words = [cell for z, cell in enumerate(cells) if z in seen and np.isnan(number[z])]
    if any(word.strip().lower() not in ("", "nan", *NO_NUMBER) for word in words):
        return None
    values: Floats = number[log.observation]
    known = np.unique(values[~np.isnan(values)])
    names = bool((known == np.floor(known)).all()) and len(known) <= MOST_WHOLE
    return values if needs_ranges(len(known), log.n_steps) and not names else None


def _bins(log: Episodes, found: list[tuple[str, Floats]]) -> tuple[str, ...]:
    """Ranges for every column, as words of the command line; none where one has no ranges."""
    from jumar.draft.ranges import cut, named

    options: list[str] = []
    for column, values in found:
        edges = cut(values, log.action)
        if not edges or not column or "=" in column:
            return ()
        options += ["--bins", f"{column}={':'.join(str(item) for item in named(edges))}"]
    return tuple(options)


# ---- exploration --------------------------------------------------------------------------------


def look_at_exploration(
    subject: Subject, sections: Mapping[str, Section], rng: np.random.Generator
) -> Iterator[Notice]:
    """The exploration that a file declares, against the one that the log shows.

    Whether the likeliest one, written with two digits, fits is told by the same test that the
    declared one failed.
    """
    from jumar.evidence.checking.actions import check_fit, with_policy

    fit, practice = sections.get("fit"), subject.practice
    if fit is None or fit.verdict.status != "failed" or practice.several:
        return
    acting = with_policy(practice)
    bare = subject.behavior.intended.rows_at(acting.states)
    ε = float(f"{likeliest(acting.taken, bare):.2g}")
    exploring = replace(acting, policy=(1 - ε) * bare + ε / bare.shape[1])
    again = check_fit(exploring, subject.settings, rng)
    name, declared = printable(subject.behavior.name), subject.behavior.exploration
    if again.verdict.status != "failed":
        fits = f"exploration = {ε:g} would fit the log (p = {again['p']:.2g})."
        fact = f"{name} says exploration = {declared:g}, but {fits}{_worst(fit)}"
        remedy = f"Write exploration = {ε:g} in the file, or add --exploration {ε:g}."
        yield Notice("exploration", fact, remedy, ("--exploration", f"{ε:g}"))
    else:
        fact = f"No exploration makes {name} fit the log.{_worst(again)}"
        remedy = "Correct the rule in the file; or leave the file out and estimate what was done."
        yield Notice("rule", fact, remedy, ("--policy", "estimate"))


def likeliest(taken: Ints, bare: Floats) -> float:
    """The exploration that makes the actions likeliest: ε̂ = argmax Σ n(x, a) log( (1 - ε) b(a | x)
    + ε / A ) with b what the policy does without exploration; a concave function of ε.

    >>> round(likeliest(np.array([[97, 3]]), np.array([[1.0, 0.0]])), 3)
    0.06
    """
    from scipy.optimize import minimize_scalar

    used = taken > 0
    n, b, A = taken[used], bare[used], bare.shape[1]
    found = minimize_scalar(
        lambda ε: -float((n * np.log((1 - ε) * b + ε / A)).sum()),
        bounds=(1e-9, 1 - 1e-9),
        method="bounded",
        options={"xatol": 1e-6},
    )
    return float(found.x)


def _worst(fit: Section) -> str:
    """A sentence on the situation that fits worst."""
    return "".join(
        f" It fits worst at {row['situation']!r}: it does {row['action']!r} "
        f"{percent(row['expected'])} of the time, the log {percent(row['seen'])} of "
        f"{row['visits']:,} times."
        for row in fit["misfits"][:1]
    )


# ---- last rows ----------------------------------------------------------------------------------


def look_at_last_rows(subject: Subject, *_: object) -> Iterator[Notice]:
    """Outcomes on last rows of which the log does not say that the episode ended there.

    What followed such a step is unknown, so no model can use it: it is left out of what is learned,
    together with its reward. Where rewards differ there and hardly anywhere else, nothing that
    matters is learned.
    """
    log, known = subject.log, subject.replay.known
    left_out = int((~known).sum())
    if left_out == 0:
        return
    # from what is usual in the steps that are used: outcomes may be alike, but unlike all the rest
    usual = float(log.reward[known].mean()) if known.any() else float(log.reward.mean())
    squares = (log.reward - usual) ** 2
    lost, used = float(squares[~known].sum()), float(squares[known].sum())
    rounding = (ROUNDING * float(np.abs(log.reward).max())) ** 2 * log.n_steps
    if lost + used <= rounding or lost < MUCH * (lost + used):
        return
    by_column = log.origin is not None and "terminated" in log.origin.columns
    settle = "mark their last rows as terminated" if by_column else "say so (--ends terminated)"
    yield Notice(
        "last rows",
        f"The log does not say what followed the last step of {counted(left_out, 'episode')}, so "
        f"these steps are left out of what is learned, and {percent(lost / (lost + used))} of the "
        "differences between rewards lie there.",
        f"If episodes end there, {settle}; if recordings only stop there, add what was seen next "
        "as a closing row.",
        () if by_column else ("--ends", "terminated"),
        loud=lost >= ALMOST_ALL * (lost + used),
    )


# ---- memory -------------------------------------------------------------------------------------


def look_at_memory(
    subject: Subject, sections: Mapping[str, Section], rng: np.random.Generator
) -> Iterator[Notice]:
    """A rule that remembers less than whoever acted: "half of the time" may be "every second time".

    A rule with dice can fit how often each action was taken, history state by history state, though
    what was done depends on more than it remembers. Then no weight is right that is computed from
    it. The test is that of an estimated behavior (`checking.memory`). As this is said loudly, it
    must be beyond doubt: the likelihood ratio must lie many standard errors above random deals.
    """
    from jumar.draft.rule import remembered
    from jumar.evidence.checking.memory import deal_of
    from jumar.memory.refinement import one_more

    practice, fit = subject.practice, sections.get("fit")
    if subject.estimated or practice.only is None or fit is None or fit.verdict.status == "failed":
        return
    memory = subject.behavior.memory
    finer = one_more(memory)
    if finer is None:
        return
    fine = subject.replays.over(finer)  # first: the other is then a projection of it
    deal = deal_of(subject.replays.over(memory), fine)
    if deal.taken.size == 0:
        return
    drawn = np.array(list(deal.statistics(DEALS, rng)))
    if deal.statistic(deal.taken) <= drawn.mean() + BEYOND_DOUBT * max(1.0, float(drawn.std())):
        return
    name, window = printable(subject.behavior.name), str(max(2, remembered(subject.log)))
    yield Notice(
        "remembers",
        f"The actions depend on more than {name!r} remembers: a {finer} explains them far better. "
        "So this rule did not make the log, though it does each action about as often.",
        "Write what it remembers into the rule, or let it be estimated with a memory.",
        ("--policy", "estimate", "--window", window),
        loud=True,
    )


LOOKS: Registry[Look] = Registry(
    "notice",
    {
        "cost": look_at_cost,
        "readings": look_at_readings,
        "exploration": look_at_exploration,
        "last rows": look_at_last_rows,
        "remembers": look_at_memory,
    },
)
