"""What a log can tell: bounds, certificates, off-policy estimates, tests and checks.

Free to change: words, and how estimates are computed. Held in place by theorems: every formula in
`bounds`, `robust` and `first_visits` (docs: bounds and certificates), what `practice` calls the
probability of an action, and what `plausible` lets a person see.
"""

from __future__ import annotations

from jumar.core.lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jumar.evidence.first_visits import first_returns as first_returns
    from jumar.evidence.order import order_tests as order_tests

__getattr__ = lazily(
    __name__,
    {
        "first_returns": "evidence.first_visits",
        "order_tests": "evidence.order",
    },
)
