"""Datasets of Minari: written and read back as they were, and those of others read as they are."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import jumar as jm
from commands import run_command
from jumar.core.errors import LogError, ParameterError, TooLarge
from jumar.log.episodes import Episodes, Labels
from jumar.log.formats.minari import METADATA

WHY = "{} is not installed: pip install jumar[minari]"
minari = pytest.importorskip("minari", reason=WHY.format("minari"))
h5py = pytest.importorskip("h5py", reason=WHY.format("h5py"))
gym = pytest.importorskip("gymnasium", reason=WHY.format("gymnasium"))

from gymnasium import spaces  # noqa: E402
from minari.data_collector import EpisodeBuffer  # noqa: E402

TIGER = jm.models.tiger()
FAIR = jm.Controller.uniform(TIGER.observations, TIGER.actions, jm.window(2), name="fair")
COLUMNS = ("observation", "action", "reward", "start", "final_observation", "terminated")


@pytest.fixture(autouse=True)
def datasets(tmp_path, monkeypatch):
    """Nothing is read or written at home."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    return tmp_path / "datasets"


def same(one: Episodes, other: Episodes) -> None:
    assert (one.observations, one.actions) == (other.observations, other.actions)
    for column in COLUMNS:
        assert getattr(one, column).tolist() == getattr(other, column).tolist(), column


def spoken(labels: Labels) -> list[str | None]:
    return [None if i < 0 else labels.names[i] for i in labels.code.tolist()]


# an ending, a cut with what was seen then, and a cut without
THREE = Episodes(
    ("good", "worn", "never"), ("keep", "repair"), [0, 1, 1, 0, 1], [0, 1, 0, 0, 1],
    [1.0, -2.5, 0.1, 1 / 3, 7.0], [0, 2, 3, 5], [-1, 0, -1], [True, False, False],
)  # fmt: skip


# ---- round trips --------------------------------------------------------------------------------


def test_what_is_written_is_read_back_to_the_last_bit():
    data = jm.write_minari(THREE, "jumar/three-v0")
    for source in (data, str(data), data.parent, "minari:jumar/three-v0"):
        same(jm.read_logs(source), THREE)


def test_nodes_propensities_clusters_and_behaviors_come_back():
    log = replace(
        THREE,
        node=Labels(("due", "done"), [0, 1, -1, 1, 0]),
        propensity=[0.5, 1.0, 0.25, 1 / 3, 1e-9],
        cluster=Labels.of(["b", "a", "b"]),
        behavior=Labels.of(["y", "y", "x"]),
    )
    back = jm.read_logs(jm.write_minari(log, "all-v3"))
    same(back, log)
    assert back.propensity.tolist() == log.propensity.tolist()
    for part in ("node", "cluster", "behavior"):
        assert spoken(getattr(back, part)) == spoken(getattr(log, part)), part


def test_discount_and_controller_come_back():
    log = jm.simulate(TIGER, FAIR, episodes=30)
    rule = jm.train_behavior(TIGER, jm.window(2), softmax=0.05, episodes=50)
    jm.write_minari(log, "t/u/tiger-v0", discount=0.95, controller=rule, description="trained")
    found = jm.read_minari("minari:t/u/tiger-v0")
    same(found.log, log)
    assert found.discount == 0.95
    assert found.controller.same_as(rule)
    assert found.metadata["description"] == "trained"
    assert found.metadata["algorithm_name"] == rule.name
    assert "t/u/tiger-v0" in repr(found)
    jm.write_minari(log, "t/u/plain-v0")
    plain = jm.read_minari("minari:t/u/plain-v0")
    assert (plain.discount, plain.controller) == (None, None)


def test_labels_of_episodes_come_back_so_halves_are_dealt_as_before(tmp_path):
    rows = "".join(f"call {e},z,{'ab'[e % 2]},{e % 3},true\n" for e in range(400))
    (tmp_path / "log.csv").write_text("episode,observation,action,reward,terminated\n" + rows)
    log = jm.read_logs(tmp_path / "log.csv")
    back = jm.read_logs(jm.write_minari(log, "calls-v0"))
    assert back.labels == log.labels
    half = jm.Controller.uniform(("z",), ("a", "b"))
    whole = jm.improve(log, half, discount=0.9).to_dict()
    assert jm.improve(back, half, discount=0.9).to_dict() == whole


