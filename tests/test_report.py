"""The report: what it says in words, that its numbers are those of the library, and that no name in
a log becomes anything but text."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

import jumar as jm
from jumar.algorithms import ALGORITHMS
from jumar.algorithms.auto import Trial
from jumar.algorithms.auto.asymptotic import student
from jumar.algorithms.auto.trials import Setting
from jumar.algorithms.spibb import THRESHOLDS
from jumar.assessment.decisions import decide
from jumar.assessment.result import Result
from jumar.assessment.sensitivity import sensitivity
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes, Origin, Remarks
from jumar.core.errors import LogError
from jumar.core.history import count
from jumar.core.memory import Table, window
from jumar.evidence import resampling
from jumar.evidence.certificate import Certificate, Validity
from jumar.evidence.checking import Check, check
from jumar.evidence.estimation import estimate_behavior
from jumar.evidence.resampling import resample
from jumar.show.html import RESAMPLES, report_page
from jumar.show.html.answer import gain, headline, number, rounded, safety, verdict, warnings
from jumar.show.html.content import MOST_ROWS, content
from jumar.show.html.tested import MOST_TESTED, in_words, setting_words
from jumar.show.provenance import Run
from strategies import controllers, logs, names

MEGABYTE = 1_000_000
RUN = Run(started="2024-05-31T14:30:00+00:00")
VOID = {"meta", "input"}  # elements that have no end

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    'it\'s "quoted" \\N',
    "{{ 7*7 }} {% raw %}",
    "</style></title></desc></svg><style>*{display:none}",
    "]]> --> <!--",
    "&amp; &lt;b&gt; &#x3c;",
    "🌉👩‍🔧",
    "\u202eעברית\u2069 العربية",
    "line\nbreak\r\t\x00\x1b[2J\x7f",
    "=cmd|' /C calc'!A0",
    "x" * 10_000,
)
TAME = tuple(f"name {i:02}" for i in range(len(HOSTILE)))


class Page(HTMLParser):
    """A page taken apart; every element must be closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: Counter[tuple[str, bool]] = Counter()  # (tag, inside the drawing)
        self.attributes: set[str] = set()
        self.pieces: list[str] = []
        self.drawing = 0
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)
            if ("class", "jumar-drawing") in attributes:
                self.drawing = len(self.open)

    def handle_startendtag(self, tag, attributes):
        self.tags[tag, bool(self.drawing)] += 1
        self.attributes |= {name for name, _ in attributes}

    def handle_endtag(self, tag):
        if self.drawing == len(self.open):
            self.drawing = 0
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.pieces.append(data)

    @property
    def text(self) -> str:
        """What can be read, with single spaces."""
        return re.sub(r"\s+", " ", " ".join(self.pieces))


def page_of(result: Result, run: Run = RUN) -> Page:
    return Page(report_page(result, run))


def one_step_log(keep: int, repair: int, **more) -> Episodes:
    """Every episode is one step: keep pays 1, repair pays 3, and it is over."""
    n = keep + repair
    fields = {"start": np.arange(n + 1), "final_observation": [-1] * n, "terminated": [True] * n}
    return Episodes(
        ("good",),
        ("keep", "repair"),
        [0] * n,
        [0] * keep + [1] * repair,
        [1.0] * keep + [3.0] * repair,
        **fields | more,
    )


HALF = Controller.uniform(("good",), ("keep", "repair"))


def read(log: Episodes, **remarks: bool) -> Episodes:
    """The log as if it had been read from a file, with these remarks."""
    return replace(
        log,
        origin=Origin(
            "machines.csv", np.arange(log.n_steps), list(range(len(log))), Remarks(**remarks)
        ),
    )


def tiger_log(episodes: int = 400) -> tuple[Episodes, Controller]:
    tiger = jm.models.tiger()
    behavior = Controller.uniform(tiger.observations, tiger.actions)
    return jm.simulate(tiger, behavior, episodes=episodes, rng=jm.stream(1, "data")), behavior


