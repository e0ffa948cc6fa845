"""Any environment as a log: what is a step, what is an ending, what is a cut."""

from __future__ import annotations

import numpy as np
import pytest

import jumar as jm
from jumar.core.errors import LogError, ParameterError
from jumar.core.randomness import random_stream

gym = pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install jumar[gym]")

from gymnasium import spaces, wrappers  # noqa: E402

import jumar.lab.envs  # noqa: E402
from jumar.lab.envs import Player, environment_id, names  # noqa: E402
from jumar.lab.envs.playing import MOST_KEPT, Tabulated  # noqa: E402


class Scripted(gym.Env):
    """Shows 0, 1, 2, ... (as the space has it) and ends, or is cut off, after some steps."""

    def __init__(self, observation_space, length=3, ends=True, cuts=False, action_space=None):
        self.observation_space = observation_space
        self.action_space = action_space or spaces.Discrete(2)
        self.length, self.ends, self.cuts = length, ends, cuts
        self.sent = []

    def _look(self):
        return self.observation_space.start + self.t % self.observation_space.n

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self._look(), {}

    def step(self, action):
        self.sent.append(action)
        self.t += 1
        over = self.t >= self.length
        return self._look(), float(self.t), self.ends and over, self.cuts and over, {}


def uniform(env, **named):
    return jm.Controller.uniform(*names(env, **named))


# ---- endings and cuts ---------------------------------------------------------------------------


def test_an_ending_is_an_ending_and_nothing_is_seen_after_it():
    env = Scripted(spaces.Discrete(5), length=3)
    log = jm.record(env, uniform(env), episodes=2)
    assert log.observations == ("0", "1", "2", "3", "4")
    assert log.observation.tolist() == [0, 1, 2] * 2
    assert log.reward.tolist() == [1.0, 2.0, 3.0] * 2
    assert log.terminated.tolist() == [True, True]
    assert log.final_observation.tolist() == [-1, -1]
    assert log.action.tolist() == env.sent


def lasting(length, **more):
    return Scripted(spaces.Discrete(5), length, **more)


@pytest.mark.parametrize(
    ("env", "limit", "length", "final"),
    [
        (wrappers.TimeLimit(lasting(100), 2), None, 2, 2),
        (lasting(100), 4, 4, 4),  # a limit that is given cuts off
        (lasting(3, ends=True, cuts=True), None, 3, -1),  # an end at the time limit is an end
        (lasting(3, ends=False), None, 10_000, 0),  # as long as a simulation
    ],
)
def test_a_cut_keeps_what_was_seen_then_and_an_end_has_nothing(env, limit, length, final):
    log = jm.record(env, uniform(env), episodes=2, max_steps=limit)
    assert log.lengths.tolist() == [length] * 2
    assert log.final_observation.tolist() == [final] * 2
    assert log.terminated.tolist() == [final == -1] * 2


@pytest.mark.parametrize("wrap", [
    wrappers.RecordEpisodeStatistics,
    wrappers.Autoreset,
    lambda env: wrappers.TransformReward(env, lambda reward: reward),
    lambda env: wrappers.TimeLimit(env, 50),
    lambda env: wrappers.OrderEnforcing(wrappers.PassiveEnvChecker(env)),
])  # fmt: skip
def test_wrappers_that_people_use_change_nothing(wrap):
    env = gym.make("jumar/Tiger-v0").unwrapped
    fair = uniform(env)
    plain = jm.record(env, fair, episodes=50)
    wrapped = jm.record(wrap(env), fair, episodes=50)
    for part in ("observation", "action", "reward", "start", "final_observation", "terminated"):
        assert getattr(wrapped, part).tolist() == getattr(plain, part).tolist()


# ---- the truth ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["tiger", "cheese_maze", "bridge_repair"])
def test_a_recorded_controller_is_worth_what_exact_evaluation_says(model):
    """Over the steps that are recorded, within 4 standard errors: one false alarm in 16,000."""
    pomdp = jm.models.build(model)
    behavior = jm.train_behavior(pomdp, jm.window(2), softmax=0.01, episodes=200)
    log = jm.record(gym.make(environment_id(model)), behavior, episodes=500)
    returns = log.returns(pomdp.discount)
    exact = jm.evaluate(pomdp, behavior, horizon=pomdp.max_steps).value
    assert abs(returns.mean() - exact) < 4 * returns.std(ddof=1) / np.sqrt(len(log)) + 1e-9


