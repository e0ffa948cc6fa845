"""Which column plays which part, with reasons a person can check.

A part is given to the column that speaks for it most: by its name, and by what stands in it. The
order matters: times and episodes are recognised by their pattern, so what remains can only be an
action (few values), a reward (numbers) or an observation (the rest).

An observation is made of columns that were known before the action (`timing`), and that what was
done depends on. They are taken one by one, always the one that tells most about the action beside
those taken already. Then come those that nothing was decided by and that matter for what follows,
as a forecast that the old policy ignored. It ends when nothing is gained, or when there would be
more combinations than the log can fill.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints
from jumar.core.text import counted, printable
from jumar.draft.looking import Column, FirstLook
from jumar.draft.ranges import dependence, outcome_dependence
from jumar.draft.timing import AFTER, Timing, followed, next_rows, timing
from jumar.log.reading.options import ROW

# Words in the names of columns, in English and a few other languages of industry.
WORDS: dict[str, str] = {
    "episode": "episode trajectory run case id machine pump bus truck vehicle engine bridge asset "
    "patient person user customer client call session dialog dialogue conversation ticket block "
    "plot site unit equipment device participant subject visitor game maschine anlage fall "
    "patientin kunde batch charge_nr job shipment auftrag",
    "step": "step turn index t seq sequence no nr number order position schritt round",
    "time": "time date timestamp day week month year datetime hour when datum zeit tag woche monat "
    "jahr fecha fechas jour",
    "reward": "reward cost costs score benefit profit gain payoff price return penalty revenue "
    "loss expense value points utility kosten preis erlös ertrag nutzen coût costo coste belohnung "
    "paid outcome income earnings downtime charge fee rating satisfaction amount betrag "
    "result_value csat",
    "action": "action act decision decided work response treatment intervention measure done did "
    "choice maintenance repair command said reply therapy dose prescription aktion maßnahme "
    "massnahme entscheidung behandlung acción bot agent operator ordered answer move",
    "observation": "observation obs finding state reading status symptom heard seen sensor signal "
    "vibration noise temperature pressure level condition result test befund zustand wetness "
    "intent utterance tigers",
    "terminated": "terminated done end ended final finished closed terminal over completed failed "
    "last is_last",
    "propensity": "propensity prob probability chance",
    "cluster": "cluster plant factory clinic hospital region group site household school",
    "behavior": "behavior behaviour policy controller rule protocol version variant arm nurse "
    "doctor clinician physician worker technician inspector employee staff operator arzt",
}
COST_WORDS = (
    "cost", "costs", "price", "penalty", "loss", "expense", "kosten", "preis", "coût", "cout",
    "costo", "coste", "downtime", "charge", "fee", "damage", "spend", "spent", "expenditure",
    "aufwand", "ausgaben", "burden", "harm",
)  # fmt: skip
COST_ENDINGS = ("cost", "costs", "kosten", "preis", "aufwand")  # of words written together
SAVED_WORDS = ["saved", "saving", "savings", "avoided", "reduction", "benefit", "negative", "neg"]
UNITS = {
    "eur": "EUR", "€": "EUR", "euro": "EUR", "euros": "EUR", "usd": "USD", "dollar": "USD",
    "dollars": "USD", "$": "USD", "gbp": "GBP", "chf": "CHF", "min": "minutes",
    "minutes": "minutes", "hours": "hours", "h": "hours", "kwh": "kWh", "points": "points",
}  # fmt: skip
SILENT = {"points"}  # a unit of what is won
AMOUNTS = {"amount", "total", "betrag"}  # say no more than their unit
CURRENCIES = ("eur", "euro", "euros", "usd", "dollar", "dollars", "gbp", "chf")
# numbers of money that are known before anything is done are readings
BEFORE_WORDS = ("quoted", "quote", "offer", "offered", "asked", "list", "planned", "budget")
_WORD = {part: frozenset(words.split()) for part, words in WORDS.items()}
UNDECIDED = "known before the action or not? If it was, add it to observation"
MOST_ACTIONS = 40
FEW_EPISODES = 20  # fewer are hardly what one learns from
MOST_OBSERVED = 3  # columns
ROWS_EACH = 50  # rows for every combination of values
LEAST_PART = 0.05  # of what the first told: readings that only go along with it tell a little


@dataclass(frozen=True)
class Proposal:
    """A column for a part, and why."""

    part: str
    column: str
    reasons: tuple[str, ...]


def words_of(name: str) -> list[str]:
    """The words in the name of a column.

    >>> words_of("repairCost_EUR")
    ['repair', 'cost', 'eur']
    """
    apart = re.sub(r"([a-zà-ÿ])([A-Z])", r"\1 \2", name)
    return [word for word in re.split(r"[\W_0-9]+", apart.lower()) if word]


def speaks_for(name: str, part: str) -> bool:
    """Does the name of a column speak for a part?"""
    known = _WORD[part]
    words = words_of(name)
    return any(word in known for word in words) or name.strip().lower() in known


@dataclass(frozen=True)
class Proposals:
    """Which column plays which part, and why others play none."""

    proposals: tuple[Proposal, ...]
    aside: Mapping[str, str]  # columns that no policy may look at, or may not for all we know


def propose(seen: FirstLook) -> Proposals:
    """Which column plays which part. Parts that no column can play are left out."""
    proposing = _Proposing(seen)
    return Proposals(tuple(proposing.run()), proposing.aside)


class _Proposing:
    def __init__(self, seen: FirstLook) -> None:
        self._left: dict[str, Column] = dict(seen.columns)
        self._seen = seen
        self._rows = seen.rows
        self._found: dict[str, Column] = {}
        self._apart = False  # is every row an episode?
        self.aside: dict[str, str] = {}

    def run(self) -> Iterator[Proposal]:
        yield from self._first("propensity", "all values are from 0 to 1", _is_chance)
        yield from self._episode()
        yield from self._clock()
        clock = self._found.get("time", self._found.get("step"))
        self._apart = clock is None and "episode" not in self._found
        if self._apart:
            yield Proposal("episode", ROW, ("every row is an episode of its own; please check",))
        self._after = next_rows(self._episode_code, clock)
        yield from self._first("terminated", "it says yes in last rows alone", self._ends_episodes)
        yield from self._first("cluster", "one value in each episode", self._splits_episodes)
        who = list(self._first("behavior", "one value in each episode", self._names_who_acted))
        if "propensity" in self._found:  # they say how everybody acted
            self.aside |= {item.column: "names who acted, as propensities say" for item in who}
        else:
            yield from who
        yield from self._action()
        yield from self._reward()
        yield from self._observations()

    # ---- the parts, in the order in which they are found ----------------------------------

    def _first(self, part: str, why: str, fits: Callable[[Column], bool]) -> Iterator[Proposal]:
        """The first column whose name speaks for the part, and that could be it."""
        for name, column in self._left.items():
            if speaks_for(name, part) and fits(column):
                yield self._take(part, name, "its name", why)
                return

    def _episode(self) -> Iterator[Proposal]:
        scores = {}
        for name, column in self._left.items():
            if column.missing.any() or column.is_time or column.distinct == 0:
                continue
            if column.is_number and not column.is_whole:
                continue
            length = self._rows / column.distinct
            if column.distinct < min(FEW_EPISODES, length) and not column.stands_together:
                continue  # a few kinds of rows, as "phone" and "desktop"
            score = 3.0 * speaks_for(name, "episode") + 2.0 * column.stands_together
            score += 1.0 if 1.5 <= length <= self._rows / 2 else -2.0
            scores[name] = (
                score - 2.0 * _plays_another(name) + 0.5 * (name == next(iter(self._left)))
            )
        best = max(scores, key=scores.__getitem__, default=None)
        if best is None or scores[best] < 1.5:
            return
        best = self._finer(best, scores)
        column = self._left[best]
        reasons = ["its name"] if speaks_for(best, "episode") else []
        if column.stands_together:
            reasons.append("its rows stand together")
        mean = self._rows / column.distinct
        reasons.append(f"{counted(column.distinct, 'value')}, {mean:.3g} rows each")
        yield self._take("episode", best, *reasons)

    def _finer(self, best: str, scores: Mapping[str, float]) -> str:
        """A label within the best one, where that has few values: batches of two machines."""
        outer = self._left[best]
        if outer.distinct >= FEW_EPISODES:
            return best
        for name in sorted(scores, key=lambda name: -scores[name]):
            inner = self._left[name]
            pairs = len(np.unique(outer.code * (inner.distinct + 1) + inner.code))
            enough = FEW_EPISODES <= inner.distinct <= self._rows / 1.5
            label = not inner.is_number or speaks_for(name, "episode")
            if label and enough and pairs == inner.distinct and not _plays_another(name):
                return name
        return best

    def _clock(self) -> Iterator[Proposal]:
        """A column that never repeats within an episode, and rises in the file or can be sorted."""
        candidates = []
        for name, column in self._left.items():
            named = speaks_for(name, "time") or speaks_for(name, "step")
            if column.missing.any() or not (column.is_time or column.is_number):
                continue
            counts = column.is_whole and self._counts_within(column)
            if not (column.is_time or named or counts) or not self._distinct_within(column):
                continue
            candidates.append((3 * column.is_time + 2 * named + counts, name))
        for _, name in sorted(candidates, key=lambda item: -item[0])[:1]:
            column = self._left[name]
            calendar = speaks_for(name, "time") and not speaks_for(name, "step")
            part = "time" if column.is_time or calendar else "step"
            reasons = ["it holds dates or times"] if column.is_time else []
            if part == "step" and column.is_whole and self._counts_within(column):
                reasons.append("it counts 1, 2, 3, ...")
            elif not column.is_time:
                reasons.append("its name")
            reasons.append("no value twice in an episode")
            yield self._take(part, name, *reasons)

    def _reward(self) -> Iterator[Proposal]:
        named = [
            column
            for name, column in self._left.items()
            if column.is_number and not column.missing.all() and speaks_for(name, "reward")
        ]
        if named:  # of equals, the one that stands last
            best = min(reversed(named), key=_doubts)
            yield self._take("reward", best.name, "its name", "it holds numbers")
            return
        came = [
            column
            for column in self._left.values()
            if column.is_number and column.distinct > 1 and self._timing(column).score > 0
        ]
        if came:
            told = "numbers that tell what came of it; please check"
            yield self._take("reward", came[-1].name, told)

    def _action(self) -> Iterator[Proposal]:
        short = len(np.unique(self._episode_code)) == self._rows  # in one row all is constant
        few = [
            column
            for column in self._left.values()
            if 2 <= column.distinct <= MOST_ACTIONS
            and (not column.is_number or column.is_whole)
            and (short or not self._constant_within(column))
        ]
        named = [column for column in few if speaks_for(column.name, "action")]
        words = [
            column
            for column in few
            if not column.is_number
            and not speaks_for(column.name, "observation")
            and not AFTER.intersection(words_of(column.name))
        ]
        if named:
            best = min(named, key=lambda column: (len(words_of(column.name)), column.distinct))
            yield self._take("action", best.name, "its name", _values(best))
        elif words:
            last = words[-1]  # what was done usually stands after what was seen
            yield self._take("action", last.name, "few values, all words", _values(last))

    def _observations(self) -> Iterator[Proposal]:
        usable = [
            column
            for column in self._left.values()
            if column.distinct > 1
            and not column.is_time
            and not self._names_episodes(column)
            and (column.is_number or column.distinct <= max(50, int(self._rows**0.5)))
            and self._is_known(column)
        ]
        action, reward = self._found.get("action"), self._found.get("reward")
        follows = None if reward is None else followed(reward, self._after)
        constant = [column.name for column in usable if self._constant_within(column)]
        first = np.ones(self._rows, np.bool_)
        first[self._after[self._after >= 0]] = False
        for column, why in choose(
            usable, None if action is None else action.code, follows, constant, first
        ):
            named = ["its name"] if speaks_for(column.name, "observation") else []
            what = "numbers" if column.is_number else _values(column)
            yield self._take("observation", column.name, *named, *filter(None, [why]), what)

    # ---- patterns -------------------------------------------------------------------------

    def _timing(self, column: Column) -> Timing:
        if "action" not in self._found:
            return Timing(-1, "")
        return timing(column, self._seen, self._found["action"], self._after, words_of)

    def _is_known(self, column: Column) -> bool:
        """Was it known before the action, as far as anybody can tell?"""
        found = self._timing(column)
        if found.score > 0:
            self.aside[column.name] = f"what came of an action: {found.why}"
        elif found.score == 0:
            self.aside[column.name] = UNDECIDED
        return found.score < 0

    def _ends_episodes(self, column: Column) -> bool:
        """Does it hold yes or no, and no but in last rows?"""
        yes = [name.strip().lower() in ("true", "yes", "y", "1", "t") for name in column.names]
        said = np.array([*yes, False])[column.code]
        return column.is_flag and not said[self._after >= 0].any()

    def _names_who_acted(self, column: Column) -> bool:
        few = 2 <= column.distinct <= MOST_ACTIONS and not column.missing.any()
        return few and not column.is_time and self._constant_within(column)

    def _take(self, part: str, name: str, *reasons: str) -> Proposal:
        self._found[part] = self._left.pop(name)
        return Proposal(part, name, tuple(reasons))

    @property
    def _episode_code(self) -> Ints:
        column = self._found.get("episode")
        if column is not None:
            return column.code
        return np.arange(self._rows) if self._apart else np.zeros(self._rows, np.int64)

    def _distinct_within(self, column: Column) -> bool:
        pairs = self._episode_code * (column.distinct + 1) + column.code
        return len(np.unique(pairs)) == len(pairs)

    def _counts_within(self, column: Column) -> bool:
        """Does it rise by 1 from row to row of an episode?"""
        if "episode" not in self._found:
            return False
        same = self._episode_code[1:] == self._episode_code[:-1]
        with np.errstate(over="ignore"):  # from -1e308 to 1e308 it does not
            return bool(same.any() and (np.diff(column.numbers)[same] == 1).all())

    def _splits_episodes(self, column: Column) -> bool:
        return column.distinct > 1 and self._constant_within(column)

    def _names_episodes(self, column: Column) -> bool:
        """Is it another label of episodes?"""
        episodes = len(np.unique(self._episode_code))
        label = not column.is_number or column.is_whole
        return label and column.distinct == episodes and self._splits_episodes(column)

    def _constant_within(self, column: Column) -> bool:
        pairs = np.unique(self._episode_code * (column.distinct + 2) + column.code + 1)
        return len(pairs) == len(np.unique(self._episode_code)) and not column.missing.any()


def _plays_another(name: str) -> bool:
    """Does a name speak for a part that no label of episodes plays?"""
    return any(speaks_for(name, part) for part in ("step", "time", "reward", "action"))


def _is_chance(column: Column) -> bool:
    values = column.number_of
    return column.is_number and bool(((values > 0) & (values <= 1)).all())


def _doubts(column: Column) -> tuple[bool, int, float]:
    """What speaks against a column of rewards. The plainest name counts: "cost" before "repair
    cost" before "quoted cost", whatever its currency."""
    words = words_of(column.name)
    before = any(word in BEFORE_WORDS for word in words)
    plain = [word for word in words if word not in CURRENCIES]
    return before, len(plain), float(column.missing.mean())


