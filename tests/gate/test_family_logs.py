"""The family on any small log: what comes back is a controller with certificates that make sense,
or an error of ours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jumar.algorithms import ALGORITHMS
from jumar.algorithms.certifying import certificates_of
from jumar.algorithms.problem import Material
from jumar.core.errors import LogError
from jumar.evidence.rewards import RewardRange
from jumar.memory import window
from jumar.memory.refinement import join
from jumar.tally.replay import Replays
from strategies import controllers, logs, names

Z, A = names("z", 2), names("a", 3)
FAMILY = ("soft", "decision_points", "robust", "ramdp", "mbie")
DECLARED = (RewardRange.constant(-10, 10), RewardRange((-10, 10), (-10, 10), declared=False))


@pytest.mark.parametrize("name", FAMILY)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    log=logs(Z, A),
    behavior=controllers(Z, A),
    γ=st.sampled_from([0.0, 0.5, 0.95]),
    rewards=st.sampled_from(DECLARED),
)
def test_any_log_gives_rows_and_certificates(name, log, behavior, γ, rewards):
    memory = join(behavior.memory, window(2).on(2, 3))
    material = Material(Replays(log), memory, γ, rewards, 0.05)
    entry = ALGORITHMS[name]
    if log.n_steps == (~log.terminated & (log.final_observation < 0)).sum():
        with pytest.raises(LogError, match="of none it is known what followed"):
            entry.learn(material, behavior)
        return
    found = entry.learn(material, behavior)
    assert (found.policy >= 0).all()
    np.testing.assert_allclose(found.policy.sum(1), 1, rtol=0, atol=1e-12)
    unseen = found.mdp.visits == 0
    assert (found.policy[unseen] <= found.behavior_policy[unseen]).all()
    low, high = rewards.returns(γ)
    for c in certificates_of(found, material, delta=0.05, copied=False, most=high - low):
        assert not np.isnan(c.zeta)
        assert c.validity.strength >= 0