# ---- names --------------------------------------------------------------------------------------


def test_numbers_can_be_given_names_in_the_order_of_the_space():
    env = Scripted(spaces.Discrete(3))
    rule = jm.Controller.constant(("bad", "fair", "good"), ("repair", "keep"), [0, 1])
    named = {"observations": ("good", "fair", "bad"), "actions": ("keep", "repair")}
    log = jm.record(env, rule, episodes=1, **named)
    assert [log.observations[z] for z in log.observation] == ["good", "fair", "bad"]
    assert [log.actions[a] for a in log.action] == ["keep"] * 3
    assert env.sent == [0, 0, 0]


class Pair(Scripted):
    """Two numbers and a flag, in a space that is given."""

    def __init__(self, space, look, **more):
        super().__init__(space, **more)
        self.look = look

    def _look(self):
        return self.look(self.t)


@pytest.mark.parametrize(
    ("space", "look", "known", "seen"),
    [
        (spaces.Discrete(3, start=-1), lambda t: t - 1, ("-1", "0", "1"), ["-1", "0", "1"]),
        (spaces.Box(1, 3, (1,), np.int64), lambda t: [1 + t], ("1", "2", "3"), ["1", "2", "3"]),
        (
            spaces.MultiDiscrete([2, 3], start=[0, 10]),
            lambda t: [t % 2, 10 + t],
            ("0+10", "0+11", "0+12", "1+10", "1+11", "1+12"),
            ["0+10", "1+11", "0+12"],
        ),
    ],
)
def test_whole_numbers_are_names_and_several_make_one(space, look, known, seen):
    env = Pair(space, lambda t: np.array(look(t)), action_space=spaces.Discrete(2, start=5))
    assert names(env) == (known, ("5", "6"))
    log = jm.record(env, uniform(env), episodes=1)
    assert [log.observations[z] for z in log.observation] == seen
    assert [log.actions[a] for a in log.action] == [str(sent) for sent in env.sent]


def test_parts_with_names_and_places():
    space = spaces.Dict(
        {"wear": spaces.Box(0, 9, (), np.float64), "seen": spaces.MultiDiscrete([2])}
    )
    env = Pair(
        spaces.Tuple((space, spaces.Discrete(2))),
        lambda t: ({"wear": np.array(3.0 * t), "seen": np.array([t % 2], np.int8)}, t % 2),
    )
    bins = {"observation.0.wear": ("low", 3, "high")}
    # parts of a Dict stand in the order of their names, as Gymnasium puts them
    log = jm.record(env, uniform(env, bins=bins), episodes=1, bins=bins)
    assert [log.observations[z] for z in log.observation] == ["0+low+0", "1+high+1", "0+high+0"]
    reading = log.origin.reading.observation
    assert [column.name for column in reading] == [
        "observation.0.seen.0",
        "observation.0.wear",
        "observation.1",
    ]


def test_real_numbers_are_cut_as_the_reader_of_logs_cuts_them():
    import pyarrow as pa

    values = [-0.5, 0.0, 0.25, 0.75, 1.0]
    space = spaces.Box(-1, 1, (2,), np.float32)
    env = Pair(space, lambda t: np.array([9, values[t % 5]], np.float32), length=5)
    bins = {"observation.1": ("low", 0.0, "mid", 0.75, "high")}
    log = jm.record(env, uniform(env, bins=bins), episodes=1, bins=bins)
    read = jm.read_logs(
        pa.table({"episode": [0] * 5, "z": values, "action": ["a"] * 5, "reward": [0] * 5}),
        columns={"observation": "z"}, bins={"z": bins["observation.1"]}, ends="cut",
    )  # fmt: skip
    named = [log.observations[z] for z in log.observation]
    assert named == [read.observations[z] for z in read.observation]
    assert named == ["low", "mid", "mid", "high", "high"]


