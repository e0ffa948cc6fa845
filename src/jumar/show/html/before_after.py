"""Before and after as two bars: what an episode is worth under the old and the new policy."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from jumar.core.text import number
from jumar.verdict.gain import Gain
from jumar.verdict.verdicts import Verdict

WIDTH, LEFT, RIGHT = 420, 50, 110  # room for the names on the left, for the numbers on the right


def before_after(verdict: Verdict, gain: Gain) -> str:
    """An SVG that takes its colours from the page. Of costs, the shorter bar is better. Empty where
    the verdict carries no estimate."""
    if verdict.about is None or gain.new is None or gain.interval is None:
        return ""
    sign = -1 if gain.costs else 1
    old, new = sign * gain.old, sign * gain.new
    ends = sorted(sign * (gain.old + x) for x in gain.interval)
    low, high = min(0.0, old, new, ends[0]), max(0.0, old, new, ends[1])
    if high <= low:
        return ""
    scale = (WIDTH - LEFT - RIGHT) / (high - low)

    def x(value: float) -> float:
        return LEFT + (value - low) * scale

    what = "costs" if gain.costs else "is worth"
    said = (
        f"An episode {what} {gain.money(old)} under the old policy and {gain.money(new)} under "
        f"the new one (90 % interval {number(ends[0])} to {number(ends[1])})."
    )
    colour = verdict.terms.colour
    bars = [_bar(x, old, 8, "today", "soft", gain), _bar(x, new, 46, "new", colour, gain)]
    whisker = (
        f'<path d="M{x(ends[0]):.1f} 58H{x(ends[1]):.1f}M{x(ends[0]):.1f} 52v12M{x(ends[1]):.1f} '
        '52v12" fill="none" stroke="currentColor" stroke-width="1.5"/>'
    )
    zero = f'<path d="M{x(0):.1f} 2V78" stroke="currentColor" stroke-width="1"/>'
    return (
        f'<svg class="before-after" viewBox="0 0 {WIDTH} 82" role="img" '
        f'aria-label="{escape(said)}">{"".join(bars)}{whisker}{zero}</svg>'
    )


def _bar(
    x: Callable[[float], float], value: float, y: int, name: str, colour: str, gain: Gain
) -> str:
    left, right = sorted((x(0.0), x(value)))
    amount = escape(gain.money(value))
    return (
        f'<text x="0" y="{y + 18}" fill="currentColor" font-size="15">{name}</text>'
        f'<rect x="{left:.1f}" y="{y}" width="{max(1.0, right - left):.1f}" height="26" rx="2" '
        f'fill="var(--{colour})"/>'
        f'<text x="{WIDTH}" y="{y + 18}" text-anchor="end" fill="currentColor" font-size="15" '
        f'font-weight="600">{amount}</text>'
    )