def named(alphabet: tuple[str, ...], name: str, nodes: int | None = None) -> Result:
    """An improvement in which every name is one of the alphabet. Node i leads to i + 1; action k
    of 3 pays k, so there is something to change everywhere."""
    O, A = len(alphabet), 3
    M = nodes or O
    labels = alphabet if M == O else tuple(alphabet[i % O][:9_990] + f" {i}" for i in range(M))
    to = np.broadcast_to((np.arange(M)[:, None, None] + 1) % M, (M, O, A))
    behavior = Controller.uniform(alphabet, alphabet[:A], Table(labels, to))
    behavior = replace(behavior, name=name)
    steps, episodes = 2 * M, 30
    i = np.arange(episodes * steps)
    log = Episodes(
        alphabet, alphabet[:A], (i // steps) % O, i % A, i % A,
        np.arange(episodes + 1) * steps, [-1] * episodes, [True] * episodes,
    )  # fmt: skip
    return jm.improve(log, behavior, discount=0.9, n_wedge=1)


# ---------------------------------------------------------------- the answer


def test_where_nothing_changes_the_page_says_to_keep_the_rule():
    result = jm.improve(one_step_log(30, 3), HALF, discount=0.9, n_wedge=20)
    page = page_of(result)
    assert (
        "keep as it is Keep the rule as it is: the log gives no reason to change it." in page.text
    )
    assert "Nothing changes, so nothing can be lost." in page.text
    # half of 1 and half of 3
    assert "The rule of today brings 2 per episode" in page.text
    assert "only 'keep' was tried more than 20 times: nothing to compare it with" in page.text
    assert "redrawn" not in page.text


def test_one_rule_that_changes_is_told_with_its_gain():
    result = jm.improve(one_step_log(30, 30), HALF, discount=0.9, n_wedge=20)
    page = page_of(result)
    assert "The log speaks for changing 1 rule of 1." in page.text
    assert "When you see “good”: “repair” 100% of the time (was 50%), mostly instead of “keep”" in (
        page.text
    )
    # 3 instead of the mean of 1 and 3; no draw can change that, as every reward is certain
    assert "brings 1 more per episode (2 → 3); in 90 % of logs redrawn" in page.text
    assert "between 1 and 1." in page.text
    assert "better in 100% of them" in page.text


def test_costs_are_saved():
    log = read(one_step_log(30, 30), costs=True)
    log = replace(log, reward=log.reward - 4)  # costs 3 and 1
    page = page_of(jm.improve(log, HALF, discount=0.9, n_wedge=20))
    assert "the new rule saves 1 per episode (cost 2 → 1)" in page.text
    assert "saved each time" in page.text
    assert "today's rule costs" in page.text
    unchanged = page_of(jm.improve(log, HALF, discount=0.9, n_wedge=50))
    assert "The rule of today costs 2 per episode" in unchanged.text


def test_a_vacuous_guarantee_is_called_so():
    log, behavior = tiger_log()
    page = page_of(jm.improve(log, behavior, discount=0.95, n_wedge=20))
    assert "promising, not proved" in page.text
    assert "No guarantee covers this yet: try it on a small scale first." in page.text
    assert "There is no useful guarantee at this size of log" in page.text
    assert "vacuous: zeta" in page.text


def test_the_gain_on_the_page_is_that_of_the_improvement():
    log, behavior = tiger_log()
    result = jm.improve(log, behavior, discount=0.95, n_wedge=20)
    better = result.improvement
    expected = (
        f"brings {number(better.gain)} more per episode ({number(better.behavior_performance)} → "
        f"{number(better.performance)})"
    )
    assert expected in page_of(result).text


def test_the_answer_comes_first():
    log, behavior = tiger_log()
    text = page_of(jm.improve(log, behavior, discount=0.95, n_wedge=20)).text
    order = [
        "The log speaks for changing", "What to change", "When you see", "What it brings",
        "How safe it is", "What that rests on", "asked of the log", "Assumed, as no log can tell",
        "One line for every situation", "The controller as a picture", "For each change",
        "The episodes of the log were drawn again", "With other settings",
        "Where data is thin", "Guarantees, in full", "Words used here", "To do it again",
    ]  # fmt: skip
    places = [text.index(words, text.index("Improvement of a rule")) for words in order[:1]]
    for words in order[1:]:
        places.append(text.index(words, places[-1]))  # each after the one before
    assert places == sorted(places)


def test_a_change_that_passed_its_test_is_told_with_the_held_out_estimate():
    log, behavior = tiger_log(2000)
    result = jm.improve(log, behavior, discount=0.95, gate="asymptotic")
    chosen = result.selection.chosen
    text = page_of(result).text
    assert "passed its test The log speaks for changing" in text
    assert "On episodes it was not learned from, the new rule did better." in text
    passed = sum(trial.passed for trial in result.selection.trials)
    assert passed > 1
    margin = student(0.05, chosen.units) * chosen.error
    low, high = (rounded(chosen.gain + side * margin, chosen.error) for side in (-1, 1))
    held_out = (
        f"What it brings On episodes it was not learned from, the new rule brought "
        f"{rounded(chosen.gain, chosen.error)} more per episode (90 % interval {low} to {high}). "
        f"It was chosen from {passed} that passed, so some of this may be luck. "
        f"The model estimated from the whole log says {number(result.improvement.gain)} more per "
    )
    assert held_out in text
    assert f"by at least {chosen.lower:.4g} per episode" in text
    assert "But this is only asymptotic" in text
    assert "proved better" not in text


def test_what_was_proved_is_called_safe_with_its_proviso_and_a_second_opinion():
    log, behavior = tiger_log(2000)
    result = jm.improve(log, behavior, discount=0.95)
    text = page_of(result).text
    assert "safe to change The log speaks for changing" in text
    assert "neither a hidden loss nor a hidden gain" in text
    assert "pass the approximate test" in text
    assert "gets rich only if it is better" in text
    declared = jm.RewardRange((-1, -1), (-100, 10))
    proved = jm.improve(log, behavior, discount=0.95, rewards=declared)
    assert proved.certificate.validity.value == "proved"
    assert "hidden" not in proved.certificate.claim


def test_long_records_show_their_ladder_and_why_they_are_refused():
    log, behavior = tiger_log(300)
    result = jm.improve(log, behavior, discount=0.95, assume_memory=True)
    page = page_of(result)
    assert "Given that a memory tells all that matters" in page.text
    assert all(reason.text in page.text for reason in result.long.refusals)
    assert "How much of the past is taken into account" in page.text


# of ten rules learned, two were tested; the second by its lower bound was chosen
LOWER = Trial(
    Setting(window(1), "spibb", (("n_wedge", 5),)),
    0,
    2.04,
    4.0,
    1.0,
    80.4,
    0.0,
    1.5,
    True,
    0.025,
    50,
)
CHOSEN = Trial(
    Setting(window(2), "spibb_leq", (("n_wedge", 20),), 0.5),
    1,
    6.26,
    5.0,
    1.0,
    12.3,
    0.0,
    0.5,
    True,
    0.025,
    50,
)
FAR = Trial(
    Setting(window(2), "spibb", (("n_wedge", 1),)),
    1,
    9.0,
    -0.04,
    1.0,
    0.0,
    0.25,
    -np.inf,
    False,
    0.025,
    50,
)


def chosen_by_test(log: Episodes, trials=(LOWER, CHOSEN, FAR), chosen=CHOSEN) -> Result:
    """The improvement of a log by hand, as if it had been chosen by a test of 50 episodes."""
    result = jm.improve(log, HALF, discount=0.9)
    selection = replace(result.selection, trials=trials, chosen=chosen, tried=10, delta=0.05)
    return replace(result, selection=selection)


def test_the_interval_of_a_held_out_gain_is_that_of_student():
    """Of 50 episodes 5 % lie beyond 1.677 standard errors on either side; 5 ± 1.677."""
    result = chosen_by_test(one_step_log(50, 50))
    said = gain(result, resample(result.log, result.improvement, rng=jm.stream(1, "bootstrap")))
    assert said.startswith(
        "On episodes it was not learned from, the new rule brought 5.0 more per episode (90 % "
        "interval 3.3 to 6.7). It was chosen from 2 that passed, so some of this may be luck. The "
        "model estimated from the whole log says 1 more per episode (2 → 3; in 90 % of logs "
        "redrawn from this one, between 1 and 1)"
    )
    only = chosen_by_test(one_step_log(50, 50), (CHOSEN, FAR))
    assert "chosen from" not in gain(only, resample(only.log, only.improvement, rng=jm.stream(1)))


def test_held_out_costs_are_saved_and_a_model_that_disagrees_is_told():
    log = read(one_step_log(50, 50), costs=True)
    result = chosen_by_test(replace(log, reward=log.reward - 4))  # costs 3 and 1
    again = resample(result.log, result.improvement, rng=jm.stream(1, "bootstrap"))
    said = gain(result, again)
    assert "the new rule saved 5.0 per episode (90 % interval 3.3 to 6.7)." in said
    assert "says 1 saved per episode (cost 2 → 1;" in said
    assert "saved on the other half" in page_of(result).text
    worse = replace(result.improvement, performance=-3.0)
    assert worse.gain == -1
    assert "says 1 lost per episode (cost 2 → 3;" in gain(replace(result, improvement=worse), again)


def test_what_was_tested_is_a_table_with_the_chosen_one_marked():
    text = page_of(chosen_by_test(one_step_log(50, 50))).text
    assert "over both halves, p sums to 5 %." in text
    assert "10 rules were learned, the 3 most promising ones tested. " in text
    assert (
        "window of 1; trusts what was tried more than 5 times, leaves the rest as it is; "
        "from half 1 2.0 4.0 ± 1.0 80 1.5 ✓ passed"
    ) in text
    assert (
        "window of 2; trusts what was tried more than 20 times, may do the rest less often; 50% "
        "new rule, 50% old rule; from half 2 chosen 6.3 5.0 ± 1.0 12 0.5 ✓ passed"
    ) in text
    assert (
        "window of 2; trusts what was tried more than 1 time, leaves the rest as it is; "
        "from half 2 9.0 0.0 ± 1.0 0 none – not passed 25% of what it does is not in the log"
    ) in text
    assert "2 of 3 passed; the best lower bound is 1.5." in text
    by_name = jm.improve(one_step_log(50, 50), HALF, discount=0.9, n_wedge=20)
    assert "What was tested" not in page_of(by_name).text


def test_the_best_eight_are_shown_and_the_chosen_one_is_always_among_them():
    others = tuple(replace(LOWER, lower=20.0 - i) for i in range(12))
    selection = chosen_by_test(one_step_log(50, 50), (*others, CHOSEN)).selection
    shown = in_words(selection)
    assert len(shown.rows) == MOST_TESTED == 8
    assert [row.lower for row in shown.rows] == ["20", "19", "18", "17", "16", "15", "14", "0.5"]
    assert [row.chosen for row in shown.rows] == [False] * 7 + [True]
    assert shown.count.endswith("the 13 most promising ones tested; here are the best 8.")


def test_where_nothing_was_worth_testing_the_page_says_so():
    selection = chosen_by_test(one_step_log(50, 50), (), None).selection
    assert in_words(selection).rows == ()
    assert in_words(replace(selection, tried=1)).count == (
        "1 rule was learned, and none of them promised a gain, so none was tested."
    )


def test_a_setting_of_another_method_is_named():
    assert setting_words(Setting(window(1), "other")).endswith("; method other")


def test_with_auto_no_cell_of_the_grid_is_called_the_one_that_was_used():
    log, behavior = tiger_log(2000)
    result = jm.improve(log, behavior, discount=0.95)
    said = content(result)
    assert said.sensitivity
    assert said.n_wedge is None
    assert not any(row.chosen for row in said.sensitivity)
    page = page_of(result)
    assert "With other settings" in page.text
    assert "learned from the whole log and tested on nothing, so none of them is the rule on" in (
        page.text
    )
    assert " used " not in page.text.split("With other settings")[1].split("Where data is thin")[0]


def test_where_no_change_passed_its_test_the_page_says_what_would_decide():
    """Keep and repair pay the same."""
    log = one_step_log(30, 30)
    log = replace(log, reward=np.ones(60))
    result = jm.improve(log, HALF, discount=0.9)
    text = page_of(result).text
    assert "Keep the rule as it is: no change passed the test on held-out episodes." in text
    assert result.certificate.claim in text
    assert text.count("no change passed the test on held-out episodes") == 2  # and in the table
    assert "How sure What was tested The episodes were dealt into 2 halves" in text


def test_changes_beyond_five_are_counted():
    page = page_of(named(TAME, "many"))
    changed = named(TAME, "many").improvement.changed
    assert changed > 5
    assert f"and {changed - 5} more, in the table ." in page.text


# ---------------------------------------------------------------- what must be said beside it


def test_an_estimated_behavior_is_warned_about_and_weakens_every_guarantee():
    log, _ = tiger_log()
    behavior = estimate_behavior(log)
    result = jm.improve(log, behavior, discount=0.95, n_wedge=20, estimated=True)
    page = page_of(result)
    assert "The behavior was estimated." in page.text
    assert "(confounding)" in page.text
    assert "what was done depended on nothing but what the log shows" in page.text
    assert result.improvement.changed > 0
    assert all(c.validity.strength <= Validity.CLAIMED.strength for c in result.certificates)
    assert "published. It is a theorem" not in page.text
    given = page_of(jm.improve(log, behavior, discount=0.95, n_wedge=20))
    assert "confounding" not in given.text


def test_rewards_from_prices_are_called_assumed():
    log = one_step_log(30, 30)
    assert "The rewards were assumed." in (
        page_of(jm.improve(read(log, rewards_assumed=True), HALF, discount=0.9, n_wedge=20)).text
    )
    assert "were assumed" not in page_of(jm.improve(read(log), HALF, discount=0.9, n_wedge=20)).text


def test_records_that_stop_early_are_counted():
    """30 of 60 episodes are one step long and cut off: what follows them is not known."""
    cut = one_step_log(30, 30, terminated=[True, False] * 30)
    page = page_of(jm.improve(cut, HALF, discount=0.9, n_wedge=5))
    assert "30 of 60 episodes were cut off" in page.text
    assert "30 last steps whose outcome is unknown were left out" in page.text
    assert "The test counts up to" not in page.text  # nothing was tested
    whole = page_of(jm.improve(one_step_log(30, 30), HALF, discount=0.9, n_wedge=20))
    assert "records stop" not in whole.text


def test_a_single_record_that_stops_early_is_told_in_the_singular():
    cut = one_step_log(30, 30, terminated=[False] + [True] * 59)
    (told,) = warnings(jm.improve(cut, HALF, discount=0.9, n_wedge=5), None)
    assert "1 of 60 episodes was cut off" in told.text
    assert "1 last step whose outcome is unknown was left out." in told.text


def test_records_that_stop_are_warned_about_even_where_no_step_is_left_out():
    """What was seen after the last step is known, so all 60 steps count."""
    cut = one_step_log(30, 30, terminated=[False] * 60, final_observation=[0] * 60)
    named = jm.improve(cut, HALF, discount=0.9, n_wedge=5)
    assert named.counts.unfinished == 0
    (told,) = warnings(named, None)
    assert told.title == "All records stop before the story ends."
    assert told.text == (
        "60 of 60 episodes were cut off (the process still runs, or recording stopped). What is "
        "known ends at the cut, and what would have come next is taken from the other episodes. "
        "90 % of the discounted weight lies beyond the cuts."
    )
    (told,) = warnings(chosen_by_test(cut), None)
    assert told.text.endswith("The test counts up to the cut.")


def test_a_failed_check_comes_before_the_numbers_and_in_the_headline():
    """The policy is said to repair in 1 of 10 cases; the log shows 1 of 2."""
    seldom = Controller.constant(("good",), ("keep", "repair"), [0.9, 0.1])
    result = jm.improve(one_step_log(200, 200), seldom, discount=0.9, n_wedge=20)
    page = page_of(result)
    assert "But this log failed a check: find out why before you rely on it." in page.text
    said = page.text.index("A check failed: did this policy produce this log?")
    assert said < page.text.index("What to change")
    assert "✗ failed" in page.text


def certified(zeta: float, validity: Validity, delta: float | None = 0.05) -> Result:
    result = jm.improve(one_step_log(30, 30), HALF, discount=0.9, n_wedge=20)
    best = Certificate("test", "Test", delta, zeta, 10.0, validity)
    return replace(result, certificates=(best,))


FAILED = SimpleNamespace(
    sections={"fit": SimpleNamespace(verdict=SimpleNamespace(status="failed", sentence="No."))}
)


@pytest.mark.parametrize(
    ("result", "found", "expected", "words"),
    [
        (certified(-1.0, Validity.PROVED), None, "safe", "by its guarantee, not worse than today"),
        (certified(0.0, Validity.PUBLISHED), None, "safe", "not worse than today"),
        (certified(-1.0, Validity.CLAIMED), None, "test", "No guarantee covers this"),
        (certified(-1.0, Validity.ASYMPTOTIC), None, "tested", "the new rule did better"),
        (certified(-1.0, Validity.ASYMPTOTIC), FAILED, "test", "failed a check"),
        (certified(-1.0, Validity.PROVED), FAILED, "test", "failed a check"),
        (certified(2.0, Validity.PROVED), None, "test", "No guarantee covers this"),
        (certified(10.0, Validity.PROVED), None, "test", "No guarantee covers this"),
    ],
)
def test_only_a_trusted_guarantee_of_no_loss_and_a_sound_log_make_it_safe(
    result: Result, found: Check | None, expected: str, words: str
):
    assert verdict(result, found) == expected
    assert words in headline(result, found)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (certified(-1.0, Validity.PROVED), "Not worse than today, except with a chance of 5 %."),
        (certified(2.0, Validity.PROVED), "A loss of more than 2 per episode is excluded, except "
         "with a chance of 5 %."),
        (certified(2.0, Validity.PROVED, None), "A loss of more than 2 per episode is excluded."),
        (certified(2.0, Validity.CLAIMED), "But this is only claimed: it was proposed, but"),
        (certified(10.0, Validity.PROVED), "the best bound excludes nothing"),
    ],
)  # fmt: skip
def test_how_safe_it_is_in_words(result: Result, words: str):
    assert words in safety(result)