def test_cart_pole_and_pendulum_are_logs_too():
    pole = gym.make("CartPole-v1")
    bins = {"observation.2": ("left", 0, "right")}
    named = {"bins": bins, "actions": ("push left", "push right")}
    seen, done = names(pole, **named)
    catch = jm.Controller(seen, done, jm.window(1), [[0], [1]], np.eye(2), [1.0, 0.0])
    caught, fair = (
        jm.record(pole, c, episodes=20, **named) for c in (catch, uniform(pole, **named))
    )
    assert caught.lengths.mean() > fair.lengths.mean()  # to push where it falls keeps it up
    pendulum = gym.make("Pendulum-v1")
    bins = {"observation.0": ("down", 0, "up")}
    named = {"bins": bins, "actions": {"left": [-2.0], "right": [2.0]}}
    log = jm.record(pendulum, uniform(pendulum, **named), episodes=2, **named)
    assert log.actions == ("left", "right")
    assert log.lengths.tolist() == [200, 200]
    assert not log.terminated.any()  # Pendulum only ever stops by its time limit


def test_actions_of_several_numbers_are_sent_as_the_space_has_them():
    space = spaces.Dict({"b": spaces.MultiDiscrete([2, 2]), "a": spaces.Discrete(2, start=3)})
    env = Scripted(spaces.Discrete(1), action_space=space)
    assert names(env)[1][:3] == ("3+0+0", "3+0+1", "3+1+0")
    log = jm.record(env, uniform(env), episodes=20)
    assert all(space.contains(sent) for sent in env.sent)
    told = [f"{sent['a']}+{sent['b'][0]}+{sent['b'][1]}" for sent in env.sent]
    assert [log.actions[a] for a in log.action] == told


def test_names_of_a_wrapped_environment_hold_only_for_its_own_space():
    env = gym.make("jumar/Tiger-v0")
    other = wrappers.TransformObservation(env, lambda z: z + 1, spaces.Discrete(2, start=1))
    assert names(other) == (("1", "2"), ("open-left", "open-right", "listen"))


# ---- refusals -----------------------------------------------------------------------------------


def test_real_numbers_without_bins_are_refused_with_an_example():
    with pytest.raises(ParameterError, match=r"bins=\{'observation.0'"):
        names(gym.make("CartPole-v1"))
    with pytest.raises(ParameterError, match=r"actions=\{'left'"):
        names(gym.make("Pendulum-v1"), bins={"observation.0": ("down", 0, "up")})
    bins = {"observation.0": ("a", 0, "b")}
    with pytest.raises(ParameterError, match="which is not in"):
        names(gym.make("Pendulum-v1"), bins=bins, actions={"too hard": [9.0]})


@pytest.mark.parametrize(("bins", "fact"), [
    ({"observation.7": ("a", 0, "b")}, "'observation.7' is not one of observation.0"),
    ({"angle": ("a", 0, "b")}, "is not a column of a space"),
    ({"action": ("a", 0, "b")}, "actions are not cut"),
    ({"observation.0": ("a", 1, "b", 0, "c")}, "do not rise"),
])  # fmt: skip
def test_bins_of_something_else_are_refused(bins, fact):
    with pytest.raises(ParameterError, match=fact):
        names(gym.make("CartPole-v1"), bins=bins)


def test_pictures_are_refused():
    env = Pair(spaces.Box(0, 255, (84, 84), np.uint8), lambda t: None)
    with pytest.raises(ParameterError, match="wrapper"):
        names(env)
    with pytest.raises(ParameterError, match="too many to name"):
        names(Pair(spaces.MultiDiscrete([100] * 5), lambda t: None))
    with pytest.raises(ParameterError, match="kind Text has no names"):
        names(Pair(spaces.Text(3), lambda t: None))


def test_strangers_are_told_apart():
    env = gym.make("jumar/Tiger-v0")
    with pytest.raises(ParameterError, match=r"observation 'z' is not one of hear-left"):
        jm.record(env, jm.Controller.uniform(("z",), env.unwrapped.action_names), episodes=1)
    with pytest.raises(ParameterError, match=r"action 'wait' is not one of open-left"):
        jm.record(
            env, jm.Controller.uniform(env.unwrapped.observation_names, ("wait",)), episodes=1
        )
    with pytest.raises(ParameterError, match="3 names, but the space has 2 values"):
        names(env, observations=("a", "b", "c"))