def _values(column: Column) -> str:
    shown = ", ".join(printable(name)[:20] for name in column.names[:4])
    more = ", ..." if column.distinct > 4 else ""
    return f"{counted(column.distinct, 'value')}: {shown}{more}"


# ---- what an observation is made of --------------------------------------------------------------


def choose(
    columns: Sequence[Column],
    action: Ints | None,
    follows: Floats | None = None,
    constant: Sequence[str] = (),
    first: Bools | None = None,
) -> list[tuple[Column, str]]:
    """The columns to observe, the most telling first, and why. Without a sign, the first column.

    `constant` names the columns that keep one value in an episode: of these only the `first` rows
    of episodes tell something new.
    """
    if action is None or not columns:
        return [(column, "") for column in columns[:1]]
    several = len(columns) > 1
    codes = {column.name: coded(column, action, several, follows) for column in columns}
    chosen: list[tuple[Column, str]] = []
    known = np.zeros(len(action), np.int64)
    left = {column.name: column for column in columns}

    def take(tell: Callable[[str], float], why: str) -> None:
        nonlocal known
        most = 0.0  # what the first column told
        while left and len(chosen) < MOST_OBSERVED:
            told = {name: tell(name) for name in left}
            name = max(told, key=told.__getitem__)
            code = codes[name]
            joined, together = np.unique(known * (code.max() + 1) + code, return_inverse=True)
            too_many = chosen and len(joined) * ROWS_EACH > len(action)
            if told[name] <= 0 or told[name] < LEAST_PART * most or too_many:
                return
            known, most = together, max(most, told[name])
            chosen.append((left.pop(name), why))

    def outcomes(name: str) -> float:
        assert follows is not None
        at = first if first is not None and name in constant else slice(None)
        done = known * (int(action.max()) + 2) + action + 1
        return outcome_dependence(done[at], codes[name][at], follows[at])

    take(lambda name: dependence(known, codes[name], action), "what was done depends on it")
    if follows is not None:
        take(outcomes, "nothing was decided by it, but what followed depends on it")
    return chosen or [(columns[0], "what was done depends on none of them")]