def test_keeping_a_rule_that_was_only_estimated_is_not_called_safe_beyond_going_on_as_before():
    result = jm.improve(one_step_log(30, 3), HALF, discount=0.9, n_wedge=20, estimated=True)
    assert result.improvement.changed == 0
    assert safety(result) == result.certificate.claim
    assert "the controller handed over is only a copy" in safety(result)


def test_a_warning_stands_for_each_failed_check():
    (first,) = warnings(certified(0.0, Validity.PROVED), FAILED)
    assert (first.title, first.text) == ("A check failed: did this policy produce this log?", "No.")


# ---------------------------------------------------------------- the numbers are the library's


def test_the_bootstrap_on_the_page_is_that_of_the_library():
    log, behavior = tiger_log()
    result = jm.improve(log, behavior, discount=0.95, n_wedge=20)
    again = resample(result.log, result.improvement, rng=jm.stream(7, "bootstrap"))
    low, high = again.interval()
    text = page_of(result, replace(RUN, seed=7)).text
    assert f"between {number(low)} and {number(high)}." in text
    assert f"drawn again at random {len(again.gains):,} times" in text
    assert content(result, seed=7).interval == (low, high)
    assert content(result, seed=8).interval != (low, high)


def test_the_other_settings_on_the_page_are_those_of_the_library_with_the_one_used_among_them():
    log, behavior = tiger_log()
    result = jm.improve(log, behavior, discount=0.95, n_wedge=7)
    assert 7 not in THRESHOLDS
    rows = sensitivity(
        result.log,
        behavior,
        discount=0.95,
        memory=window(1),
        algorithm=ALGORITHMS["spibb"],
        thresholds=[5, 7, 10, 20, 50, 100],
    )
    said = content(result)
    assert said.sensitivity == rows
    text = page_of(result).text
    assert "N∧ = 5 N∧ = 7 used N∧ = 10 N∧ = 20" in text
    for row in rows:
        cells = " ".join(f"{number(cell.gain)} ({cell.changed:,})" for cell in row.cells)
        assert f"{row.states:,} {number(row.behavior)} {cells}" in text
    assert rows[0].cells[1].gain == result.improvement.gain


