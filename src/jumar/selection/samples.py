"""How many episodes until a gain is likely to be certified.

A candidate with gain g whose differences have standard deviation s passes the gate on m held-out
episodes when g + noise > c s/√m + R/m · max(ln(1/δ), 2/f), f being the share of the episodes that
its weights are worth (`jumar.selection.gate`); what its weights lack does not shrink with m, and is
taken off g. Noise of z standard errors against it is survived
with probability Φ(z), so the test has power Φ(z) from the smallest m on with

    g >= (c + z) s/√m + R/m · max(ln(1/δ), 2/f).

Half of the episodes are held out, so the log must have 2m. The gain and its noise are themselves
estimates, and a longer log also finds better candidates: this is a plan, not a promise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jumar.errors import ParameterError
from jumar.selection import Selection, Trial
from jumar.selection.gate import hidden, normal

LEAST = 5  # effective episodes below which nothing can be planned


@dataclass(frozen=True)
class Need:
    """Episodes for one gain and one chance of passing."""

    gain: float
    power: float
    episodes: int | None  # in the whole log; None: cannot be planned for


def episodes_needed(
    gain: float,
    *,
    deviation: float,
    range: float,
    critical: float,
    delta: float,
    power: float,
    effective: float = 1.0,
) -> int | None:
    """The size of a log at which a gain passes the gate with probability `power`; `effective` is
    the share of the held-out episodes that the weights are worth.

    >>> episodes_needed(1.0, deviation=10.0, range=0.0, critical=1.96, delta=0.05, power=0.5)
    770
    """
    if not 0 < power < 1:
        raise ParameterError(f"power: {power!r} must lie between 0 and 1, such as 0.8.")
    if gain <= 0 or effective <= 0:
        return None
    noise = max(0.0, (critical + normal(1 - power)) * deviation)
    unseen = range * hidden(delta, 1, effective)
    # gain = noise x + unseen x² for x = 1/√m, in a form that does not cancel
    x = 2 * gain / (noise + math.sqrt(noise**2 + 4 * unseen * gain))
    return 2 * math.ceil(1 / x**2)


def needs(
    selection: Selection, gains: list[float] | None = None, powers: tuple[float, ...] = (0.5, 0.8)
) -> tuple[Need, ...]:
    """What it would take to certify some gains, judging by the log so far; without any, the gain of
    the candidate that would be decided first."""
    first = decided_first(selection)
    if first is None:
        return ()
    return tuple(
        Need(gain, power, _needed(selection, first, gain, power))
        for gain in (gains if gains is not None else [first.gain])
        for power in powers
    )


def decided_first(selection: Selection, power: float = 0.8) -> Trial | None:
    """The candidate that takes the fewest episodes to certify; if none can be planned for, the one
    that came closest."""
    sizes = [(_needed(selection, trial, trial.gain, power), trial) for trial in selection.trials]
    found = [(size, i) for i, (size, _) in enumerate(sizes) if size is not None]
    return selection.trials[min(found)[1]] if found else selection.best


def _needed(selection: Selection, trial: Trial, gain: float, power: float) -> int | None:
    held_out = min(gate.episodes for gate in selection.gates)
    if trial.effective < LEAST:  # how the weights would spread in a longer log cannot be told
        return None
    return episodes_needed(
        gain - selection.range * trial.missing,
        deviation=trial.error * math.sqrt(held_out),
        range=selection.range,
        critical=max(gate.critical for gate in selection.gates),
        delta=selection.delta,
        power=power,
        effective=trial.effective / held_out,
    )
