"""How fast episodes come, so that a plan can be told in days and weeks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from jumar.core.text import counted, plural
from jumar.log.episodes import Episodes

DAY = 86_400.0
SPANS = (("day", DAY), ("week", 7 * DAY), ("month", 30.44 * DAY), ("year", 365.25 * DAY))
_NOUN = re.compile(r"[a-z]{3,20}(?<!s)")  # a plain word in the singular
_SMALL = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class Pace:
    """Episodes per second: of all that a log records, where it has dates; else of one process that
    runs all the time."""

    rate: float
    episode: str  # the log's own word for one
    since: date  # from when on more come: the last date of the log; else today
    all_: bool = True

    def text(self, episodes: int) -> str:
        """How long so many take, as a sentence."""
        per, of = next(
            ((name, self.rate * span) for name, span in SPANS if self.rate * span >= 1),
            ("year", self.rate * SPANS[-1][1]),
        )
        many = f"{of:,.0f}" if of >= 10 else f"{of:.2g}"
        rate = f"{many} {plural(self.episode, 1 if many == '1' else 2)} a {per}"
        whose = "the rate of this log" if self.all_ else "the rate of one that runs all the time"
        return f"At {whose} ({rate}), that takes about {_about(episodes / self.rate)}."

    def until(self, day: date) -> int:
        """How many more come until then."""
        return int((day - self.since).days * DAY * self.rate)

    def day(self, episodes: int) -> date | None:
        """When so many more are there; None: beyond the calendar."""
        try:
            return self.since + timedelta(seconds=episodes / self.rate)
        except OverflowError:
            return None


def pace_of(log: Episodes, step_seconds: float | None, episode: str, episodes: int) -> Pace | None:
    """The pace of a log with so many episodes, of which some may be held; None: nobody knows."""
    remarks = log.origin.remarks if log.origin else None
    if remarks and remarks.began is not None and remarks.ended is not None:
        span = remarks.ended - remarks.began
        if span >= DAY and episodes > 1:  # less says little about a day
            return Pace(episodes / span, episode, datetime.fromtimestamp(remarks.ended, UTC).date())
    if step_seconds is not None:
        each = step_seconds * float(log.lengths.mean())
        return Pace(1 / each, episode, datetime.now(UTC).date(), all_=False)
    return None


def episode_word(log: Episodes) -> str:
    """What the log calls an episode, by the name of its column: call, patient, bridge."""
    columns = log.origin.columns.get("episode", ()) if log.origin else ()
    word = columns[0].lower().removesuffix("id").rstrip("_- ") if len(columns) == 1 else ""
    return word if _NOUN.fullmatch(word) else "episode"


def _about(seconds: float) -> str:
    """
    >>> _about(3600.0), _about(20 * DAY), _about(100 * DAY), _about(900 * DAY), _about(1e5 * DAY)
    ('one day', 'three weeks', 'three months', '2.5 years', '274 years')
    """
    whole = max(1, round(seconds / DAY))
    if whole < 14:
        return f"{_word(whole)} {plural('day', whole)}"
    for name, span in SPANS[1:3]:
        n = round(seconds / span)
        if n < 9 if name == "week" else n < 24:
            return f"{_word(n)} {plural(name, n)}"
    years = seconds / SPANS[3][1]
    return f"{years:.2g} years" if years < 10 else counted(round(years), "year")


def _word(n: int) -> str:
    return _SMALL[n - 1] if n <= len(_SMALL) else str(n)