def test_what_the_controller_does_not_know_is_refused_where_it_is_seen():
    env = Scripted(spaces.Discrete(3))
    half = jm.Controller.uniform(("0", "1"), ("0", "1"))
    with pytest.raises(LogError, match="observation '2' is not one of 0, 1"):
        jm.record(env, half, episodes=1)
    env = Pair(spaces.Discrete(3), lambda t: t * 5)
    with pytest.raises(LogError, match="outside the space"):
        jm.record(env, uniform(env), episodes=1)


@pytest.mark.parametrize(
    ("env", "asked", "fact"),
    [
        *((None, {"episodes": n}, "episodes") for n in (0, 1.5, True, "3")),
        (None, {"max_steps": 0}, "max_steps"),
        (None, {"seed": "1"}, "seed"),
        ("jumar/Tiger-v0", {}, "is no environment"),
        (gym.vector.SyncVectorEnv([lambda: lasting(1)]), {}, "add the logs"),
    ],
)
def test_what_cannot_be_run_is_refused(env, asked, fact):
    tiger = gym.make("jumar/Tiger-v0")
    with pytest.raises(ParameterError, match=fact):
        jm.record(env or tiger, uniform(tiger), **{"episodes": 1, **asked})


# ---- players ------------------------------------------------------------------------------------


def test_a_player_is_a_controller_in_anybodys_loop():
    env = gym.make("jumar/Tiger-v0")
    careful = jm.Controller(
        ("hear-left", "hear-right"), ("open-left", "open-right", "listen"), jm.window(2),
        np.array([[1, 0], [2, 1]]), np.array([[0, 1.0, 0], [1.0, 0, 0]]), np.array([0, 0, 1.0]),
    )  # fmt: skip
    player = Player(env, careful, most_likely=True)
    agent = careful.start(most_likely=True)
    for seed in range(20):
        observation, _ = env.reset(seed=seed)
        player.reset()
        agent.reset()
        ended = False
        while not ended:
            action = player.act(observation)
            assert env.unwrapped.action_names[action] == agent.act(
                env.unwrapped.observation_names[observation]
            )
            observation, _, ended, _, _ = env.step(action)
    assert "Tiger" in repr(player)


def test_tables_that_grow_say_the_same_as_the_controller(monkeypatch):
    monkeypatch.setattr("jumar.lab.envs.playing.MOST_KEPT", 5)  # forgets and looks up again
    assert MOST_KEPT > 5
    tiger = jm.models.tiger()
    rule = jm.train_behavior(tiger, jm.window(3), softmax=0.05, episodes=200)
    table, agent = Tabulated(rule), rule.start()
    rng, node = np.random.default_rng(1), Tabulated(rule).first
    for _ in range(200):
        z = int(rng.integers(2))
        row = list(agent.probabilities(tiger.observations[z]).values())
        bounds = np.cumsum(row)
        for u in (0.0, *rng.random(5).tolist(), 1 - 2**-53):
            a = table.choose(node, z, u)
            assert row[a] > 0  # what rounding leaves over goes to the last that is possible
            assert a == min(int(np.searchsorted(bounds, u, side="right")), a)
        a = int(rng.integers(3))
        agent.tell(tiger.observations[z], tiger.actions[a])
        node = table.next(node, z, a)
        assert rule.name_node(np.frombuffer(node, np.int64)) == agent.node


def test_a_number_is_a_stream_for_the_purpose_and_1_the_default():
    env = gym.make("jumar/Tiger-v0")
    fair = uniform(env)
    one = jm.record(env, fair, episodes=50)
    for seed in (1, random_stream(1, "recording")):
        again = jm.record(env, fair, episodes=50, seed=seed)
        assert again.reward.tolist() == one.reward.tolist()
    assert jm.record(env, fair, episodes=50, seed=2).reward.tolist() != one.reward.tolist()