def test_in_a_large_model_iteration_finds_the_bootstrap_that_elimination_finds(monkeypatch):
    """20 observations seen at random: a window of 2 has 420 situations."""
    rng = np.random.default_rng(1)
    O, N = 20, 6000
    log = Episodes(
        names("z", O), ("a", "b"), rng.integers(O, size=N), rng.integers(2, size=N),
        rng.normal(size=N), np.arange(0, N + 1, 10), [-1] * (N // 10), [True] * (N // 10),
    )  # fmt: skip
    behavior = Controller.uniform(log.observations, log.actions)
    better = jm.improve(log, behavior, discount=0.99, memory=window(2), n_wedge=3).improvement
    assert len(better.mdp) == 420 > resampling.ITERATED
    iterated = resample(log, better, rng=jm.stream(1, "bootstrap"), draws=5)
    monkeypatch.setattr(resampling, "ITERATED", 1000)
    eliminated = resample(log, better, rng=jm.stream(1, "bootstrap"), draws=5)
    np.testing.assert_allclose(iterated.gains, eliminated.gains, rtol=1e-6)


def test_an_algorithm_without_a_threshold_has_no_table_of_thresholds():
    log, behavior = tiger_log(100)
    page = page_of(jm.improve(log, behavior, discount=0.95, algorithm="basic"))
    assert "With other settings" not in page.text
    assert "Nowhere: in every situation every action was tried." in page.text


def test_what_to_log_next_puts_what_looks_better_first_and_what_was_never_tried_on_one_line():
    """In 'good' keep pays 1 (30 times), repair 3 (twice), sell 0 (once), lease and rent never."""
    actions = ("keep", "repair", "sell", "lease", "rent")
    done, paid = [0] * 30 + [1] * 2 + [2], [1.0] * 30 + [3.0] * 2 + [0.0]
    log = Episodes(
        ("good",), actions, [0] * 33, done, paid, np.arange(34), [-1] * 33, [True] * 33
    )  # fmt: skip
    behavior = Controller.constant(("good",), actions, [0.6, 0.1, 0.1, 0.1, 0.1])
    said = content(jm.improve(log, behavior, discount=0.9, n_wedge=20))
    # the rule is worth .6 + .3 + 0, and 0 for what was never tried
    assert said.thin == (
        ("good", "repair", "33", "2", "19", "2.1 better"),
        ("good", "lease, rent", "33", "0", "21 each", "never tried"),
        ("good", "sell", "33", "1", "20", "0.9 worse"),
    )
    assert said.thin_text.startswith("4 of 5 combinations of situation and action were tried at mo")


def test_where_everything_was_tried_often_nothing_is_thin():
    said = content(jm.improve(one_step_log(30, 30), HALF, discount=0.9, n_wedge=20))
    assert said.thin == ()
    assert said.thin_text == (
        "Nowhere: there is no situation with an action that was tried at most 20 times."
    )


@pytest.mark.parametrize(
    ("algorithm", "keep", "words"),
    [
        ({"algorithm": "basic"}, 3, "1 of 2 combinations of situation and action was never tried. "
         "If trying is affordable, this is the one to try first."),
        ({"n_wedge": 1}, 1, "2 of 2 combinations of situation and action were tried at most once, "
         "which is too little to go by. If trying is affordable, these are the ones to try first."),
        ({"n_wedge": 2}, 3, "1 of 2 combinations of situation and action was tried at most twice, "
         "which is too little to go by. If trying is affordable, this is the one to try first."),
    ],
)  # fmt: skip
def test_what_is_thin_is_said_in_plain_english(algorithm, keep: int, words: str):
    result = jm.improve(one_step_log(keep, 0), HALF, discount=0.9, **algorithm)
    assert content(result).thin_text == words


def test_one_episode_of_one_step_is_counted_in_the_singular():
    said = content(jm.improve(one_step_log(1, 0), HALF, discount=0.9, n_wedge=1))
    assert said.log == "a log in memory: 1 episode, 1 step"


@pytest.mark.parametrize(
    ("x", "error", "text"),
    [
        (5.0123, 1.03, "5.0"), (5.0123, 0.103, "5.01"), (5.0123, 12.0, "5"), (-0.04, 1.0, "0.0"),
        (12345.6, 230.0, "12,350"), (5.0123, 0.0, "5.012"), (5.0123, np.nan, "5.012"),
        (1e20, 1.0, "1e+20"), (0.5, 2.5e-4, "0.50000"),
    ],
)  # fmt: skip
def test_an_estimate_has_the_digits_its_error_leaves(x: float, error: float, text: str):
    assert rounded(x, error) == text


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (1, "1"), (-2.5, "-2.5"), (0.012346, "0.01235"),
        (999.94, "999.9"), (999.96, "1,000"), (-1234.5, "-1,234"), (1e15, "1e+15"),
        (-1e100, "-1e+100"), (2.5e-7, "2.5e-07"), (np.inf, "unbounded"),
    ],
)  # fmt: skip
def test_numbers_as_people_write_them(x: float, text: str):
    assert number(x) == text


