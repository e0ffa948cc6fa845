"""The main job as people write it in a notebook: from a DataFrame to a card and charts."""

from __future__ import annotations

from dataclasses import fields

import pytest

import jumar as jm
from jumar.algorithms import ALGORITHMS
from jumar.core.errors import LogError, ParameterError
from jumar.log.reading.options import READING
from jumar.show.plotting import PLOTS
from results import Page

pandas = pytest.importorskip("pandas")
matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

TIGER = jm.models.tiger()
FAIR = jm.Controller.uniform(TIGER.observations, TIGER.actions, name="fair")
NAMES = {"episode": "call", "observation": "heard", "action": "reply", "reward": "score"}
FRAME = (
    jm.simulate(TIGER, FAIR, episodes=600)
    .to_arrow()
    .to_pandas()
    .rename(columns={**NAMES, "terminated": "over"})
)
WORDS = {**NAMES, "terminated": "over"}


@pytest.fixture(scope="module")
def result():
    return jm.improve(FRAME, FAIR, discount=0.95, **WORDS)


def same(found, wanted) -> bool:
    return found.to_dict() == wanted.to_dict()


def test_columns_are_plain_keywords(result):
    log = jm.read_logs(FRAME, columns=WORDS)
    assert log == jm.read_logs(FRAME, **WORDS)
    assert result.episode == "call"
    assert same(result, jm.improve(log, FAIR, discount=0.95))
    assert same(result, jm.improve(jm.LogFiles(FRAME, WORDS), FAIR, discount=0.95))
    mixed = {"columns": {"episode": "call", "observation": "heard"}, "action": "reply"}
    again = jm.improve(
        FRAME, FAIR, discount=0.95, **mixed, reward="score", terminated="over", seed=1
    )
    assert same(result, again)
    assert same(jm.check(FRAME, FAIR, resamples=99, **WORDS), jm.check(log, FAIR, resamples=99))
    assert jm.estimate_behavior(FRAME, **WORDS).same_as(jm.estimate_behavior(log))


def test_a_column_of_costs_and_a_signal_to_keep():
    dear = FRAME.assign(EUR=-FRAME["score"], mood=1.0)
    words = {**WORDS, "cost": "EUR"}
    del words["reward"]
    found = jm.improve(dear, FAIR, discount=0.95, n_wedge=20, **words)
    assert found.costs
    log = jm.read_logs(dear, columns=words, cost=True)
    assert log == jm.read_logs(dear, **words)
    assert found.log.reward.tolist() == log.reward.tolist() == FRAME["score"].tolist()
    assert jm.read_logs(dear, **WORDS, columns={"signal:mood": "mood"}).signals["mood"].all()


def test_a_word_means_one_thing():
    """Options of the run, of reading, and of algorithms share no name."""
    run = {field.name for field in fields(jm.Options)}
    own = {name for entry in ALGORITHMS.values() for name in entry.parameters}
    assert not run & {*READING}
    assert not own & ({*READING} | run)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"episodes": "call"}, "'episodes' is not one of .*Did you mean 'episode'"),
        ({"episode": "call", "columns": {"episode": "night"}}, "episode is named here and as"),
        ({"levle": 0.1}, "Did you mean 'level'|is not one of"),
    ],
)
def test_a_wrong_word_is_told(words, message):
    with pytest.raises(ParameterError, match=message):
        jm.improve(FRAME, FAIR, discount=0.95, **words)


def test_a_wrong_column_is_told_with_the_remedy():
    with pytest.raises(LogError, match=r"'scor' is not one of .* Did you mean 'score'"):
        jm.improve(FRAME, FAIR, discount=0.95, **{**WORDS, "reward": "scor"})


def test_a_log_that_was_read_takes_no_words_of_reading():
    log = jm.read_logs(FRAME, **WORDS)
    for ask in (jm.improve, jm.pipeline.select):
        with pytest.raises(ParameterError, match="ends: this log already says how it is read"):
            ask(log, FAIR, discount=0.95, ends="cut")
    with pytest.raises(ParameterError, match="keyword 'levl' is not one of"):
        jm.check(log, FAIR, levl=0.1)


