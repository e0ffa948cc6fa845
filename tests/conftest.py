"""What every test shares: how hypothesis runs, and that loops are compiled once."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# The same examples on every machine and every run: a red test is red for everybody. No deadline,
# as the first call of a kernel compiles it.
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
# For a long hunt: HYPOTHESIS_PROFILE is not read, say `pytest --hypothesis-profile=hunt`.
settings.register_profile(
    "hunt", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci")

if "PYTEST_XDIST_WORKER" in os.environ and os.name == "posix":
    from compiling import one_at_a_time

    one_at_a_time()
