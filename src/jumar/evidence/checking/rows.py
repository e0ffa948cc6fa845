"""What reading the file had to put right.

Nothing here is wrong by itself: rows may come in any order, recordings may have gaps, rewards may
be computed from prices. But whoever trusts the result should know what was done to the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jumar.core.reading import Files, row_words
from jumar.core.text import Detail, Facts, plural
from jumar.evidence.checking.base import Finding, Question, Section, look, passed
from jumar.log.episodes import Episodes, Remarks


@dataclass(frozen=True)
class Remark:
    """Something the reader did."""

    count: int  # rows, episodes or values it was done to
    what: str
    serious: bool  # it can change what is learned


@dataclass(frozen=True)
class Rows(Section):
    """What the reader did, all in all."""

    source: str
    rows: int  # read
    remarks: tuple[Remark, ...]
    verdict: Finding

    def details(self) -> Iterator[Detail]:
        if self.remarks:
            yield Facts((f"{remark.count:,}", remark.what) for remark in self.remarks)


def rows_of(log: Episodes) -> Rows | None:
    """The reader's remarks; None for a log that was not read from anywhere."""
    if log.origin is None:
        return None
    remarks = tuple(_said(log.origin.remarks, log.origin.files))
    return Rows(log.origin.source, log.origin.remarks.rows, remarks, _verdict(remarks))


def _said(r: Remarks, files: Files) -> list[Remark]:
    early = r.first_out_of_order
    first = "" if early is None else f" (first: {row_words(early, files)})"
    assumed, costs = r.rows * r.rewards_assumed, r.rows * r.costs
    rest = "that repeats another" if r.repeated == 1 else "that repeat another"
    said = [
        Remark(
            r.out_of_order, f"{plural('row', r.out_of_order)} out of order, sorted{first}", True
        ),
        Remark(
            r.interleaved,
            f"{plural('episode', r.interleaved)} with rows of others in between, put together",
            False,
        ),
        Remark(r.repeated, f"{plural('row', r.repeated)} {rest}, left out", True),
        Remark(r.dropped, f"{plural('episode', r.dropped)} with a missing value, left out", True),
        Remark(r.replaced, f"missing {plural('observation', r.replaced)}, called 'missing'", False),
        Remark(r.gaps, f"{plural('gap', r.gaps)} at which an episode was cut in two", False),
        Remark(assumed, f"{plural('row', assumed)} whose reward was computed from prices", True),
        Remark(costs, f"{plural('row', costs)} whose reward is a cost, negated", False),
        *(Remark(r.rows, f"{plural('row', r.rows)} {guess}", False) for guess in r.guessed),
    ]
    return [remark for remark in said if remark.count]


def _verdict(remarks: tuple[Remark, ...]) -> Finding:
    serious = [f"{remark.count:,} {remark.what}" for remark in remarks if remark.serious]
    if serious:
        return look("Reading changed the file: " + "; ".join(serious) + ".")
    return passed("All rows were read as they stand.")


ENTRY = Question("What did reading the file change?", lambda subject, rng: rows_of(subject.log))