# ---- jm.estimate --------------------------------------------------------------------------------


def test_an_estimate_is_that_of_the_command(result):
    settings = {"discount": 0.95, "difference": True}
    found = jm.estimate(FRAME, result.controller, FAIR, **settings, **WORDS)
    log = jm.read_logs(FRAME, **WORDS)
    every = jm.offpolicy.estimate_all(log, result.controller, FAIR, **settings)
    assert found == jm.offpolicy.best_of(every.values())
    named = jm.estimate(log, result.controller, FAIR, **settings, estimator="pdis")
    assert named.estimator == "pdis"
    assert same(named, every["pdis"])


def test_an_estimate_shows_no_number_of_a_log_that_the_behavior_did_not_make():
    log = jm.read_logs(FRAME, **WORDS)
    other = jm.Controller.constant(FAIR.observations, FAIR.actions, [0.6, 0.2, 0.2])
    found = jm.estimate(log, FAIR, other, discount=0.95)
    assert found.evidence.hidden
    assert found.doubt


# ---- the card and the charts --------------------------------------------------------------------


def test_a_result_is_its_verdict_card(result):
    text = " ".join(Page(result._repr_html_()).text.split())
    assert text.startswith(result.assessment.verdict.headline)
    assert "What could make this wrong" in text


@pytest.mark.parametrize("what", PLOTS)
def test_a_chart_is_drawn_on_the_axes_that_are_given(result, what):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert result.plot(what, ax=ax) is ax
    assert ax.patches or ax.images


def test_a_chart_shows_what_the_verdict_carries_and_else_says_why(result):
    from matplotlib import pyplot

    ax = result.plot()
    verdict, gain = result.assessment.verdict, result.assessment.gain
    assert [bar.get_width() for bar in ax.patches] == [gain.old, gain.new]
    assert ax.get_title(loc="left").replace("\n", " ") == verdict.headline
    kept = jm.improve(jm.simulate(TIGER, FAIR, episodes=20), FAIR, discount=0.95)
    assert kept.assessment.verdict.word == "keep"
    for what in ("gain", "decisions"):
        ax = kept.plot(what)
        assert not ax.patches
        assert ax.texts[0].get_text().startswith("Keep your policy.")
    pyplot.close("all")
    with pytest.raises(ParameterError, match="Did you mean 'coverage'"):
        result.plot("covrage")


def test_names_from_a_log_are_no_formulas(result):
    odd = FRAME.assign(reply=FRAME["reply"].str.replace("listen", "$x$ \\frac"))
    found = jm.improve(odd, "estimate", discount=0.95, n_wedge=20, **WORDS)
    found.plot("coverage").figure.canvas.draw()
    found.plot("decisions").figure.canvas.draw()


def test_decisions_are_a_frame(result):
    frame = result.decisions.to_pandas()
    assert frame["changed"].iloc[0]
    assert {"node", "observation", "why", "times_seen"} <= {*frame.columns}


def test_a_saved_result_is_read_back_with_its_version(result, tmp_path):
    result.save(tmp_path / "out")
    found = jm.load_result(tmp_path / "out")
    assert found.controller == result.controller
    assert found.version == f"jumar {jm.__version__}"
    verdict = result.assessment.verdict
    assert found.certificate["verdict"] == verdict.to_dict()
    assert found.options["discount"] == 0.95
    frame = found.decisions.to_pandas()
    assert len(frame) == len(result.decisions.gain)
    assert (frame["changed"] == "yes").sum() == result.improvement.changed
    for text in (str(found), Page(found._repr_html_()).text):
        assert verdict.headline in text
        assert found.version in text
    (tmp_path / "out" / "run.json").unlink()
    with pytest.raises(jm.JumarError, match=r"no such file.*jumar improve LOG -o"):
        jm.load_result(tmp_path / "out")
