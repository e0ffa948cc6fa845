"""What `import jumar as jm` gives: names, documentation, seeds, and what may be passed."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import jumar as jm
from commands import run_command
from jumar.core.errors import ControllerError, ParameterError
from jumar.core.randomness import random_stream
from jumar.evidence.validity import Validity
from jumar.gate import held_out_test
from jumar.gate import select as select_by_hand
from jumar.lab import Pouct, plan
from jumar.log.episodes import Labels

TIGER = jm.models.tiger()
FAIR = jm.Controller.uniform(TIGER.observations, TIGER.actions, name="fair")
LOG = jm.simulate(TIGER, FAIR, episodes=400)
PACKAGE = Path(jm.__file__).parent


# ---- documentation ------------------------------------------------------------------------------


def public_functions():
    for name in jm.__all__:
        thing = getattr(jm, name)
        if inspect.isfunction(thing):
            yield name, thing
    for name in jm.offpolicy.__all__:
        thing = getattr(jm.offpolicy, name)
        if inspect.isfunction(thing):
            yield f"offpolicy.{name}", thing
    for place in (jm.Controller.start, jm.Controller.row, jm.Controller.lift,
                  jm.Controller.uniform,
                  jm.Controller.constant, jm.Controller.save,
                  jm.Result.plot, jm.Result.report, jm.Result.save,
                  select_by_hand, held_out_test,
                  jm.lab.export_model, jm.lab.save_model, plan,
                  jm.lab.simulated_value, jm.evidence.first_returns,
                  jm.evidence.order_tests, jm.memory.join, jm.memory.product,
                  jm.pipeline.select):  # fmt: skip
        yield f"{place.__module__}.{place.__qualname__}", place


FUNCTIONS = dict(public_functions())


def sections(function) -> dict[str, str]:
    """The sections of a numpydoc docstring by title."""
    parts = re.split(r"^(\w+)\n-{3,}\n", inspect.getdoc(function) or "", flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_of_a_public_function_is_documented_by_itself(name):
    signature = inspect.signature(FUNCTIONS[name])
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    wanted = [stars.get(p.kind, "") + p.name for p in signature.parameters.values()]
    listed = re.findall(r"^(\S.*)$", sections(FUNCTIONS[name]).get("Parameters", ""), re.M)
    assert listed == [each for each in wanted if each not in ("self", "cls")]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_public_function_returns_is_documented(name):
    returns = inspect.signature(FUNCTIONS[name]).return_annotation
    if returns != "None":
        assert sections(FUNCTIONS[name]).get("Returns", "").strip()


def test_no_public_name_is_that_of_a_folder():
    """`jm.io` must not be one thing before and another one after an import."""
    folders = {path.parent.relative_to(PACKAGE).parts[:1] for path in PACKAGE.rglob("*.py")}
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    assert not (modules | {part for parts in folders for part in parts}) & set(jm.__all__)


@pytest.mark.parametrize("name", ["stream", "choose", "train"])
def test_old_names_are_gone(name):
    assert not hasattr(jm, name)


# ---- seeds --------------------------------------------------------------------------------------


def plain(value) -> object:
    """What can be compared."""
    if isinstance(value, jm.Episodes):
        return value.action.tolist(), value.reward.tolist()
    if isinstance(value, jm.Controller):
        return value.rows.tolist()
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "gains"):
        return value.gains.tolist()
    return repr(value)


IMPROVEMENT = jm.improve(LOG, FAIR, discount=0.95, n_wedge=20).improvement
SEEDED = {
    "simulate": (lambda **s: jm.simulate(TIGER, FAIR, episodes=50, **s), ("data",)),
    "simulated_value": (
        lambda **s: jm.lab.simulated_value(TIGER, FAIR, episodes=50, **s),
        ("evaluation",),
    ),
    "train_behavior": (
        lambda **s: jm.train_behavior(TIGER, jm.window(1), softmax=0.05, episodes=50, **s),
        ("train", "tiger", "window of 1"),
    ),
    "check": (lambda **s: jm.check(LOG, FAIR, resamples=99, **s), ("check",)),
    "order_test": (lambda **s: jm.order_test(LOG, FAIR, resamples=39, **s), ("order",)),
    "order_tests": (
        lambda **s: jm.evidence.order_tests(LOG, FAIR, resamples=39, longest=2, **s),
        ("order",),
    ),
    "offpolicy.estimate": (
        lambda **s: jm.offpolicy.estimate(
            LOG, FAIR, FAIR, discount=0.9, interval="bootstrap-t", **s
        ),
        ("offpolicy",),
    ),
    "auto.select": (lambda **s: select_by_hand(LOG, FAIR, discount=0.9, **s), ("selection",)),
}


@pytest.mark.parametrize("name", SEEDED)
def test_a_number_is_a_stream_for_the_purpose_and_1_the_default(name):
    run, purpose = SEEDED[name]
    one = plain(run(seed=1))
    assert plain(run()) == one
    assert plain(run(seed=random_stream(1, *purpose))) == one
    with pytest.raises(ParameterError, match="seed"):
        run(seed="1")


@pytest.mark.parametrize("run", [
    lambda seed: jm.improve(LOG, FAIR, discount=0.95, seed=seed).to_dict(),
    lambda seed: jm.pipeline.select(LOG, FAIR, discount=0.95, seed=seed).to_dict(),
    lambda seed: plan(TIGER, Pouct(simulations=20), episodes=3, seed=seed).returns.tolist(),
])  # fmt: skip
def test_what_starts_many_streams_takes_a_generator_too(run):
    one, again, other = (run(np.random.default_rng(i)) for i in (1, 1, 2))
    assert json.dumps(one) == json.dumps(again) != json.dumps(other)


def test_a_seed_means_the_same_on_the_command_line(tmp_path, capsys):
    FAIR.save(tmp_path / "fair.json")
    asked = ("--episodes", 50, "--seed", 3)
    run_command(capsys, "simulate", "tiger", "--policy", tmp_path / "fair.json", *asked,
                "-o", tmp_path / "log.parquet")  # fmt: skip
    written = jm.read_logs(tmp_path / "log.parquet")
    assert plain(written) == plain(jm.simulate(TIGER, FAIR, episodes=50, seed=3))
    run_command(capsys, "train", "tiger", "--window", 1, *asked, "-o", tmp_path / "trained.json")
    softmax = jm.models.MODELS["tiger"].training.softmax
    own = jm.train_behavior(TIGER, jm.window(1), softmax=softmax, episodes=50, seed=3)
    written = jm.load_controller(tmp_path / "trained.json")
    assert written.same_as(own)
    assert written.name == own.name


# ---- a behavior that was estimated --------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"n_wedge": 20}, {"algorithm": "strict"}])
def test_nobody_can_forget_that_a_behavior_was_estimated(more):
    guess = jm.estimate_behavior(LOG)
    known = replace(guess, estimated=False)
    weak, strong = (jm.improve(LOG, b, discount=0.95, **more) for b in (guess, known))
    assert (weak.estimated, strong.estimated) == (True, False)
    assert {c.validity for c in weak.certificates} == {Validity.CLAIMED}
    assert any(c.validity is not Validity.CLAIMED for c in strong.certificates)
    assert weak.certificate.zeta >= strong.certificate.zeta
    assert weak.improvement.controller.same_as(strong.improvement.controller)


def test_an_off_policy_interval_is_only_claimed_with_an_estimated_behavior():
    settings = {"discount": 0.95, "estimator": "pdis", "interval": "hoeffding"}
    guess = jm.estimate_behavior(LOG)
    weak = jm.offpolicy.estimate(LOG, FAIR, guess, **settings)
    strong = jm.offpolicy.estimate(LOG, FAIR, replace(guess, estimated=False), **settings)
    assert weak.validity is Validity.CLAIMED
    assert strong.validity.strength > Validity.PUBLISHED.strength
    assert weak.value == strong.value
    assert weak.assumptions != strong.assumptions


def test_the_mark_stays_on_the_behavior_and_not_on_what_is_made_of_it():
    guess = jm.estimate_behavior(LOG, jm.window(2))
    assert guess.estimated
    assert guess.lift(jm.window(3)).estimated
    for n_wedge in (20, 10**6):  # changed, and kept
        better = jm.improve(LOG, guess, discount=0.95, n_wedge=n_wedge)
        assert better.behavior.estimated
        assert not better.controller.estimated


def test_a_file_says_that_a_behavior_was_estimated_and_others_say_nothing(tmp_path):
    guess = jm.estimate_behavior(LOG, jm.window(2))
    guess.save(tmp_path / "guess.json")
    assert jm.load_controller(tmp_path / "guess.json").estimated
    known = replace(guess, estimated=False)
    known.save(tmp_path / "known.json")
    assert "estimated" not in json.loads((tmp_path / "known.json").read_text())
    assert not jm.load_controller(tmp_path / "known.json").estimated
    (tmp_path / "odd.json").write_text(
        (tmp_path / "guess.json").read_text().replace('"estimated": true', '"estimated": 1')
    )
    with pytest.raises(ControllerError, match="estimated"):
        jm.load_controller(tmp_path / "odd.json")


def test_one_estimate_among_several_behaviors_weakens_all():
    made = replace(LOG, behavior=Labels.of(["a", "b"] * 200))
    guess = jm.estimate_behavior(LOG)
    result = jm.improve(made, {"a": FAIR, "b": guess}, discount=0.95)
    assert result.estimated
    assert {c.validity for c in result.certificates} == {Validity.CLAIMED}


# ---- files, tables and "estimate" ---------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    jm.write_logs(LOG, folder / "log.parquet")
    FAIR.save(folder / "fair.json")
    return folder


def tables(folder: Path) -> dict[str, object]:
    """The log in memory, in every library that is installed."""
    import pyarrow.parquet as pq

    found: dict[str, object] = {"pyarrow": pq.read_table(folder / "log.parquet")}
    for kind in ("pandas", "polars"):
        if find_spec(kind):
            found[kind] = import_module(kind).read_parquet(folder / "log.parquet")
    return found


def test_improve_takes_files_and_tables(files):
    path = files / "log.parquet"
    log = jm.read_logs(path, observations=FAIR.observations, actions=FAIR.actions)
    whole = jm.improve(log, FAIR, discount=0.95).to_dict()
    logs = {"path": path, "text": str(path), "replays": jm.Replays(log), **tables(files)}
    for kind, log in logs.items():
        assert jm.improve(log, FAIR, discount=0.95).to_dict() == whole, kind
    for behavior in (files / "fair.json", str(files / "fair.json")):
        assert jm.improve(path, behavior, discount=0.95).to_dict() == whole, behavior


@pytest.mark.parametrize("ask", [
    lambda log, who: jm.check(log, who, resamples=99).to_dict(),
    lambda log, who: jm.pipeline.select(log, who, discount=0.95).to_dict(),
    lambda log, who: jm.offpolicy.estimate(log, who, who, discount=0.95).to_dict(),
    lambda log, who: repr(jm.order_test(log, who, resamples=39).p),
    lambda log, who: jm.estimate_behavior(log).rows.tolist(),
])  # fmt: skip
def test_other_questions_take_files_too(files, ask):
    path = files / "log.parquet"
    log = jm.read_logs(path, observations=FAIR.observations, actions=FAIR.actions)
    assert ask(path, files / "fair.json") == ask(log, FAIR)


@pytest.mark.parametrize("more", [(), ("--window", 2), ("--window", 2, "--n-wedge", 20)])
def test_estimate_means_the_same_as_on_the_command_line(files, more, capsys):
    asked = ("--policy", "estimate", "--discount", 0.95, *more, "--json")
    said = run_command(capsys, "improve", files / "log.parquet", *asked)
    memory = jm.window(2) if "--window" in more else None
    parameters = {"n_wedge": 20} if "--n-wedge" in more else {}
    result = jm.improve(
        files / "log.parquet", "estimate", discount=0.95, memory=memory, **parameters
    )
    assert result.estimated
    said = said.data
    told = json.loads(json.dumps(result.assessment.to_dict()))
    assert said["certificates"] == told["certificates"]
    assert said["memory"] == str(result.improvement.mdp.memory)


def test_several_files_are_matched_by_name_or_by_the_name_of_the_file(tmp_path):
    log = replace(LOG, behavior=Labels.of(["a", "b"] * 200))
    replace(FAIR, name="rule of a").save(tmp_path / "a.json")
    replace(FAIR, name="b").save(tmp_path / "other.json")
    paths = [tmp_path / "a.json", tmp_path / "other.json"]
    whole = jm.check(log, {"a": FAIR, "b": FAIR}, resamples=99).to_dict()
    assert jm.check(log, paths, resamples=99).to_dict() == whole
    by_name = {"a": paths[0], "b": FAIR}
    assert jm.check(log, by_name, resamples=99).to_dict() == whole


@pytest.mark.parametrize("wrong", [42, None, [1, 2]])
def test_what_is_no_log_is_told(wrong):
    with pytest.raises(ParameterError, match="is no log"):
        jm.improve(wrong, FAIR, discount=0.95)