def test_minari_itself_reads_what_is_written():
    log = replace(THREE, node=Labels(("due", "done"), [0, 1, 0, 1, 0]))
    jm.write_minari(log, "jumar/three-v0")
    dataset = minari.load_dataset("jumar/three-v0")
    assert (len(dataset), dataset.total_steps) == (3, 5)
    assert dataset.spec.observation_space == spaces.Discrete(3)
    first = dataset[0]
    assert first.observations.tolist() == [0, 1, 1]  # shown again: nothing is seen at the end
    assert first.actions.tolist() == [0, 1]
    assert first.terminations.tolist() == [False, True]
    assert dataset[1].truncations.tolist() == [True]
    assert first.infos["node"].tolist()[:2] == [0, 1]
    many = jm.write_minari(jm.simulate(TIGER, FAIR, episodes=100), "jumar/many-v0")
    size = sum(file.stat().st_size for file in many.iterdir()) / 1e6
    assert minari.MinariDataset(many).storage.metadata["dataset_size"] == pytest.approx(size, 0.1)


# ---- datasets of others -------------------------------------------------------------------------


def made(name, observation_space, action_space, episodes):
    buffers = [EpisodeBuffer(**episode) for episode in episodes]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Minari recommends to fill in
        minari.create_dataset_from_buffers(
            name, buffers, observation_space=observation_space, action_space=action_space,
        )  # fmt: skip
    return f"minari:{name}"


def episode(observations, actions, terminated=True, **more):
    T = len(more.pop("rewards", None) or (actions[0] if isinstance(actions, tuple) else actions))
    ends = [False] * (T - 1) + [True]
    never = [False] * T
    return {
        "observations": observations, "actions": actions, "rewards": [float(t) for t in range(T)],
        "terminations": ends if terminated else never, "truncations": never if terminated else ends,
        **more,
    }  # fmt: skip


def test_spaces_that_begin_elsewhere_keep_their_numbers_and_all_names():
    source = made(
        "foreign/one-v0", spaces.Discrete(4, start=-1), spaces.Discrete(2, start=5),
        [episode(np.array([-1, 0, 2]), np.array([5, 6])),
         episode(np.array([2, 2]), np.array([6]), terminated=False)],
    )  # fmt: skip
    log = jm.read_logs(source)
    assert log.observations == ("-1", "0", "1", "2")
    assert log.actions == ("5", "6")
    assert log.observation.tolist() == [0, 1, 3]
    assert log.action.tolist() == [0, 1, 1]
    assert log.final_observation.tolist() == [-1, 3]
    assert log.terminated.tolist() == [True, False]
    assert log.origin.label == ["0", "1"]


def test_real_numbers_are_cut_into_bins():
    source = made(
        "foreign/real-v0", spaces.Box(-1, 1, (2,), np.float64), spaces.Discrete(2),
        [episode(np.array([[0.5, -0.2], [-0.5, 0.7], [0, 0]]), np.array([0, 1]), False)],
    )  # fmt: skip
    with pytest.raises(LogError, match=r"--bins observation.0=low:0.5:high"):
        jm.read_logs(source)
    log = jm.read_logs(
        source,
        columns={"observation": ("observation.0", "observation.1")},
        bins={"observation.0": ("left", 0, "right"), "observation.1": ("down", 0, "up")},
    )
    named = [log.observations[z] for z in (*log.observation, *log.final_observation)]
    assert named == ["right+down", "left+up", "right+up"]


def test_parts_with_names_and_places_are_columns():
    space = spaces.Dict(
        {"a": spaces.Discrete(2), "b": spaces.Tuple((spaces.Discrete(3), spaces.Discrete(2)))}
    )
    seen = {"a": np.array([0, 1, 1]), "b": (np.array([2, 0, 1]), np.array([1, 0, 0]))}
    source = made("foreign/parts-v0", space, spaces.Discrete(2),
                  [episode(seen, np.array([0, 1]))])  # fmt: skip
    log = jm.read_logs(source)
    assert [log.observations[z] for z in log.observation] == ["0+2+1", "1+0+0"]
    part = jm.read_logs(source, columns={"observation": ("observation.b.0",)})
    assert [part.observations[z] for z in part.observation] == ["2", "0"]


def test_what_an_environment_told_besides_can_be_used():
    infos = {"fog": [0.5, 2.5, 0.1], "who": ["anna", "anna", "anna"]}
    source = made("foreign/told-v0", spaces.Discrete(2), spaces.Discrete(2),
                  [episode(np.array([0, 1, 1]), np.array([0, 1]), infos=infos)])  # fmt: skip
    log = jm.read_logs(
        source,
        columns={"observation": ("observation", "info.fog"), "cluster": "info.who"},
        bins={"info.fog": ("clear", 1, "thick")},
    )
    assert [log.observations[z] for z in log.observation] == ["0+clear", "1+thick"]
    assert log.cluster.names == ("anna",)
    assert jm.read_logs(source).node is None


# ---- refusals -----------------------------------------------------------------------------------


