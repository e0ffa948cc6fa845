"""Result: what the main job hands over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jumar.core.arrays import Frozen
from jumar.core.errors import LogError
from jumar.core.text import Shown
from jumar.evidence.claims import Certificate
from jumar.evidence.practice import Practice
from jumar.evidence.rewards import RewardRange
from jumar.gate import Selection
from jumar.log.episodes import Episodes, Remarks
from jumar.log.pace import Pace, episode_word, pace_of
from jumar.memory import Memory
from jumar.policy.controller import Controller
from jumar.solve.nouns import Improvement
from jumar.solve.simplifying import Simplified
from jumar.tally.history import Counts
from jumar.tally.replay import Replays

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jumar.verdict.assessing import Assessment
    from jumar.verdict.decisions import Decisions


@dataclass(frozen=True, eq=False, repr=False)
class Result(Frozen, Shown):
    """An improvement with everything that can be said about its safety."""

    improvement: Improvement
    counts: Counts
    certificates: tuple[Certificate, ...]  # the one to go by first
    # the log, with its names numbered as the controller numbers them; None: it was learned from
    # counts of one
    held: Episodes | None
    rewards: RewardRange  # declared, or read off the log
    delta: float
    selection: Selection | None = None  # what was tried, where "auto" chose
    seed: int = 1
    practice: Practice | None = None  # who made the log
    unit: str = ""  # what rewards are counted in, as EUR
    step_seconds: float | None = None  # how long a step takes, if that was said
    asked: Memory | None = None  # what the new controller was to remember, if that was said
    sampled: bool = False  # is `log` only a sample of what was learned from?
    simplified: Simplified | None = None  # what was kept of the changes, if that was asked for
    kept: tuple[Certificate, ...] = ()  # one for every signal that must not get worse

    @property
    def log(self) -> Episodes:
        """What was learned from, or of a large log a sample."""
        if self.held is None:
            raise LogError(
                "This was learned from counts, which tell nothing of single episodes: nothing was "
                "checked or tested. To have that, give the log."
            )
        return self.held

    @property
    def summary(self) -> str:
        if self.held is None:
            return f"{self.improvement.summary}; learned from counts, not tested"
        return f"{self.improvement.summary}; {self.certificate.title}, {self.certificate.validity}"

    @property
    def episodes(self) -> int:
        """How many were learned from; `log` may be a sample of them."""
        return int(self.counts.starts.sum())

    @property
    def steps(self) -> int:
        """How many there are, those included of which nobody knows what followed."""
        return int(self.counts.visits.sum()) + self.counts.unfinished

    @property
    def episode(self) -> str:
        """What the log calls an episode, by the name of its column: call, patient, bridge."""
        return episode_word(self.log)

    @property
    def pace(self) -> Pace | None:
        """How fast episodes come, where the log has dates or the length of a step was said."""
        return pace_of(self.log, self.step_seconds, self.episode, self.episodes)

    @property
    def remarks(self) -> Remarks:
        """What reading the log remarked."""
        return self.log.origin.remarks if self.log.origin else Remarks()

    @property
    def costs(self) -> bool:
        """Are rewards costs, so that values are shown with the sign turned?"""
        return self.remarks.costs

    @property
    def stopping(self) -> float:
        """The share of steps after which a recording was cut off."""
        return (self.episodes - int(self.counts.ends.sum())) / self.steps

    @property
    def logged(self) -> float:
        """The mean return of the log: what an episode brings under the behavior, up to where
        recordings stop. `log` may be a sample; the test knows the whole."""
        if self.sampled and self.selection:
            return self.selection.logged
        return float(self.log.returns(self.improvement.mdp.discount).mean())

    @cached_property
    def controller(self) -> Controller:
        """The new policy, which acts on raw readings as the log had them."""
        origin = None if self.held is None else self.held.origin
        reading = None if origin is None else origin.reading
        return replace(self.improvement.controller, reading=reading)

    @property
    def certificate(self) -> Certificate:
        """The one to go by: for "auto" the test on held-out episodes, else the most trustworthy of
        those that say something."""
        return self.certificates[0]

    @property
    def behavior(self) -> Controller:
        return self.improvement.behavior

    @property
    def estimated(self) -> bool:
        """Was the behavior itself estimated from a log? That weakens every claim."""
        return (self.practice or self.behavior).estimated

    @cached_property
    def replays(self) -> Replays:
        """Of the log: what the job itself has replayed, for whoever asks more of the log."""
        return Replays(self.log) if self.practice is None else self.practice.replays

    @property
    def _behavior(self) -> str:
        """How the behavior is known."""
        if self.estimated:
            return "estimated from the log"
        if self.practice is None or self.practice.only:
            return "given"
        if not self.practice.controllers:
            return "known by the propensities in the log"
        return f"several, named by the log: {self.practice.name}"

    def __str__(self) -> str:
        if self.held is None:
            return "\n".join(self.untested())
        from jumar.show.terminal import as_text, result_view

        return as_text(result_view(self.assessment))

    def _repr_html_(self) -> str:
        from jumar.show.html import card

        if self.held is None:
            return super()._repr_html_()
        return card(self.assessment)

    def untested(self) -> list[str]:
        """What is said of what was learned from counts."""
        found = self.improvement
        lines = [
            f"{self.steps:,} steps of {self.episodes:,} episodes, over a {found.mdp.memory}: "
            f"{len(found.mdp):,} situations.",
            f"{found.algorithm} changes {found.changed:,} of them.",
            "What that brings is not known: counts tell nothing of single episodes. To have it "
            "tested on held-out ones, give the logs: jumar improve LOGS.",
        ]
        if self.simplified:
            lines.append(f"Simplified: {self.simplified.summary}, by the model.")
        told = [f"{c.title}: {c.claim} {c.verdict}" for c in self.certificates[:1]]
        return [*lines, *(told or ["No published bound applies."])]

    @cached_property
    def assessment(self) -> Assessment:
        """Everything that is said about it: verdict, checks, decisions, intervals."""
        from jumar.verdict.assessing import assess

        return assess(self)

    @property
    def decisions(self) -> Decisions:
        """Every history state: what is done there, old and new, and why. A table:
        ``result.decisions.to_pandas()``."""
        return self.assessment.decisions

    def plot(self, what: str = "gain", ax: Axes | None = None) -> Axes:
        """One chart of the result. It shows no number that the verdict does not carry; where there
        is nothing to show, it says why.

        Parameters
        ----------
        what
            "gain": what an episode is worth, today and then. "decisions": what changes, by its
            share of the gain. "policy": the picture of the policy. "coverage": how often the log
            tried each action.
        ax
            Axes of matplotlib to draw on; new ones without it.

        Returns
        -------
        Axes
            The axes, for whoever wants to go on drawing.
        """
        from jumar.show.plotting import plot

        return plot(self.assessment, what, ax)

    def report(self, path: str | Path) -> None:
        """Write one self-contained page that explains the result to a person.

        Parameters
        ----------
        path
            The page, as ``report.html``.
        """
        from jumar.core.files import write_atomically
        from jumar.show.outputs import report_page

        write_atomically(path, report_page(self.assessment))

    def save(
        self,
        folder: str | Path,
        *,
        pictures: str | Sequence[str] | None = None,
        excel: bool = False,
    ) -> list[Path]:
        """Write the controller, the certificate, the decisions, pictures, a program and the report
        into a folder; all of them, or none.

        Parameters
        ----------
        folder
            It is made where there is none.
        pictures
            More kinds of pictures of the controller than SVG: "png", "pdf", or both.
        excel
            Write a workbook ``result.xlsx``, too; needs ``jumar[excel]``.

        Returns
        -------
        list of Path
            The files.
        """
        from jumar.show.outputs import save, save_untested

        if self.held is None:
            return save_untested(self, folder)
        return save(self.assessment, folder, pictures=pictures, excel=excel)

    def to_dict(self) -> dict[str, Any]:
        """The numbers and the certificates, in plain JSON types."""
        improvement, counts = self.improvement, self.counts
        return {
            "algorithm": improvement.algorithm,
            "parameters": {
                name: value.item() if isinstance(value, np.generic) else value
                for name, value in improvement.parameters.items()
            },
            "memory": str(improvement.mdp.memory),
            "discount": improvement.mdp.discount,
            "behavior": self._behavior,
            "episodes": int(counts.starts.sum()),
            "steps": int(counts.visits.sum()),
            "steps_left_out": counts.unfinished,
            "history_states": len(improvement.mdp),
            "logged": self.logged if self.held else None,
            **({} if self.held else {"tested": False}),
            "changed": improvement.changed,
            "simplified": self.simplified.to_dict() if self.simplified else None,
            "solver": {"iterations": improvement.trace.iterations, "gap": improvement.trace.gap},
            "certificates": [c.to_dict() for c in self.certificates],
            "kept": [c.to_dict() for c in self.kept],
            "selection": self.selection.to_dict() if self.selection else None,
        }
