"""The doors for algorithms, estimators, intervals, bounds and checks, tried: each test enters a
minimal new one from here, without a change in src, and uses it wherever the house asks for one.

Between the marks ``# --- 8< ---`` stands all that the new one takes.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import jumar as jm
from commands import run_command as run
from jumar import algorithms
from jumar.algorithms import ALGORITHMS, Algorithm, Grid, Look, Looks, Words
from jumar.core.errors import ImpossibleClaim, ParameterError
from jumar.core.randomness import random_stream
from jumar.core.registry import Registry
from jumar.core.text import TextTable
from jumar.evidence.bounds import BOUNDS, SUFFICIENT, Bound
from jumar.evidence.certificate import promised, scale_of, worth_showing
from jumar.evidence.checking import QUESTIONS, check
from jumar.evidence.checking.base import Finding, Question, Section
from jumar.evidence.offpolicy import ESTIMATORS, INTERVALS, best_of
from jumar.evidence.offpolicy.estimators import Estimator, pdis
from jumar.evidence.offpolicy.intervals import Interval, Method, standard_error
from jumar.evidence.validity import Validity
from jumar.gate import held_out_test, select
from jumar.lab.study.figures import draw
from jumar.lab.study.runner import run_study
from jumar.lab.study.spec import study_from_document
from jumar.lab.study.summary import Results
from jumar.solve.solver import improvement
from jumar.verdict.decisions import decide
from jumar.verdict.tested import setting_words
from jumar.verdict.verdicts import VERDICTS, Carried, Terms, Verdict

# --- 8< --- a new algorithm


def lean(mdp, behavior, *, spread, share: float = 0.5):
    """Do what paid most on average a bit more often; leave alone what was never tried."""
    old = mdp.policy_of(behavior)
    best = np.where(mdp.visits > 0, mdp.reward - spread, -np.inf).argmax(1)
    rows = (1 - share) * old + share * np.eye(old.shape[1])[best]
    return improvement(mdp, behavior, rows, algorithm="lean", parameters={"share": share})


def spread_of(material):
    """What it asks for beside the counts: the standard deviation of the logged rewards."""
    return float(material.replays.log.reward.std())


LEAN = Algorithm(
    name="lean",
    summary="lean towards what paid most",
    improve=lean,
    needs={"spread": spread_of},
    grids={"proved": Grid(((("share", 0.25),), (("share", 0.5),)))},
    words=Words(
        does=lambda parameters: f"leans by {parameters['share']:g} to what paid most",
        kept=lambda _: "nothing paid more here",
    ),
    looks=Looks(curve=lambda _: Look("Lean", "#123456", "h")),
)

# --- 8< ---


@contextmanager
def entered(registry: Registry, name: str, entry: object) -> Iterator[None]:
    registry.add(name, entry)
    try:
        yield
    finally:
        registry.remove(name)


@pytest.fixture
def with_lean():
    with entered(ALGORITHMS, "lean", LEAN):
        yield


TIGER = jm.models.tiger()
CAREFUL = jm.Controller.constant(TIGER.observations, TIGER.actions, [0.2, 0.2, 0.6], name="careful")


def tiger_log(episodes: int = 1500) -> jm.Episodes:
    return jm.simulate(TIGER, CAREFUL, episodes=episodes, seed=random_stream(1, "data"))


def lines_between_marks(what: str = "a new algorithm") -> int:
    source = Path(__file__).read_text(encoding="utf-8")
    part = source.partition(f"\n# --- 8< --- {what}\n")[2].partition("\n# --- 8< ---\n")[0]
    assert part
    return sum(bool(line.strip()) for line in part.splitlines())


def test_a_new_algorithm_is_one_file_of_less_than_forty_lines():
    assert lines_between_marks() < 40


def test_a_new_algorithm_improves_and_has_a_certificate_of_its_own_kind(with_lean):
    result = jm.improve(tiger_log(), CAREFUL, discount=0.95, algorithm="lean", share=0.3)
    assert (result.improvement.algorithm, result.improvement.changed) == ("lean", 2)
    # it has no bound of its own: what holds for any policy is all that is said
    assert {c.bound for c in result.certificates} <= {"data-dependent", "plug-in"}
    with pytest.raises(ParameterError, match="lean: parameter 'spread' is not one of share"):
        jm.improve(tiger_log(50), CAREFUL, discount=0.95, algorithm="lean", spread=1.0)


def test_a_parameter_that_only_the_new_one_has_means_the_new_one(with_lean):
    result = jm.improve(tiger_log(50), CAREFUL, discount=0.95, share=0.3)
    assert (result.improvement.algorithm, dict(result.improvement.parameters)) == (
        "lean",
        {"share": 0.3},
    )


def test_a_new_algorithm_is_listed_and_run_on_the_command_line(with_lean, tmp_path, capsys):
    listed = {a["name"]: a for a in run(capsys, "algorithms", "--json").data["algorithms"]}
    assert listed["lean"] == {
        "name": "lean",
        "summary": "lean towards what paid most",
        "parameters": {"share": 0.5},
    }
    jm.write_logs(tiger_log(300), tmp_path / "log.csv")
    CAREFUL.save(tmp_path / "careful.json")
    done = run(
        capsys, "improve", tmp_path / "log.csv", "--policy", tmp_path / "careful.json",
        "--discount", 0.95, "--algorithm", "lean", "--set", "share=0.25", "--json",
    )  # fmt: skip
    assert done.data["parameters"] == {"share": 0.25}


def test_a_new_algorithm_speaks_in_the_report(with_lean, tmp_path):
    result = jm.improve(tiger_log(300), CAREFUL, discount=0.95, algorithm="lean")
    result.save(tmp_path / "out")
    assert (tmp_path / "out" / "report.html").exists()
    found = result.improvement
    made = decide(dataclasses.replace(found, policy=found.behavior_policy))
    assert made.why(0) == "nothing paid more here"


@pytest.mark.parametrize("gate", ["proved", "asymptotic"])
def test_a_new_algorithm_can_be_tested_on_held_out_halves(with_lean, gate):
    found = held_out_test(
        tiger_log(), CAREFUL, algorithm="lean", discount=0.95, seed=1,
        gate=gate,
    )  # fmt: skip
    assert len(found.trials) == 2
    assert str(found.trials[0].setting) == "lean, share = 0.5, window of 1"


def test_auto_tries_a_new_algorithm_that_has_a_grid(with_lean):
    def tried() -> int:
        rng = random_stream(1, "selection")
        return select(tiger_log(400), CAREFUL, discount=0.95, seed=rng, more_memory=0).tried

    both = tried()
    ALGORITHMS.remove("lean")
    try:
        alone = tried()
    finally:
        ALGORITHMS.add("lean", LEAN)
    assert both == alone + 2 * len(LEAN.grids["proved"].settings)  # of each half


def test_auto_deploys_a_new_algorithm_that_does_best(with_lean, monkeypatch):
    """Where nobody else has a grid, what passes is the new one, and its words are on the page."""
    monkeypatch.setattr("jumar.algorithms.tried_by", lambda test: [LEAN])
    names = ("z",), ("a", "b")
    n, rng = 600, np.random.default_rng(1)
    action = rng.integers(2, size=n)
    log = jm.Episodes(
        *names, [0] * n, action, action + 0.1 * rng.standard_normal(n), range(n + 1), [-1] * n,
        [True] * n,
    )  # fmt: skip
    result = jm.improve(log, jm.Controller.uniform(*names), discount=0.9)
    assert result.improvement.parameters["base"] == "lean"
    assert result.certificate.bound == "held-out"
    assert "leans by 0.5 to what paid most" in setting_words(result.selection.chosen.setting)


def test_a_new_algorithm_has_its_line_in_a_study(with_lean, tmp_path):
    spec = study_from_document(
        {
            "format": "jumar-study/1",
            "title": "doors",
            "seed": 1,
            "datasets": 2,
            "sizes": [50, 200],
            "behaviors": [{"model": "tiger", "window": 1, "memories": [1]}],
            "algorithms": [
                {"name": "lean", "share": [0.25, 0.5]},
                {"name": "spibb", "n_wedge": [5]},
                {"name": "auto"},
            ],
        }
    )
    store = run_study(spec, tmp_path / "study")
    rows = [r for r in pq.read_table(store.results).to_pylist() if r["algorithm"] == "lean"]
    assert {json.loads(r["parameters"])["share"] for r in rows} == {0.25, 0.5}
    assert all(math.isfinite(r["value"]) and r["zeta"] is None for r in rows)
    results = Results(store)
    for figure in spec.figures_to_draw():
        axes = draw(figure, results, {}).axes
        labels = {label for ax in axes for label in ax.get_legend_handles_labels()[1]}
        wanted = {"safety": "lean 0.25, k′ = k", "curves": "Lean, mean"}
        assert figure.kind not in wanted or wanted[figure.kind] in labels


def test_names_are_given_once(with_lean):
    with pytest.raises(ParameterError, match="algorithm 'lean' is there already"):
        ALGORITHMS.add("lean", LEAN)
    with pytest.raises(ParameterError, match=r"algorithm 'leen' is not one of .*'lean'"):
        ALGORITHMS.remove("leen")


# ---- an estimator, an interval, a bound ---------------------------------------------------------


CLIPPED = Estimator(
    title="step by step, with ratios of 2 at most",
    values=lambda s: pdis(np.minimum(s.ratio, 2.0), s.log.reward, s.log.start, s.discount),
    rank=9,
)


def test_a_new_estimator_is_one_entry(tmp_path, capsys):
    bold = jm.Controller.constant(TIGER.observations, TIGER.actions, [0.3, 0.3, 0.4])
    log = tiger_log(300)
    before = jm.offpolicy.estimate_all(log, bold, CAREFUL, discount=0.95)
    with entered(ESTIMATORS, "clipped", CLIPPED):
        found = jm.offpolicy.estimate_all(log, bold, CAREFUL, discount=0.95)
        assert list(found) == [*before, "clipped"]
        # the others draw the same numbers as ever
        assert {name: found[name] for name in before} == before
        assert found["clipped"].interval == "t"
        assert best_of(found.values()).estimator == "dr"
        with pytest.raises(ParameterError, match="interval hoeffding: not for clipped"):
            jm.offpolicy.estimate(
                log, bold, CAREFUL, discount=0.95, estimator="clipped", interval="hoeffding"
            )
        jm.write_logs(log, tmp_path / "log.csv")
        for controller, name in ((CAREFUL, "old.json"), (bold, "new.json")):
            controller.save(tmp_path / name)
        said = run(
            capsys, "estimate", tmp_path / "log.csv", "--controller", tmp_path / "new.json",
            "--policy", tmp_path / "old.json", "--discount", 0.95, "--estimator", "clipped",
        )  # fmt: skip
    assert CLIPPED.title in said.text


def twice(values, delta, *, rng, sides):
    error = 2 * standard_error(values)
    middle = float(values.mean())
    return Interval(middle - error, middle + error)


def test_a_new_interval_is_one_entry():
    method = Method("two standard errors", Validity.ASYMPTOTIC, "nothing", twice)
    with entered(INTERVALS, "twice", method):
        found = jm.offpolicy.estimate(
            tiger_log(300), CAREFUL, CAREFUL, discount=0.95, estimator="pdis", interval="twice"
        )
        assert found.upper - found.lower == pytest.approx(4 * found.standard_error)
        assert "two standard errors" in str(found)


HALVED = Bound(
    title="Half of it, if only it were true",
    assumptions=(SUFFICIENT,),
    factor=2,
    log_events=lambda scale: 0.0,
)


def test_a_new_bound_is_one_entry_and_reachable_though_not_shown_by_default():
    with entered(BOUNDS, "halved", HALVED):
        result = jm.improve(tiger_log(400), CAREFUL, discount=0.95, n_wedge=20)
        shown = worth_showing(result.certificates)
    (mine,) = (c for c in result.certificates if c.bound == "halved")
    assert mine.title == HALVED.title
    assert "halved" in json.dumps(result.to_dict())
    assert mine not in shown


def test_an_algorithm_may_bring_a_kind_of_bound():
    own = dataclasses.replace(HALVED, applies_to="leaning")
    proved = dataclasses.replace(LEAN, bound_kind="leaning")
    with entered(BOUNDS, "of lean", own), entered(ALGORITHMS, "lean", proved):
        result = jm.improve(tiger_log(400), CAREFUL, discount=0.95, algorithm="lean")
        plain = jm.improve(tiger_log(400), CAREFUL, discount=0.95, n_wedge=20)
    assert "of lean" in {c.bound for c in result.certificates}
    assert "of lean" not in {c.bound for c in plain.certificates}


def test_an_algorithm_may_bring_a_certificate_of_its_own():
    def promise(improvement, material, delta):
        scale = scale_of(improvement.mdp.memory, material.rewards, material.discount)
        zeta = {0.3: 8.0, 0.4: -1e6}.get(improvement.parameters["share"])
        if zeta is None:
            return None  # this setting promises nothing
        return promised("leaning", "Lean theorem", zeta, scale, delta=delta)

    with entered(ALGORITHMS, "lean", dataclasses.replace(LEAN, promise=promise)):
        found, bold = (
            jm.improve(tiger_log(400), CAREFUL, discount=0.95, algorithm="lean", share=share)
            for share in (0.3, 0.5)
        )
        assert ALGORITHMS["lean"].promises
        with pytest.raises(ImpossibleClaim):
            jm.improve(tiger_log(400), CAREFUL, discount=0.95, algorithm="lean", share=0.4)
    (own,) = (c for c in found.certificates if c.bound == "leaning")
    assert (own.zeta, own.delta, own.title) == (8.0, 0.05, "Lean theorem")
    assert own in worth_showing(found.certificates)
    assert "Lean theorem" in json.dumps(found.to_dict())
    assert "leaning" not in {c.bound for c in bold.certificates}
    assert not LEAN.promises


OWN_FILE = '''"""Caution: what paid more than the mean is done twice as often."""
import numpy as np

from jumar import algorithms
from jumar.algorithms import ALGORITHMS, Algorithm, Grid
from jumar.solve.solver import improvement


def improve(mdp, behavior, *, factor: float = 2.0):
    """Do more often what paid more than the mean."""
    old = mdp.policy_of(behavior)
    mean = (old * mdp.reward).sum(1, keepdims=True)
    rows = old * np.where((mdp.reward > mean) & (mdp.visits > 0), factor, 1.0)
    rows /= rows.sum(1, keepdims=True)
    return improvement(mdp, behavior, rows, algorithm="caution", parameters={"factor": factor})


ALGORITHMS.add(
    "caution",
    Algorithm("caution", "do more often what paid", improve, grids={"proved": Grid()}),
)
'''


def test_a_new_algorithm_is_a_file_of_at_most_forty_lines_and_nothing_else(tmp_path, capsys):
    """Written, imported, and there for the library, the command line, `auto` and studies."""
    assert len(OWN_FILE.splitlines()) <= 40
    path = tmp_path / "caution.py"
    path.write_text(OWN_FILE)
    spec = importlib.util.spec_from_file_location("caution", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        found = jm.improve(tiger_log(300), CAREFUL, discount=0.95, algorithm="caution", factor=3.0)
        assert (found.improvement.algorithm, found.improvement.changed) == ("caution", 2)
        names = [a["name"] for a in run(capsys, "algorithms", "--json").data["algorithms"]]
        assert names[-1] == "caution"
        assert "caution" in {entry.name for entry in algorithms.tried_by("proved")}
        # the gate tests what it makes, if it is named among the candidates
        tested = jm.improve(tiger_log(), CAREFUL, discount=0.95, candidates=["caution"])
        assert {trial.setting.algorithm for trial in tested.selection.trials} == {"caution"}
        jm.write_logs(tiger_log(300), tmp_path / "log.csv")
        CAREFUL.save(tmp_path / "careful.json")
        done = run(
            capsys, "improve", tmp_path / "log.csv", "--policy", tmp_path / "careful.json",
            "--discount", 0.95, "--candidates", "caution,soft", "--json",
        )  # fmt: skip
        assert done.data["selection"]["candidates_from"] == ["caution", "soft"]
        # and a study runs it as it is and behind the gate
        tiger = {"model": "tiger", "window": 1, "memories": [1]}
        gated = {"name": "auto", "candidates": "caution", "more_memory": 0}
        grid = study_from_document(
            {
                "format": "jumar-study/1",
                "datasets": 2,
                "sizes": [100, 400],
                "behaviors": [tiger],
                "algorithms": [{"name": "caution"}, gated],
                "figures": [{"name": "family", "kind": "family", "behaviors": ["tiger:1"]}],
            }
        )
        results = Results(run_study(grid, tmp_path / "study"))
        assert [s.title for s in results.settings] == ["caution 2.0", "auto: caution more_memory=0"]
        (figure,) = grid.figures_to_draw()
        labels = [tick.get_text() for tick in draw(figure, results, {}).axes[0].get_yticklabels()]
        assert labels == ["caution"]
    finally:
        ALGORITHMS.remove("caution")


def test_what_is_worth_showing_is_what_a_person_can_learn_from():
    result = jm.improve(tiger_log(4000), CAREFUL, discount=0.95, n_wedge=20)
    shown = [c.bound for c in worth_showing(result.certificates)]
    assert shown[0] == result.certificate.bound
    assert {"spibb", "corollary", "data-dependent"} <= set(shown)
    assert not {"weissman", "beta", "beta-history", "two-successor"} & set(shown)
    assert len(result.certificates) >= len(BOUNDS)  # the others are reachable
    auto = jm.improve(tiger_log(4000), CAREFUL, discount=0.95)
    assert "held-out" in {c.bound for c in worth_showing(auto.certificates)}


# ---- a check ------------------------------------------------------------------------------------

# --- 8< --- a new check


def count_zeros(subject, rng):
    zeros = int((subject.log.reward == 0).sum())
    verdict = Finding("passed", "No reward is exactly zero.")
    if zeros:
        verdict = Finding("failed", f"{zeros} rewards are exactly zero.")
    table = TextTable(["reward", "steps"], [["0", f"{zeros:,}"]], "Nothings", ["steps"])
    return Section(verdict, {"zeros": zeros}, [table])


ZEROS = Question("Are rewards ever exactly zero?", count_zeros)

# --- 8< ---


@pytest.fixture
def with_zeros():
    with entered(QUESTIONS, "zeros", ZEROS):
        yield


def with_a_zero(log: jm.Episodes) -> jm.Episodes:
    return dataclasses.replace(log, reward=np.append(0.0, log.reward[1:]))


def checked_files(log: jm.Episodes, folder: Path) -> list[object]:
    jm.write_logs(log, folder / "log.csv")
    CAREFUL.save(folder / "careful.json")
    return [folder / "log.csv", "--policy", folder / "careful.json"]


def test_a_new_check_takes_less_than_twenty_lines():
    assert lines_between_marks("a new check") < 20


def test_a_new_check_is_asked_and_shown_by_the_command(with_zeros, tmp_path, capsys):
    files = checked_files(tiger_log(100), tmp_path)
    passed = run(capsys, "check", *files)
    assert passed.code == 0
    assert f"{ZEROS.text} passed No reward is exactly zero." in passed.text
    files = checked_files(with_a_zero(tiger_log(100)), tmp_path)
    failed = run(capsys, "check", *files)
    assert failed.code == 1
    for words in ("zeros failed.", f"{ZEROS.text} failed 1 rewards", "Nothings"):
        assert words in failed.text
    data = run(capsys, "check", *files, "--json").data
    assert data["verdict"]["status"] == "failed"
    assert data["sections"]["zeros"] == {
        "zeros": 1,
        "verdict": {"status": "failed", "sentence": "1 rewards are exactly zero."},
    }


def test_a_new_check_that_fails_makes_a_result_unreliable_everywhere(with_zeros, tmp_path, capsys):
    files = checked_files(with_a_zero(tiger_log(300)), tmp_path)
    done = run(
        capsys, "improve", *files, "--discount", 0.95, "--n-wedge", 20, "-o", tmp_path / "out",
        "--json",
    )  # fmt: skip
    finding = "1 rewards are exactly zero."
    assert (done.code, done.data["verdict"]["word"]) == (1, "do-not-rely")
    assert finding in done.data["verdict"]["reasons"]
    assert done.data["checks"]["zeros"] == {"status": "failed", "finding": finding}
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert certificate["verdict"] == done.data["verdict"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count(ZEROS.text) >= 1 <= page.count(finding)
    told = run(capsys, "improve", *files, "--discount", 0.95, "--n-wedge", 20)
    assert (told.code, finding in told.text) == (1, True)


def test_a_new_check_that_passes_changes_no_verdict(with_zeros):
    log = tiger_log(300)
    found = jm.improve(log, CAREFUL, discount=0.95, n_wedge=20).assessment
    assert found.check.sections["zeros"].verdict.status == "passed"
    assert ZEROS.text in {question for question, _ in found.check.answers}
    word = found.verdict.word
    QUESTIONS.remove("zeros")
    try:
        assert jm.improve(log, CAREFUL, discount=0.95, n_wedge=20).assessment.verdict.word == word
    finally:
        QUESTIONS.add("zeros", ZEROS)


def test_what_a_new_check_draws_is_its_own_and_moves_no_other():
    def answer(subject, rng):
        return Section(Finding("passed", "Drawn."), {"zeros": int(rng.integers(2**60))})

    def sections() -> dict:
        return check(tiger_log(100), CAREFUL, seed=random_stream(1, "check")).to_dict()["sections"]

    before = sections()
    with entered(QUESTIONS, "dice", Question("What comes up?", answer)):
        alone = sections()
        with entered(QUESTIONS, "cards", Question("What comes up?", answer)):
            both = sections()
    assert {name: alone[name] for name in before} == before
    assert {name: both[name] for name in alone} == alone
    assert both["cards"]["zeros"] != both["dice"]["zeros"]


# --- 8< --- a new verdict


def too_small(case):
    """Of fewer than 100 episodes nobody should decide anything."""
    if case.result.episodes >= 100:
        return None
    lead = f"{case.result.episodes} episodes are too few to decide anything."
    return Verdict("too-small", SMALL.headline, lead, SMALL.next_step, case.doubts)


SMALL = Terms("Come back later.", Carried.NONE, False, "warn", 5, too_small, "Keep logging.", 1)

# --- 8< ---


def test_a_new_verdict_is_one_entry_and_stands_everywhere(tmp_path, capsys):
    jm.write_logs(tiger_log(60), tmp_path / "small.csv")
    jm.write_logs(tiger_log(300), tmp_path / "large.csv")
    CAREFUL.save(tmp_path / "rule.json")
    asked = ["--policy", tmp_path / "rule.json", "--discount", 0.95]
    with entered(VERDICTS, "too-small", SMALL):
        done = run(capsys, "improve", tmp_path / "small.csv", *asked, "-o", tmp_path / "out")
        assert done.code == 1
        assert "Come back later." in done.out
        assert "gain" not in done.out.partition("could be wrong")[0]
        data = run(capsys, "improve", tmp_path / "small.csv", *asked, "--json").data
        assert data["verdict"]["word"] == "too-small"
        assert "estimate" not in data["verdict"]
        assert "Come back later." in (tmp_path / "out" / "report.html").read_text()
        others = run(capsys, "improve", tmp_path / "large.csv", *asked, "--json").data
        assert others["verdict"]["word"] != "too-small"
