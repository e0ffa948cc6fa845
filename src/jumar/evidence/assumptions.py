"""What no log can show, and what looking again costs: each said in one place, in one sentence."""

from __future__ import annotations

NOT_CONFOUNDED = "What your policy did depended on nothing but what is in the log."
ESTIMATED = (
    "What your policy does was estimated from the log, as the share of each action in each "
    "situation."
)
# k tests at level δ are wrong together with a chance of up to k·δ
EACH_LOOK = (
    "Each run on a longer log has a chance of error of its own: running again and again until one "
    "passes voids the promise. If you plan five runs, give each a fifth of it: --delta 0.01."
)
