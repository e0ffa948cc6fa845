"""Every algorithm with a behavior that is estimated from the log, and what is then guaranteed."""

from __future__ import annotations

import pytest

import jumar as jm
from jumar.algorithms import ALGORITHMS
from jumar.evidence.validity import Validity
from selection_logs import TIGER, tiger_log, uniform_tiger

DECLARED = jm.RewardRange(continuing=(-1, -1), ending=(-100, 10))
HOW = {"discount": 0.95, "rewards": DECLARED}


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_every_algorithm_works_with_an_estimated_behavior(name):
    result = jm.improve(tiger_log(2000), "estimate", algorithm=name, **HOW)
    assert result.improvement.changed > 0
    assert all(c.validity.strength <= Validity.CLAIMED.strength for c in result.certificates)
    value = jm.evaluate(TIGER, result.controller).value
    assert value > jm.evaluate(TIGER, uniform_tiger()).value


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name != "auto"])
def test_comparing_with_an_estimate_costs_something(name):
    log = tiger_log(2000)
    known, estimated = (
        jm.improve(log, behavior, algorithm=name, **HOW)
        for behavior in (uniform_tiger(), "estimate")
    )
    zeta = {c.bound: c.zeta for c in known.certificates}
    same = [c for c in estimated.certificates if c.bound in zeta]
    assert same
    assert all(c.zeta > zeta[c.bound] for c in same)