def coded(
    column: Column, action: Ints | None, combined: bool, follows: Floats | None = None
) -> Ints:
    """(N,) the value, or the range it falls into; 0 where there is none."""
    edges = column.edges(action, combined, follows)
    if edges is not None:
        code = np.searchsorted(np.array(edges), column.numbers, side="right") + 1
        return np.asarray(np.where(column.missing, 0, code))
    return column.code + 1


def columns_of(proposals: tuple[Proposal, ...]) -> Mapping[str, tuple[str, ...]]:
    """The columns of every part."""
    found: dict[str, tuple[str, ...]] = {}
    for item in proposals:
        found[item.part] = (*found.get(item.part, ()), item.column)
    return found


def is_cost(column: Column) -> bool:
    """Does a column of rewards hold costs: by its name, and because it is hardly ever negative?"""
    return named_like_cost(column.name) and mostly_positive(column.numbers[~column.missing])


def named_like_cost(name: str) -> bool:
    """Does the name of a column say that less is better?

    >>> named_like_cost("repairCost_EUR"), named_like_cost("cost saved"), named_like_cost("score")
    (True, False, False)
    >>> named_like_cost("Wartungskosten")
    True
    """
    words = words_of(name)
    costs = any(word in COST_WORDS or word.endswith(COST_ENDINGS) for word in words)
    return costs and not any(word in SAVED_WORDS for word in words)


def is_unit(name: str) -> bool:
    """Does the name of a column say nothing but a unit?

    >>> is_unit("EUR"), is_unit("amount (EUR)"), is_unit("revenue EUR"), is_unit("points")
    (True, True, False, False)
    """
    units = [word for word in units_of(name) if UNITS[word] not in SILENT]
    return bool(units) and all(word in {*units, *AMOUNTS} for word in words_of(name))


def units_of(name: str) -> list[str]:
    """The words and marks in the name of a column that tell a unit."""
    words = [*words_of(name), *(mark for mark in "€$" if mark in name)]
    return [word for word in words if word in UNITS]


def mostly_positive(values: Floats) -> bool:
    """Are there more numbers above zero than below? A cost with its sign turned has none."""
    return int((values > 0).sum()) > int((values < 0).sum())