@given(st.floats(-1e300, 1e300))
def test_a_number_is_right_to_four_digits_and_short(x: float):
    text = number(x)
    assert float(text.replace(",", "")) == pytest.approx(x, rel=6e-4, abs=0)
    assert len(text) <= 22


# ---------------------------------------------------------------- names are text


def test_hostile_names_make_the_same_page_as_tame_ones():
    hostile, tame = (page_of(named(alphabet, alphabet[0], 13)) for alphabet in (HOSTILE, TAME))
    outside = [
        Counter({tag: n for (tag, inside), n in page.tags.items() if not inside})
        for page in (hostile, tame)
    ]
    assert outside[0] == outside[1]
    assert outside[0]["script"] == outside[0]["style"] == 1
    assert outside[0]["img"] == 0
    drawn = {tag for tag, inside in hostile.tags if inside}
    assert drawn <= {
        "title",
        "desc",
        "style",
        "g",
        "polygon",
        "path",
        "text",
        "polyline",
        "ellipse",
    }
    assert hostile.attributes == tame.attributes
    assert not any(name.startswith("on") for name in hostile.attributes)
    for seen in HOSTILE[:8]:
        assert seen[:39] in "".join(hostile.pieces)  # as it is, up to where it is cut
    assert "49" not in " ".join(piece for piece in hostile.pieces if "7*7" in piece)


