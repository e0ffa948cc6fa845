"""A controller acts in Python exactly as the program that is written for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jumar as jm
from jumar.core.errors import ControllerError, ParameterError
from jumar.memory import product, window
from jumar.policy.controller import Controller
from jumar.show.program import program
from strategies import controllers, logs, memories, names

Z, A = ("good", "worn"), ("keep", "repair")


def worn_twice() -> Controller:
    """Repair what is worn for the second time in a row, three times in four."""
    base = Controller.constant(Z, A, [1, 0], memory=window(2), name="twice")
    return base.except_at(base.state(["worn"], "worn")[None, :], np.array([[0.25, 0.75]]))


def loaded(controller: Controller) -> Any:
    module: dict[str, Any] = {"__name__": "improved"}
    exec(compile(program(controller), "improved.py", "exec"), module)
    return module["Controller"]()


@given(st.data())
def test_agent_and_program_agree_after_every_history(data):
    z, a = names("z", data.draw(st.integers(1, 3))), names("a", data.draw(st.integers(1, 3)))
    memory = data.draw(memories(len(z), len(a)))
    controller = data.draw(controllers(z, a, memory))
    log = data.draw(logs(z, a))
    agent, copied = controller.start(1), loaded(controller)
    for e in range(len(log)):
        agent.reset(), copied.reset()
        for t in range(log.start[e], log.start[e + 1]):
            seen, done = z[log.observation[t]], a[log.action[t]]
            assert agent.probabilities(seen) == copied.probabilities(seen)
            agent.tell(seen, done), copied.tell(seen, done)


def test_acting_remembers_what_was_done():
    agent = worn_twice().start(1, most_likely=True)
    assert [agent.act(z) for z in ("worn", "worn", "good", "worn")] == [
        "keep",
        "repair",
        "keep",
        "keep",
    ]
    assert agent.node == ["worn"]
    agent.reset()
    assert agent.node == [""]


def test_actions_are_as_frequent_as_they_should_be():
    """A right agent fails with probability 1e-6: 4.9 standard deviations."""
    agent, n = Controller.constant(Z, A, [0.2, 0.8]).start(7), 4000
    kept = Counter(agent.act("good") for _ in range(n))["keep"]
    assert abs(kept - 0.2 * n) < 4.9 * np.sqrt(n * 0.2 * 0.8)


def test_a_seed_is_a_number_or_a_generator():
    def actions(seed: Any) -> list[str]:
        agent = Controller.uniform(Z, A).start(seed)
        return [agent.act("good") for _ in range(50)]

    assert actions(1) == actions(1) != actions(2)
    assert actions(np.random.default_rng(1)) == actions(np.random.default_rng(1))
    with pytest.raises(ParameterError, match="seed"):
        actions("one")


def test_unknown_names_are_told_and_change_nothing():
    agent = worn_twice().start(1)
    with pytest.raises(ControllerError, match="observation 'wron' is not one of good, worn"):
        agent.act("wron")
    with pytest.raises(ControllerError, match="action 'fix' is not one of keep, repair"):
        agent.tell("worn", "fix")
    assert agent.node == [""]


def test_what_is_remembered_can_be_kept_elsewhere_and_put_back():
    agent, other = worn_twice().start(1), worn_twice().start(1)
    agent.tell("worn", "keep")
    other.node = agent.node
    assert other.probabilities("worn") == {"keep": 0.25, "repair": 0.75}
    other.node = "worn"
    with pytest.raises(ControllerError, match="is not a list of 1"):
        other.probabilities("worn")


def test_memories_and_controllers_are_shown_in_a_line():
    controller = worn_twice()
    assert repr(controller) == (
        "<Controller: 'twice', window of 2, 2 observations, 2 actions, own rows: 1, otherwise one "
        "row>"
    )
    better = controller.lift(window(3))
    assert "own rows: 0, otherwise as 'twice'" in repr(better)
    assert repr(window(3)) == "<Window: window of 3>"
    both = product(window(2), window(3, actions=True)).on(2, 2)
    assert repr(both) == (
        "<Product: window of 2 × window of 3 with actions, on 2 observations and 2 actions>"
    )
    assert repr(controller.start(1)) == "<Agent: 'twice' at node ['']>"
    hostile = Controller.uniform(Z, A, name="<script>" + "x" * 10_000 + "\n")
    assert len(repr(hostile)) < 200
    for shown in (hostile, both, controller):
        assert shown._repr_html_().startswith("<code>&lt;")
        assert "<script>" not in shown._repr_html_()
        assert "\n" not in repr(shown)


# ---- fresh randomness, and raw readings ---------------------------------------------------------


def test_without_a_seed_a_thousand_agents_do_not_all_do_the_same():
    """All alike: a chance of 2^-999."""
    fair = Controller.uniform(Z, A)
    assert len({fair.start().act("good") for _ in range(1000)}) == 2
    assert len({fair.start(seed=1).act("good") for _ in range(100)}) == 1


FRAME = {
    "pump": [1, 1, 1, 2, 2, 2],
    "wear": [0.5, 3.0, None, 1.0, 2.0, 2.5],
    "noise": ["quiet", "loud", "quiet", "loud", "quiet", "loud"],
    "work": ["keep", "repair", "keep", "keep", "repair", "keep"],
    "reward": [1.0, -1.0, 1.0, 1.0, -1.0, 1.0],
}
READ = {
    "columns": {"episode": "pump", "observation": ["wear", "noise"], "action": "work"},
    "bins": {"wear": ("low", 2, "high")},
    "missing": "symbol",
    "ends": "terminated",
}


def readings() -> Iterator[dict[str, Any]]:
    for row in zip(*FRAME.values(), strict=True):
        yield dict(zip(FRAME, row, strict=True))


@pytest.fixture(scope="module")
def result():
    log = jm.read_logs(pa.table(FRAME), **READ)
    return jm.improve(log, "estimate", discount=0.9, n_wedge=1)


def test_the_policy_of_a_result_reads_as_its_log_was_read(result, tmp_path):
    log, agent = result.log, result.controller.start()
    names = [log.observations[z] for z in log.observation]
    assert names[:3] == ["low+quiet", "high+loud", "missing+quiet"]
    assert [agent._observation(reading) for reading in readings()] == names
    result.save(tmp_path / "out")
    loaded = jm.load_controller(tmp_path / "out")  # the folder is enough
    assert loaded.reading == result.controller.reading
    again = jm.load_controller(tmp_path / "out" / "improved.json").start(1)
    for reading, name in zip(readings(), names, strict=True):
        assert again.probabilities(reading) == again.probabilities(name)
        assert again.act(reading) in log.actions
    again.tell(next(readings()), {"work": "repair"})
    with pytest.raises(ControllerError, match="no column noise"):
        again.act({"wear": 3})
    with pytest.raises(ControllerError, match="work"):
        again.tell(next(readings()), {})
    jm.export_controller(result.controller, tmp_path / "own.py")  # with the cuts, unasked
    assert '("low", 2.0, "high")' in (tmp_path / "own.py").read_text().replace("'", '"')


def test_a_number_is_enough_where_one_column_is_seen():
    alone = {**READ, "columns": {"episode": "pump", "observation": "wear", "action": "work"}}
    log = jm.read_logs(pa.table(FRAME), **alone)
    result = jm.improve(log, "estimate", discount=0.9, n_wedge=1)
    agent = result.controller.start()
    assert [agent._observation(x) for x in (1.9, 2, "3.5", None, "low")] == [
        "low", "high", "high", "missing", "low"]  # fmt: skip


def test_a_row_of_pandas_is_a_reading(result):
    frame = pytest.importorskip("pandas").DataFrame(FRAME)
    agent = result.controller.start()
    assert [agent._observation(row) for _, row in frame.iterrows()] == [
        agent._observation(reading) for reading in readings()
    ]


def test_a_policy_that_knows_no_readings_says_where_there_is_one_that_does():
    with pytest.raises(ControllerError, match=r"is not one of good, worn.*result\.controller"):
        Controller.uniform(Z, A).start().act(3.2)
    assert Controller.uniform(Z, A).start().act({"observation": "worn"}) in A
