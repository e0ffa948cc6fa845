"""What would take more memory than there is, is refused beforehand."""

from __future__ import annotations

import pytest

from facts import refuses
from jumar.core import resources
from jumar.core.errors import TooLarge


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(resources, "memory", lambda: 10**9)


def test_more_than_there_is_is_refused_with_both_sizes(small):
    with refuses(TooLarge, "5 logs", "2 GB", "1 GB", "Take 2."):
        resources.check_room("5 logs", 2e9, "Take 2.")
    resources.check_room("5 logs", 1e9, "Take 2.")


def test_the_machine_has_some_memory():
    assert resources.memory.__wrapped__() > 10**8


def test_a_limit_of_the_process_counts():
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (2 * 10**12, before[1]))
    try:
        assert resources.memory.__wrapped__() <= 2 * 10**12
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