def test_nothing_on_the_page_can_turn_the_text_around_or_move_a_cursor():
    text = report_page(named(HOSTILE, HOSTILE[9] + HOSTILE[10]), RUN)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert "\\u202e" in text
    # after a name from right to left, the line goes on from left to right
    assert "עברית\u200e\\u2069 العربية\u200e" in text


def test_a_command_and_a_file_name_are_shown_as_text(tmp_path):
    log = tmp_path / "<b>\u202e\udcff.csv"
    log.write_text("x")
    run = replace(RUN, command=["jumar", "improve", "<script>", "\x1b[2J", "y" * 9000], files={
        "log": log,
    })  # fmt: skip
    page = page_of(jm.improve(one_step_log(30, 30), HALF, discount=0.9, n_wedge=20), run)
    assert "jumar improve '<script>' '\\x1b[2J' yyy" in page.text
    assert "<b>\\u202e\\udcff.csv (1 byte, SHA-256 2d711642b726b044" in page.text
    assert page.tags["b", False] == 0
    assert "y" * 6000 not in page.text


@pytest.mark.parametrize("alphabet", [TAME, HOSTILE], ids=["tame", "hostile"])
def test_a_page_about_thirty_nodes_is_small(alphabet):
    result = named(alphabet, "thirty nodes", nodes=30)
    text = report_page(result, RUN)
    assert "Each box is what the rule remembers" in text  # it is drawn as a graph
    assert len(text.encode()) < 3 * MEGABYTE


