"""Several objectives: better on one signal, and not worse on others that are to be kept.

A log with signals is seen once for every signal, with that signal as its reward
(`Episodes.with_reward`). So each has limits, models, scores and a bet of its own, and nothing else
has to know of it.

*Not worse* needs a margin. A change that does not touch a signal at all has a gain of exactly 0
there, and no test can tell 0 from a little less. So a signal is kept if it loses no more than a
stated *loss* per episode: the bet is the one against "the candidate gains -loss or less". Where
nobody states it, it is a tenth of the mean distance of the returns from their median, by the half
that candidates are learned from: a tenth of the events where events are rare, about a twelfth of a
standard deviation where returns are normal, whatever the unit and whatever is added to each return.

*One δ for all.* A candidate passes if its bet on the objective and the bets on all kept signals
reach what the level asks for. If it is bad, it is bad on some signal, and passes only if the bet on
*that* signal errs: the chance is at most the level, however many signals there are (an
intersection-union test, Berger 1982). So the p-value of a candidate is the largest over its
signals, and all else, shares and what is handed on, is as with one signal (`proved`). Lower bounds
on how much each signal gains are claimed together, and share their part of δ equally.

*Candidates* are those of the objective alone, and those of a mixed reward that heeds the kept
signals, each counted in units of how far its returns lie apart, with several weights (the weights
λ of Satija, Thomas, Pineau and Laroche 2021); and all of these mixed with the behavior, for a
gentle change is soon shown to lose little. They are judged by cross-validation on every signal, so
that the shortlist has those that are likely to pass on all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.errors import LogError, ParameterError
from jumar.core.text import printable
from jumar.evidence.consistency import check_rewards
from jumar.evidence.rewards import RewardRange
from jumar.gate.bench import Bench, Fitted
from jumar.gate.bets import Bet, Growth, Scores, growth
from jumar.gate.candidates import NO_TABLE, candidates, mixed, refitted
from jumar.gate.dealing import DealtPart, returns_of
from jumar.gate.limits import limits_of
from jumar.gate.proved import Listed
from jumar.gate.trials import PROVED, KeptSignal, KeptTrial
from jumar.log.episodes import LARGEST_REWARD, SIGNAL, Episodes

LOSS_SHARE = 0.1  # of how far returns lie from their median: what may be lost if nobody says
HEEDS = (0.3, 1.0, 3.0)  # weights of the kept signals beside the objective
GENTLER = 0.3  # share of the new rows in gentler candidates: noise shrinks with it, the loss stays


@dataclass(frozen=True)
class Keep:
    """A signal that must not get worse.

    Parameters
    ----------
    signal
        Its name in the log.
    loss
        What may be lost per episode, discounted, in the unit of the signal. Without it, a tenth of
        the mean distance of its returns from their median.
    rewards
        What a step can count, where that is known. Without it, what the log shows.

    Examples
    --------
    >>> Keep("safety", loss=0.05)
    Keep(signal='safety', loss=0.05, rewards=None)
    """

    signal: str
    loss: float | None = None
    rewards: RewardRange | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.signal, str) or not self.signal:
            raise ParameterError(f"keep: {self.signal!r} is not the name of a signal.")
        name = printable(self.signal)
        if self.loss is not None and not _is_loss(self.loss):
            raise ParameterError(
                f"keep: {name}: {self.loss!r} is no loss. Write what may be lost per episode, a "
                "finite number from 0, such as 0.05."
            )
        if self.rewards is not None and not isinstance(self.rewards, RewardRange):
            raise ParameterError(
                f"keep: {name}: {printable(repr(self.rewards)[:40])} is not a range. Pass for "
                "example RewardRange.constant(0, 1)."
            )


KeepLike = Mapping[str, float | None] | Sequence[str | Keep] | str | Keep


def _is_loss(given: object) -> bool:
    number = isinstance(given, int | float | np.number) and not isinstance(given, bool)
    return number and 0 <= float(given) < math.inf  # type: ignore[arg-type]


def keeps_of(keep: KeepLike | None) -> tuple[Keep, ...]:
    """The signals to keep, however a caller writes them.

    >>> keeps_of({"safety": 0.05, "comfort": None})[0].loss
    0.05
    >>> [k.signal for k in keeps_of(["safety", Keep("comfort")])]
    ['safety', 'comfort']
    """
    if keep is None:
        return ()
    if isinstance(keep, str | Keep):
        keep = [keep]
    if not isinstance(keep, Mapping | Iterable):
        raise ParameterError(
            f"keep: {printable(repr(keep)[:40])} is no signal. Name one, several in a list, or "
            "pass a mapping of names to what may be lost."
        )
    pairs = keep.items() if isinstance(keep, Mapping) else ((k, None) for k in keep)
    found = tuple(k if isinstance(k, Keep) else Keep(k, loss) for k, loss in pairs)
    names = [k.signal for k in found]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"keep: {printable(name)} is named twice. Name it once.")
    return found


def check_keeps(
    keeps: Sequence[Keep], log: Episodes, objective: str, gate: str, discount: float
) -> None:
    """Refuse signals that are not there, that contradict what is said of them, or of which the log
    does not tell what can be lost."""
    if keeps and gate != PROVED:
        raise ParameterError(
            f"keep: signals are kept by the proved test, not by the {printable(gate)} one. Leave "
            "out gate (--gate)."
        )
    columns = log.origin.columns if log.origin else {}
    for keep in keeps:
        column = columns.get(SIGNAL + keep.signal)
        if keep.signal == objective or (column is not None and column == columns.get("reward")):
            raise ParameterError(
                f"keep: {printable(keep.signal)} is the objective itself, which must get better. "
                "Leave it out of the signals to keep (--keep)."
            )
        view = log.with_reward(keep.signal)
        if keep.rewards is not None:
            try:
                check_rewards(view, keep.rewards)
            except LogError as error:
                turned = " (a cost: its sign is turned here)" if _is_cost(view) else ""
                raise LogError(f"Signal {printable(keep.signal)!r}{turned}: {error}") from error
        if not returns_of(view, discount).differ and None in (keep.rewards, keep.loss):
            name = printable(keep.signal)
            place = "Log" if view.origin is None else view.origin.source
            remedy = f"Keep({keep.signal!r}, loss=0.01, rewards=RewardRange.constant(-1, 0))"
            option, ends = ("--keep-cost", "0:1") if _is_cost(view) else ("--keep", "-1:0")
            raise LogError(
                f"{place}: the signal {name!r} is the same in every episode, so the log does not "
                f"show what can be lost of it. Say what a step can count and what may be lost: "
                f"{remedy} ({option} {name}=0.01 --keep-range {name}={ends}); or leave it out."
            )


# ---- seen by each signal ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Kept:
    """A signal to keep, as seen by candidates of one half."""

    signal: str
    loss: float  # allowed per episode
    bench: Bench  # on which the signal is the reward
    most: float  # that can be gained
    least: float  # that can be lost at most

    @property
    def trivial(self) -> bool:
        """Can no controller lose more than is allowed, whatever it does?"""
        return self.loss >= self.bench.limits.range or self.bench.limits.range == 0.0

    def growth(self, scores: Floats, floor: float) -> Growth:
        """How fast a bet on "no more than the loss is lost" grows."""
        if self.trivial:
            return Growth(0.1, math.inf, 0.0)
        return growth(scores + self.loss, floor - self.loss)  # as a gain above -loss, floor and all

    def bets(
        self, number: int, listed: Sequence[Listed], own: DealtPart, other: DealtPart
    ) -> list[KeptBet]:
        """What a shortlist brought on held-out units. This is signal `number` of those kept."""
        bets = {x.candidate.setting: x.prospect.kept[number].bet for x in listed}
        found = {}
        for candidate in refitted(self.bench, [x.candidate for x in listed], own):
            bet = bets[candidate.setting]
            scored = self.bench.scores(candidate, other, bet.floor)
            found[candidate.setting] = KeptBet(self, scored, bet)
        return [found[x.candidate.setting] for x in listed]


@dataclass(frozen=True, eq=False)
class KeptBet:
    """A bet on "no more than the loss is lost", and what it was laid on."""

    kept: Kept
    scored: Scores
    bet: Bet

    @property
    def log_wealth(self) -> float:
        """The logarithm of the most it ever had."""
        if self.kept.trivial:
            return math.inf
        return self.scored.log_wealth(self.bet, -self.kept.loss)

    def trial(self, level: float, bound_level: float) -> KeptTrial:
        """What came of it, at a level for passing and one for the lower bound."""
        loss, range = self.kept.loss, self.kept.bench.limits.range
        passed = self.log_wealth >= -math.log(level)
        lower = max(-range, self.scored.lower(self.bet, bound_level)) if range > 0 else 0.0
        return KeptTrial(
            self.kept.signal,
            loss,
            gain=min(max(self.scored.mean, -self.kept.least), self.kept.most),
            error=self.scored.error,
            lower=min(max(lower, -loss) if passed else lower, self.kept.most),
            passed=passed,
            scores=self.scored,
            bet=self.bet,
        )


@dataclass(frozen=True, eq=False)
class Signals:
    """All signals to keep in a dealt log."""

    keeps: tuple[Keep, ...]
    views: tuple[Bench, ...]  # one for each
    horizon: int | None

    @classmethod
    def of(cls, whole: Bench, keeps: Sequence[Keep], horizon: int | None) -> Signals:
        """As seen by the bench of the whole log."""
        log, discount = whole.episodes, whole.discount
        views = []
        for keep in keeps:
            seen = replace(log.with_reward(keep.signal), signals={})
            views.append(whole.paying(seen, limits_of(seen, discount, keep.rewards, horizon)))
        return cls(tuple(keeps), tuple(views), horizon)

    def told(self) -> tuple[KeptSignal, ...]:
        """What is known of them, for who speaks of the test."""
        return tuple(
            KeptSignal(keep.signal, keep.loss, view.limits, _most(view), _is_cost(view.episodes))
            for keep, view in zip(self.keeps, self.views, strict=True)
        )

    def learning_from(self, half: int) -> tuple[Kept, ...]:
        """For candidates of one half."""
        # that half alone decides what may be lost if nobody said: the bet on "no more than the loss
        # is lost" needs a loss that held-out units had no part in
        found = []
        for keep, view in zip(self.keeps, self.views, strict=True):
            loss = LOSS_SHARE * spread(view, half) if keep.loss is None else float(keep.loss)
            bench, most = view.learning_from(half), _most(view)
            found.append(Kept(keep.signal, loss, bench, most, view.limits.range - most))
        return tuple(found)

    def guides(self, whole: Bench, half: int) -> Iterator[tuple[float, Bench]]:
        """Weights, and benches on which the objective and the kept signals are paid together."""
        units = [(view.episodes.reward, spread(view, half)) for view in self.views]
        with np.errstate(over="ignore", invalid="ignore"):  # see below
            others = [reward / unit for reward, unit in units if unit > 0]
        if not others:
            return
        log, unit = whole.episodes, spread(whole, half)
        for weight in HEEDS:
            with np.errstate(over="ignore", invalid="ignore"):
                reward = log.reward + weight * unit * np.sum(others, axis=0)
            if not (np.abs(reward) <= LARGEST_REWARD).all():
                return  # returns hardly differ, but rewards that are discounted away do
            paid = replace(log, reward=reward, signals={})
            own = paid.select(whole.log.dealt.members(half))  # what is held out has no part in this
            limits = limits_of(own, whole.discount, None, self.horizon)
            yield weight, whole.paying(paid, limits).learning_from(half)


def spread(bench: Bench, half: int) -> float:
    """`spread_of` the episodes of a half, as this bench pays them."""
    return spread_of(bench.episodes.select(bench.log.dealt.members(half)), bench.discount)


def spread_of(log: Episodes, discount: float) -> float:
    """How far returns lie from their median, on average: in the unit of the signal, whatever is
    added to every return, and small where all but a few are alike."""
    returns = log.returns(discount)
    found = float(np.abs(returns - np.median(returns)).mean())
    return found if returns_of(log, discount).differ else 0.0


def candidates_heeding(
    bench: Bench, guides: Sequence[tuple[float, Bench]], part: DealtPart, thinned: float
) -> Iterator[Fitted]:
    """What is made of a part of the log: for the objective alone, and heeding the kept signals;
    with what the objective's model expects of each."""
    made: list[list[Fitted]] = [[]]
    for found in candidates(bench, part, PROVED, thinned):
        yield found
        made[0].append(_bare(found))
    for weight, guide in guides:
        made.append([_bare(c, weight) for c in candidates(guide, part, PROVED, thinned)])
        yield from refitted(bench, made[-1], part)
    for some in made:
        yield from refitted(bench, [_gentler(c, bench.behavior_rows) for c in some], part)


def _bare(found: Fitted, heeds: float = 0.0) -> Fitted:
    """A candidate without tables, which would be those of another signal."""
    setting = replace(found.setting, heeds=heeds)
    return replace(found, setting=setting, above=NO_TABLE, below=NO_TABLE)


def _gentler(found: Fitted, behavior: Floats) -> Fitted:
    rows = mixed(GENTLER, found.rows, behavior)
    setting = replace(found.setting, mixture=GENTLER * found.setting.mixture)
    return replace(found, rows=rows, setting=setting)


def _most(view: Bench) -> float:
    returns = returns_of(view.episodes, view.discount)
    return float(view.limits.high[0] - returns.mean)


def _is_cost(log: Episodes) -> bool:
    return bool(log.origin and log.origin.remarks.costs)
