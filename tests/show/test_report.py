"""The report: what it says in words, that its numbers are those of the library, and that no name in
a log becomes anything but text."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

import jumar as jm
from facts import says
from jumar.core.randomness import random_stream
from jumar.core.text import number, rounded
from jumar.evidence.checking import check
from jumar.evidence.estimation import estimate_behavior
from jumar.evidence.validity import NOT_CONFOUNDED, Validity
from jumar.gate.asymptotic import student
from jumar.log.episodes import Episodes
from jumar.memory import window
from jumar.policy.controller import Controller
from jumar.show.html.content import MOST_ROWS, thin, thin_text
from jumar.show.outputs import report_page
from jumar.tally.replay import count
from jumar.verdict.assessing import assess
from jumar.verdict.decisions import decide
from results import (
    HALF,
    HOSTILE,
    MEGABYTE,
    RUN,
    TAME,
    Page,
    chosen_by_test,
    improved,
    named,
    one_step_log,
    page_of,
    read,
    tiger_log,
)
from strategies import controllers, logs, names

DOCS = Path(__file__).parents[2] / "docs"

# ---------------------------------------------------------------- the answer


def test_where_nothing_changes_the_page_says_to_keep_the_policy():
    result = improved(one_step_log(30, 20), HALF, discount=0.9, n_wedge=20)
    page = page_of(result)
    says(page.text, "Keep your policy. The log gives no reason to change it.")
    says(page.text, "brings 1.8 per episode")  # 30 times 1 and 20 times 3
    says(page.text, "only 'keep' was tried more than 20 times")


def test_one_change_is_told_with_its_gain():
    result = improved(one_step_log(100, 100), HALF, discount=0.9, n_wedge=20)
    page = page_of(result)
    says(page.text, "When you see today new good keep or repair repair")
    # 3 instead of the mean of 1 and 3
    says(page.text, "by about 1", "not learned from", "90 % interval")


def test_costs_are_saved():
    log = read(one_step_log(100, 100), costs=True)
    log = replace(log, reward=log.reward - 4)  # costs 3 and 1
    page = page_of(improved(log, HALF, discount=0.9, n_wedge=20))
    says(page.text, "looks cheaper, by about", "What an episode costs")
    unchanged = page_of(improved(log, HALF, discount=0.9, n_wedge=150))
    says(unchanged.text, "costs 2 per episode")


def test_the_gain_is_one_number_wherever_it_is_said():
    """By hand: the mean over both halves of what each learned brings on the other."""
    log, behavior = tiger_log(2000)
    result = improved(log, behavior, discount=0.95, n_wedge=20)
    told, trials = result.assessment.gain, result.assessment.held_out.trials
    assert len(trials) == 2
    assert told.shown == pytest.approx(sum(trial.plain.gain for trial in trials) / 2)
    assert told.old == log.returns(0.95).mean()
    assert result.assessment.to_dict()["gain"]["per_episode"] == told.shown
    low, high = told.interval
    assert low < told.shown < high
    assert told.shown - low == pytest.approx(high - told.shown)
    text = page_of(result).text
    says(text, f"by about {told.size(told.shown)}", "90 % interval")
    # ... and for "auto" that of its test
    chosen = improved(log, behavior, discount=0.95)
    found = chosen.selection.chosen.plain
    assert chosen.assessment.gain.shown == chosen.assessment.verdict.about == found.gain
    says(chosen.assessment.verdict.lead, f"about {rounded(found.gain, found.error)}")


def test_the_answer_comes_first():
    log, behavior = tiger_log()
    text = page_of(improved(log, behavior, discount=0.95, n_wedge=20)).text
    order = [
        "not proved", "per episode", "What to change", "When you see", "Next step",
        "What could make this wrong", "What changes", "The policy as a picture", "Why",
        "How sure", "asked of the log", "Assumed", "Where data is thin", "Words used here",
        "To do it again",
    ]  # fmt: skip
    places = [text.index(words, text.index("Do it again")) for words in order[:1]]
    for words in order[1:]:
        places.append(text.index(words, places[-1]))  # each after the one before
    assert places == sorted(places)


def test_a_change_that_passed_the_approximate_test_is_told_with_its_interval():
    log, behavior = tiger_log(2000)
    result = improved(log, behavior, discount=0.95, gate="asymptotic")
    chosen = result.selection.chosen
    text = page_of(result).text
    passed = sum(trial.passed for trial in result.selection.trials)
    assert passed > 1
    margin = student(0.05, chosen.units) * chosen.error
    low, high = (rounded(chosen.gain + side * margin, chosen.error) for side in (-1, 1))
    says(
        text,
        f"about {rounded(chosen.gain, chosen.error)}",
        f"90 % interval {low} to {high}",
        f"best of {passed} that passed",
        "becomes true as the data grow",
    )
    assert "at least" not in text


def test_what_was_proved_is_told_with_its_proviso():
    log, behavior = tiger_log(2000)
    result = improved(log, behavior, discount=0.95)
    text = page_of(result).text
    says(text, "Adopt the new policy, if no return can be worse or better than in this log")
    says(text, "neither a hidden loss nor a hidden gain", "a bet")
    assert "would not pass" not in text  # takes nothing from a proof
    declared = jm.RewardRange((-1, -1), (-100, 10))
    proved = improved(log, behavior, discount=0.95, rewards=declared)
    assert proved.certificate.validity.value == "proved"
    assert proved.assessment.verdict.headline == "Adopt the new policy."
    assert "hidden" not in proved.certificate.claim


def test_what_was_tested_is_a_table_with_the_chosen_one_marked():
    text = page_of(chosen_by_test(one_step_log(50, 50))).text
    says(text, "2 halves", "p sums to 5 %", "10 policies were learned", "3 most promising")
    assert (
        "window of 1; trusts what was tried more than 5 times, leaves the rest as it is; "
        "from half 1 80 4.0 ± 1.0 1.5 ✓ passed"
    ) in text
    assert (
        "window of 2; trusts what was tried more than 20 times, may do the rest less often; 50% "
        "new policy, 50% old; from half 2 chosen 12 5.0 ± 1.0 0.5 ✓ passed"
    ) in text
    assert (
        "window of 2; trusts what was tried more than 1 time, leaves the rest as it is; "
        "from half 2 0 – – – not passed 25% of what it does is not in the log"
    ) in text
    assert "2 of 3 passed." in text


def test_where_no_change_passed_its_test_the_page_says_what_would_decide():
    """Keep and repair pay the same."""
    log = one_step_log(30, 30)
    log = replace(log, reward=np.ones(60))
    result = improved(log, HALF, discount=0.9)
    text = page_of(result).text
    says(result.assessment.verdict.headline, "Keep your policy")
    assert result.certificate.claim in text
    assert f"What was tested on held-out episodes {result.assessment.trials.how}" in text


def test_changes_beyond_eight_are_counted():
    page = page_of(named(TAME, "many"))
    changed = named(TAME, "many").improvement.changed
    assert changed > 8
    assert f"and {changed - 8} more, in the table ." in page.text


def test_the_words_on_the_page_are_those_of_the_glossary():
    text = report_page(chosen_by_test(one_step_log(50, 50)).assessment, RUN)
    section = text.partition('<dl class="words">')[2].partition("</dl>")[0]
    explained = {word.lower() for word in re.findall(r"<dt>(.*?)</dt>", section)}
    glossary = (DOCS / "glossary.md").read_text("utf-8")
    known = re.findall(r"^\| \*\*(.*?)\*\*", glossary, re.MULTILINE)
    assert len(known) <= 20
    assert {"policy", "situation", "certificate"} <= explained <= set(known)
    page = text.partition('<section id="answer"')[2].partition("<section")[0]
    for other in (r"history states?", r"controllers?", r"behaviors?", r"guarantees?"):
        assert not re.search(rf"(?i)\b{other}\b", page), other


# ---------------------------------------------------------------- what must be said beside it


def test_an_estimated_behavior_is_warned_about_and_weakens_every_certificate():
    log, _ = tiger_log()
    behavior = estimate_behavior(log)
    result = improved(log, behavior, discount=0.95, n_wedge=20)
    page = page_of(result)
    says(page.text, "guessed from this log", "nothing of this remains")
    assert NOT_CONFOUNDED in page.text
    assert result.improvement.changed > 0
    assert all(c.validity.strength <= Validity.CLAIMED.strength for c in result.certificates)
    assert "published. It is a theorem" not in page.text
    known = replace(behavior, estimated=False)
    assert "guessed" not in page_of(improved(log, known, discount=0.95, n_wedge=20)).text


def test_a_failed_check_comes_before_the_numbers_and_in_the_headline():
    """The policy is said to repair in 1 of 10 cases; the log shows 1 of 2."""
    seldom = Controller.constant(("good",), ("keep", "repair"), [0.9, 0.1])
    result = improved(one_step_log(200, 200), seldom, discount=0.9, n_wedge=20)
    page = page_of(result)
    assert result.assessment.verdict.headline == "Do not use these numbers."
    said = page.text.index("This policy did not choose these actions")
    assert said < page.text.index("What to change")
    assert "✗ failed" in page.text


# ---------------------------------------------------------------- the numbers are the library's


def test_what_to_log_next_puts_what_looks_better_first_and_what_was_never_tried_on_one_line():
    """In 'good' keep pays 1 (30 times), repair 3 (twice), sell 0 (once), lease and rent never."""
    actions = ("keep", "repair", "sell", "lease", "rent")
    done, paid = [0] * 30 + [1] * 2 + [2], [1.0] * 30 + [3.0] * 2 + [0.0]
    log = Episodes(
        ("good",), actions, [0] * 33, done, paid, np.arange(34), [-1] * 33, [True] * 33
    )  # fmt: skip
    behavior = Controller.constant(("good",), actions, [0.6, 0.1, 0.1, 0.1, 0.1])
    made = improved(log, behavior, discount=0.9, n_wedge=20).assessment.decisions
    # the behavior is worth (.6 + .3 + 0) / .8 by what was tried
    assert thin(made) == [
        ("good", "repair", "33", "2", "19", "better"),
        ("good", "lease, rent", "33", "0", "21 each", "never tried"),
        ("good", "sell", "33", "1", "20", "worse"),
    ]
    says(thin_text(made), "4 of 5 pairs", "were tried at most 20 times")


def test_where_everything_was_tried_often_nothing_is_thin():
    result = improved(one_step_log(30, 30), HALF, discount=0.9, n_wedge=20)
    made = result.assessment.decisions
    assert thin(made) == []
    says(thin_text(made), "Nowhere", "more than 20 times")


@pytest.mark.parametrize(
    ("algorithm", "keep", "words"),
    [
        ({"algorithm": "basic"}, 3, ["1 of 2 pairs", "was never tried"]),
        ({"n_wedge": 1}, 1, ["2 of 2 pairs", "were tried at most once"]),
        ({"n_wedge": 2}, 3, ["1 of 2 pairs", "was tried at most twice"]),
    ],
)
def test_what_is_thin_is_said_in_plain_english(algorithm, keep: int, words: list[str]):
    result = improved(one_step_log(keep, 0), HALF, discount=0.9, **algorithm)
    says(thin_text(result.assessment.decisions), *words)


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
    text = report_page(named(HOSTILE, HOSTILE[9] + HOSTILE[10]).assessment, RUN)
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
    result = improved(one_step_log(30, 30), HALF, discount=0.9, n_wedge=20)
    page = Page(report_page(result.assessment, run))
    assert "jumar improve '<script>' '\\x1b[2J' yyy" in page.text
    assert "<b>\\u202e\\udcff.csv (1 byte, SHA-256 2d711642b726b044" in page.text
    assert page.tags["b", False] == 0
    assert "y" * 6000 not in page.text


@pytest.mark.slow
def test_a_page_about_five_thousand_history_states_is_small_and_says_what_it_leaves_out():
    """Every machine ages by one each year, for 10 years; what is done pays 0, 1 or 2."""
    O, E = 5_000, 3_000
    i = np.arange(E * 10)
    age = ((i // 10) * 7 + i % 10) % O
    log = Episodes(
        names("age ", O), ("keep", "repair", "sell"), age, (i // 10 + i) % 3, (i // 10 + i) % 3,
        np.arange(0, E * 10 + 1, 10), [-1] * E, [True] * E,
    )  # fmt: skip
    behavior = Controller.uniform(log.observations, log.actions)
    result = improved(log, behavior, discount=0.9, n_wedge=1)
    assert len(result.improvement.mdp) == 5000
    text = report_page(result.assessment, RUN)
    assert len(text.encode()) < 3 * MEGABYTE
    page = Page(text)
    assert f"The first {MOST_ROWS} of {len(result.improvement.mdp)} are here" in page.text


# ---------------------------------------------------------------- whatever the log


@pytest.mark.slow
@settings(max_examples=25, phases=[Phase.generate])  # an example in short form would take minutes
@given(st.data())
def test_every_log_has_a_page(data):
    Z, A = names("z", data.draw(st.integers(1, 3))), names("a", data.draw(st.integers(1, 3)))
    log = data.draw(logs(Z, A))
    behavior = replace(data.draw(controllers(Z, A)), estimated=data.draw(st.booleans()))
    longer = data.draw(st.sampled_from([None, window(1), window(2), window(2, actions=True)]))
    try:
        result = improved(
            log,
            behavior,
            discount=data.draw(st.sampled_from([0.0, 0.9, 0.999])),
            memory=longer,
            algorithm=data.draw(st.sampled_from([None, "spibb", "spibb_leq", "strict", "basic"])),
            **data.draw(st.sampled_from([{}, {"n_wedge": 0}, {"n_wedge": 1}])),
        )
    except jm.JumarError:  # not a log of this behavior, or not a parameter of this algorithm
        assume(False)
    page = Page(report_page(result.assessment, RUN))
    headline = result.assessment.verdict.headline
    assert headline in page.text
    if result.improvement.changed == 0:
        assert headline in ("Keep your policy.", "Do not use these numbers.")


@pytest.mark.parametrize("reward", [0.0, 1.0, -1e60, 1e60, 1e-60])
def test_one_episode_one_step_one_observation_one_action(reward):
    log = Episodes(("z",), ("a",), [0], [0], [reward], [0, 1], [-1], [True])
    page = page_of(improved(log, Controller.uniform(("z",), ("a",)), discount=0.9, n_wedge=0))
    says(page.text, f"brings {number(reward)} per episode")


@pytest.mark.parametrize("size", [1e-60, 1e-9, 1e9, 1e59])
def test_rewards_of_any_size_are_drawn(size):
    log = one_step_log(100, 100)
    repaired = log.action == 1
    repairs = np.where(np.cumsum(repaired) % 2 == 0, 3.0, 2.0)  # 2 and 3 in turn
    log = replace(log, reward=np.where(repaired, repairs, 1.0) * size)
    result = improved(log, HALF, discount=0.9, n_wedge=20)
    page = page_of(result)
    assert 'class="before-after"' in report_page(result.assessment, RUN)
    assert result.assessment.gain.shown == pytest.approx(0.75 * size, rel=0.1)
    gain = result.assessment.gain
    assert gain.size(gain.shown) in page.text


def test_the_same_seed_gives_the_same_page():
    log, behavior = tiger_log(200)
    result = improved(log, behavior, discount=0.95, n_wedge=20)
    assessment = result.assessment
    assert report_page(assessment, RUN) == report_page(assess(result), RUN)
    assert report_page(assessment, RUN) != report_page(assess(replace(result, seed=2)), RUN)


def test_the_shares_on_the_page_sum_to_the_whole():
    log, behavior = tiger_log()
    result = improved(log, behavior, discount=0.95, n_wedge=20)
    page = report_page(result.assessment)
    rows = re.findall(r'data-label="share of the gain" class="n" data-value="(.*?)"', page)
    assert sum(map(float, rows)) == pytest.approx(1)
    assert len(rows) == len(result.improvement.mdp)
    table = page.partition('id="decisions"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    changed = [row.startswith(' class="changed"') for row in table.split("<tr")[1:]]
    assert changed == sorted(decide(result.improvement).changed)[::-1]


def test_the_checks_on_the_page_are_those_of_the_library():
    log, behavior = tiger_log()
    result = improved(log, behavior, discount=0.95, n_wedge=20)
    found = check(log, behavior, discount=0.95, seed=random_stream(1, "check"))
    text = page_of(result).text
    for part in found.sections.values():
        assert part.verdict.sentence in text
    assert count(log, behavior.memory).unfinished == 0