def test_a_page_about_five_thousand_situations_is_small_and_says_what_it_leaves_out():
    """Every machine ages by one each year, for 10 years; what is done pays 0, 1 or 2."""
    O, E = 5_000, 3_000
    i = np.arange(E * 10)
    age = ((i // 10) * 7 + i % 10) % O
    log = Episodes(
        names("age ", O), ("keep", "repair", "sell"), age, (i // 10 + i) % 3, (i // 10 + i) % 3,
        np.arange(0, E * 10 + 1, 10), [-1] * E, [True] * E,
    )  # fmt: skip
    behavior = Controller.uniform(log.observations, log.actions)
    result = jm.improve(log, behavior, discount=0.9, n_wedge=1)
    assert len(result.improvement.mdp) == 5000
    text = report_page(result, RUN)
    assert len(text.encode()) < 3 * MEGABYTE
    page = Page(text)
    assert f"The first {MOST_ROWS} of {len(result.improvement.mdp)} are here" in page.text
    assert "They were not tried: with so many situations" in page.text


# ---------------------------------------------------------------- whatever the log


@settings(max_examples=25, phases=[Phase.generate])  # an example in short form would take minutes
@given(st.data())
def test_every_log_has_a_page(data):
    Z, A = names("z", data.draw(st.integers(1, 3))), names("a", data.draw(st.integers(1, 3)))
    log = data.draw(logs(Z, A))
    behavior = data.draw(controllers(Z, A))
    longer = data.draw(st.sampled_from([None, window(1), window(2), window(2, actions=True)]))
    try:
        result = jm.improve(
            log,
            behavior,
            discount=data.draw(st.sampled_from([0.0, 0.9, 0.999])),
            memory=longer,
            algorithm=data.draw(st.sampled_from([None, "spibb", "spibb_leq", "strict", "basic"])),
            estimated=data.draw(st.booleans()),
            **data.draw(st.sampled_from([{}, {"n_wedge": 0}, {"n_wedge": 1}])),
        )
    except jm.JumarError:  # not a log of this behavior, or not a parameter of this algorithm
        assume(False)
    page = page_of(result)
    assert ("Keep the rule as it is" in page.text) == (result.improvement.changed == 0)


@pytest.mark.parametrize("reward", [0.0, 1.0, -1e100, 1e100, 1e-300])
def test_one_episode_one_step_one_observation_one_action(reward):
    log = Episodes(("z",), ("a",), [0], [0], [reward], [0, 1], [-1], [True])
    page = page_of(jm.improve(log, Controller.uniform(("z",), ("a",)), discount=0.9, n_wedge=0))
    assert f"The rule of today brings {number(reward)} per episode" in page.text


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1e9, 1e99])
def test_rewards_of_any_size_are_drawn(size):
    rewards = np.array([1.0] * 30 + [3.0] * 15 + [2.0] * 15) * size
    log = replace(one_step_log(30, 30), reward=rewards)
    page = page_of(jm.improve(log, HALF, discount=0.9, n_wedge=20))
    assert "90 % of the draws" in page.text
    assert f"brings {number(0.75 * size)} more per episode" in page.text


def test_a_log_of_which_nothing_is_known_is_refused_before_any_page():
    log = one_step_log(2, 2, terminated=[False] * 4)
    with pytest.raises(LogError, match="of none it is known what followed"):
        jm.improve(log, HALF, discount=0.9, n_wedge=20)


def test_the_same_seed_gives_the_same_page():
    log, behavior = tiger_log(200)
    result = jm.improve(log, behavior, discount=0.95, n_wedge=20)
    assert report_page(result, RUN) == report_page(result, RUN)
    assert report_page(result, RUN) != report_page(result, replace(RUN, seed=2))


def test_a_report_is_written_whole(tmp_path):
    result = jm.improve(one_step_log(30, 30), HALF, discount=0.9, n_wedge=20)
    result.report(tmp_path / "page.html")
    assert Page((tmp_path / "page.html").read_text("utf-8")).text.startswith(" ")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_the_shares_on_the_page_sum_to_the_gain():
    log, behavior = tiger_log()
    result = jm.improve(log, behavior, discount=0.95, n_wedge=20)
    said = content(result)
    assert sum(row.share for row in said.decisions) == pytest.approx(result.improvement.gain)
    assert len(said.decisions) == said.all_decisions == len(result.improvement.mdp)
    assert [row.changed for row in said.decisions] == sorted(decide(result.improvement).changed)[
        ::-1
    ]


def test_the_checks_on_the_page_are_those_of_the_library():
    log, behavior = tiger_log()
    result = jm.improve(log, behavior, discount=0.95, n_wedge=20)
    found = check(log, behavior, discount=0.95, rng=jm.stream(1, "check"), resamples=RESAMPLES)
    text = page_of(result).text
    for part in found.sections.values():
        assert part.verdict.sentence in text
    assert count(log, behavior.memory).unfinished == 0