def test_a_dataset_that_is_not_there_is_told_with_those_that_are(datasets):
    jm.write_minari(THREE, "jumar/three-v0")
    with pytest.raises(
        LogError, match=r"no such dataset in .*There are jumar/three-v0. Nothing is"
    ):
        jm.read_logs("minari:jumar/four-v0")
    with pytest.raises(
        LogError, match="three-v0 in it is a log of Minari, which is read by itself"
    ):
        jm.read_logs(datasets)


def test_an_old_dataset_is_not_overwritten():
    jm.write_minari(THREE, "three-v7")
    with pytest.raises(LogError, match="three-v8"):
        jm.write_minari(THREE, "three-v7")


@pytest.mark.parametrize(("name", "more", "fact"), [
    ("three", {}, "jumar/tiger/fair-v0"),
    ("../three-v0", {}, "is not the name of a dataset"),
    ("three-v0", {"discount": 1.5}, "discount"),
])  # fmt: skip
def test_wrong_wishes_are_refused_before_anything_is_written(name, more, fact, datasets):
    with pytest.raises(ParameterError, match=fact):
        jm.write_minari(THREE, name, **more)
    assert not datasets.exists()


def test_an_error_while_writing_leaves_nothing(datasets, monkeypatch):
    monkeypatch.setattr("jumar.log.minari._episodes", lambda log: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        jm.write_minari(THREE, "broken-v0")
    assert [path.name for path in datasets.rglob("*") if path.name != "broken-v0"] == []


def change(folder, **keys):
    file = folder / METADATA
    known = json.loads(file.read_text())
    file.write_text(json.dumps({**known, **keys}))


@pytest.mark.parametrize(("keys", "fact"), [
    ({"observation_space": None}, "there is no observation_space"),
    ({"observation_space": '{"type": "Text"}'}, "kind Text has no names"),
    ({"observation_space": "{"}, "cannot be read as JSON"),
    ({"observation_space": '{"type": "Discrete", "n": 1, "start": 0}'},
     r"episode 0, step 1: the observation 1 is not in the space"),
    ({"observation_space": "[]"}, r"\[\] is not the description of a space"),
    ({"observation_space": '{"type": "Tuple", "subspaces": [' * 40 + "]}" * 40},
     "nested too deeply"),
    ({"observation_space": '{"type": "Tuple", "subspaces": []}'}, "the space has no values"),
    ({"observation_space": '{"type": "Discrete"}'}, "observation: .* is wrong: no 'n'"),
    ({"observation_space": '{"type": "Discrete", "n": -3}'}, "wrong: -3 is below 1"),
    ({"observation_space": '{"type": "MultiDiscrete", "nvec": [3, 2]}'},
     r"observations' is no list of numbers with entries of the shape \(2,\)"),
    ({"observation_space": '{"type": "Box", "shape": [10000000, 10000000], "low": 0, "high": 1, '
      '"dtype": "float32"}'}, "more than 100 numbers"),
    ({"data_format": "arrow"}, "data_format 'arrow' is not read, only hdf5"),
    ({"jumar": None}, "jumar, observations: it is no list of names"),
    ({"jumar": {"actions": [1, 2]}}, "jumar, actions: it is no list of names"),
    ({"jumar": {"without_final": 0}}, "jumar, without_final: it is no list of numbers"),
])  # fmt: skip
def test_damaged_metadata_is_told(keys, fact):
    data = jm.write_minari(THREE, "three-v0")
    change(data, **keys)
    with pytest.raises(LogError, match=fact):
        jm.read_logs(data)


@pytest.mark.parametrize(("own", "fact"), [
    ({"discount": 7}, "the discount 7 does not lie from 0 to 1"),
    ({"controller": {"format": "jumar-controller/1"}}, "metadata.json, controller"),
])  # fmt: skip
def test_damaged_remarks_of_ours_are_told(own, fact):
    data = jm.write_minari(THREE, "three-v0")
    change(data, jumar=own)
    with pytest.raises(LogError, match=fact):
        jm.read_minari(data)


def test_a_damaged_file_is_told():
    data = jm.write_minari(THREE, "three-v0")
    (data / "main_data.hdf5").write_bytes(b"nonsense")
    with pytest.raises(LogError, match="cannot be read as HDF5"):
        jm.read_logs(data)
    (data / "main_data.hdf5").unlink()
    with pytest.raises(LogError, match=r"main_data\.hdf5 is missing"):
        jm.read_logs(data)


def test_a_space_of_very_many_values_is_no_list_of_them():
    """Its names would not fit into memory: those that occur are the names."""
    data = jm.write_minari(THREE, "three-v0")
    change(data, observation_space='{"type": "Discrete", "n": 1000000000000, "start": 0}')
    assert jm.read_logs(data).observations == ("0", "1")


@pytest.mark.parametrize(("name", "content", "fact"), [
    ("episode_1/rewards", None, "three-v0/data, episode 1: 'rewards' is no list of numbers"),
    ("episode_1", np.zeros(3), "episode 1: it is no group of lists"),
    ("episode_1/rewards", np.array([b"much"]), "episode 1: 'rewards' is no list of numbers"),
    ("episode_1/rewards", np.zeros((1, 2)), "'rewards' is no list of numbers"),
    ("episode_1/rewards", np.zeros(9), "episode 1, reward: 9 entries, but the episode has 1 steps"),
    ("episode_1", h5py.SoftLink("/episode_1"), "cannot be read as Minari: .*too many links"),
    ("episode_1/observations", np.array([0.5, 1]), "step 0: the observation 0.5 is not in the"),
    ("stray", np.zeros(3), "'stray' is not the name of an episode"),
])  # fmt: skip
def test_a_file_that_holds_something_else_is_told(name, content, fact):
    data = jm.write_minari(THREE, "three-v0")
    with h5py.File(data / "main_data.hdf5", "a") as file:
        if name in file:
            del file[name]
        if content is not None:
            file[name] = content
    with pytest.raises(LogError, match=fact):
        jm.read_logs(data)


def test_a_list_that_is_larger_than_memory_is_told():
    """HDF5 keeps nothing of what was never written: a small file may promise terabytes."""
    data = jm.write_minari(THREE, "three-v0")
    with h5py.File(data / "main_data.hdf5", "a") as file:
        del file["episode_1/rewards"]
        file.create_dataset("episode_1/rewards", (10**13,), "f8", chunks=True)
    with pytest.raises(TooLarge, match=r"episode 1, rewards: .* 80 TB"):
        jm.read_logs(data)


def test_a_label_without_a_name_is_told():
    log = replace(THREE, cluster=Labels.of(["a", "b", "a"]))
    data = jm.write_minari(log, "three-v0")
    own = json.loads((data / METADATA).read_text())["jumar"]
    change(data, jumar={**own, "cluster_names": ["a"]})
    with pytest.raises(LogError, match="cluster: there are names for the numbers 0 to 0"):
        jm.read_logs(data)


# ---- commands -----------------------------------------------------------------------------------


def test_commands_take_a_dataset_and_its_discount(tmp_path, capsys):
    FAIR.save(tmp_path / "fair.json")
    rule = ("--policy", tmp_path / "fair.json")
    done = run_command(capsys, "simulate", "tiger", *rule, "--episodes", 200, "-o", "minari:t-v0")
    assert done.code == 0, done.err
    assert jm.read_minari("minari:t-v0").discount == 0.95
    out = tmp_path / "out"
    done = run_command(capsys, "improve", "minari:t-v0", *rule, "-o", out, "--json")
    assert done.code in (0, 1), done.err
    assert done.data["discount"] == 0.95
    run = json.loads((out / "run.json").read_text())
    assert len(run["files"]["log"]["sha256"]) == 64
    again = run_command(capsys, "improve", "--again", out / "run.json", "--json")
    assert again.data["certificates"] == done.data["certificates"]
    assert run_command(capsys, "check", tmp_path / "datasets" / "t-v0", *rule).code in (0, 1)
    counted = run_command(capsys, "count", "minari:t-v0", *rule, "-o", tmp_path / "c.parquet")
    assert "jumar convert FOLDER -o log.parquet" in counted.err


def test_convert_writes_the_same_log_in_any_format(tmp_path, capsys):
    log = jm.simulate(TIGER, FAIR, episodes=50, max_steps=2)
    jm.write_logs(log, tmp_path / "log.parquet")
    FAIR.save(tmp_path / "fair.json")
    more = ("--policy", tmp_path / "fair.json", "--discount", 0.9)
    steps = ["log.parquet", "minari:tiger-v0", "back.csv", "back.ndjson", "end.arrow"]
    for source, target in pairwise(steps):
        here, there = (s if s.startswith("minari:") else tmp_path / s for s in (source, target))
        done = run_command(capsys, "convert", here, "-o", there, *more, "--json")
        assert done.code == 0, done.err
        assert done.data["steps"] == log.n_steps
    same(jm.read_logs(tmp_path / "end.arrow"), log)
    found = jm.read_minari("minari:tiger-v0")
    assert found.discount == 0.9
    assert found.controller.same_as(FAIR)
    refused = run_command(capsys, "convert", tmp_path / "log.parquet", "-o", "minari:tiger")
    assert refused.code == 2
