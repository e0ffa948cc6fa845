"""How many episodes until a gain is likely to be certified.

A candidate with gain g whose differences have standard deviation s passes the gate on m held-out
episodes when g + noise > c s/√m + R/m · max(ln(1/δ), 2/f), f being the share of the episodes that
its weights are worth (`jumar.selection.gate`). Noise of z standard errors against it is survived
with probability Φ(z), so the test has power Φ(z) from the smallest m on with

    g >= (c + z) s/√m + R/m · max(ln(1/δ), 2/f).

Half of the episodes are held out, so the log must have 2m. The gain and its noise are themselves
estimates, and a longer log also finds better candidates: this is a plan, not a promise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jumar.errors import ParameterError
from jumar.selection import Selection
from jumar.selection.gate import hidden, normal


@dataclass(frozen=True)
class Need:
    """Episodes for one gain and one chance of passing."""

    gain: float
    power: float
    episodes: int | None  # in the whole log; None: never, as there is no gain


def episodes_needed(
    gain: float,
    *,
    deviation: float,
    spread: float,
    critical: float,
    delta: float,
    power: float,
    effective: float = 1.0,
) -> int | None:
    """The size of a log at which a gain passes the gate with probability `power`; `effective` is
    the share of the held-out episodes that the weights are worth.

    >>> episodes_needed(1.0, deviation=10.0, spread=0.0, critical=1.96, delta=0.05, power=0.5)
    770
    """
    if not 0 < power < 1:
        raise ParameterError(f"power: {power!r} must lie between 0 and 1, such as 0.8.")
    if gain <= 0:
        return None
    noise = max(0.0, (critical + normal(1 - power)) * deviation)
    unseen = spread * hidden(delta, 1, effective)
    # gain = noise x + unseen x² for x = 1/√m, in a form that does not cancel
    x = 2 * gain / (noise + math.sqrt(noise**2 + 4 * unseen * gain))
    return 2 * math.ceil(1 / x**2)


def needs(
    selection: Selection, gains: list[float] | None = None, powers: tuple[float, ...] = (0.5, 0.8)
) -> tuple[Need, ...]:
    """What it would take to certify some gains, judging by the log so far; without any, the gain of
    the candidate that came closest."""
    best = selection.best
    if best is None or selection.deviation is None:
        return ()
    critical = max(gate.critical for gate in selection.gates)
    return tuple(
        Need(
            gain,
            power,
            episodes_needed(
                gain,
                deviation=selection.deviation,
                spread=selection.spread,
                critical=critical,
                delta=selection.delta,
                effective=best.effective / selection.gates[0].episodes,
                power=power,
            ),
        )
        for gain in (gains if gains is not None else [best.gain])
        for power in powers
    )
