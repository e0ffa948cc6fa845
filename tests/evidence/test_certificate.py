"""Ranges of returns by brute force, and certificates that say in words what they are worth."""

from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumar.core.errors import ParameterError
from jumar.evidence.bounds import BOUNDS, Scale, bound
from jumar.evidence.certificate import certify, no_guarantee, peeled, unchanged
from jumar.evidence.claims import Certificate
from jumar.evidence.rewards import RewardRange, Starts
from jumar.evidence.validity import Validity

TIGER = RewardRange(continuing=(-1, -1), ending=(-100, 10))
SCALE = TIGER.scale(states=6, actions=3, outcomes=3, discount=0.95)
ALIKE = Starts([1.0, 1.0], [50, 50])  # the gain is 1 wherever an episode begins
DOCS = Path(__file__).parents[2] / "docs" / "bounds.md"


# ---------------------------------------------------------------- what a return can be


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [
        (TIGER, (-100, 10)),
        (RewardRange((-1, -1), (-20, 5)), (-20, 5)),  # voicemail
        (RewardRange((-0.01, -0.01), (1, 1)), (-0.2, 1)),  # cheese maze
        (RewardRange((-100, 10)), (-2000, 200)),  # the same rewards, never an ending
        (RewardRange.constant(-100, 10), (-2000, 200)),
    ],
)
def test_returns_of_the_benchmarks(rewards, expected):
    assert rewards.returns(0.95) == pytest.approx(expected)


amounts = st.floats(-100, 100).filter(lambda x: x == 0 or abs(x) >= 1e-50)
intervals = st.tuples(amounts, amounts).map(lambda p: tuple(sorted(p)))
ranges = st.builds(RewardRange, intervals, st.none() | intervals)


@given(ranges, st.floats(0, 0.999))
def test_one_more_step_never_leaves_the_range(rewards, γ):
    # the plug-in bound rests on this: r + γ·v stays in [lo, hi] for every v in [lo, hi]
    lo, hi = rewards.returns(γ)
    slack = 1e-9 * (1 + abs(lo) + abs(hi))
    assert rewards.continuing[0] + γ * lo >= lo - slack
    assert rewards.continuing[1] + γ * hi <= hi + slack


@pytest.mark.parametrize(
    ("continuing", "ending", "words"),
    [
        ((1, 0), None, r"continuing \(1, 0\) has its lower end above"),
        ((0, math.nan), None, "continuing nan is not a finite number"),
        ((0, 1), (-math.inf, 0), "ending -inf is not a finite number"),
        ((0, 1), (0, 1, 2), "is not a pair"),
        (3.0, None, "continuing 3.0 is not a pair"),
    ],
)
def test_rewards_that_are_no_range_are_refused(continuing, ending, words):
    with pytest.raises(ParameterError, match=words):
        RewardRange(continuing, ending)


def test_a_scale_from_rewards_carries_their_width_and_whether_they_were_declared():
    assert Scale(6, 3, 3, 0.95, v_max=100.0, value_range=110.0) == SCALE
    seen = RewardRange((-1, -1), (-100, 10), declared=False)
    assert not seen.scale(states=6, actions=3, outcomes=3, discount=0.95).declared


# ---------------------------------------------------------------- certificates


def test_spibb_gets_the_published_bound_first_then_the_claimed_ones_by_size():
    found = certify(SCALE, n_wedge=50, delta=0.05, gain=0.0, kind="bootstrapped")
    assert found[0].bound == "spibb"
    assert {c.bound for c in found} == {
        n for n, b in BOUNDS.items() if b.applies_to == "bootstrapped"
    }
    claimed = [c.zeta for c in found[1:]]
    assert claimed == sorted(claimed)
    assert [c.validity for c in found] == [Validity.PUBLISHED] + [Validity.CLAIMED] * 7


def test_the_plug_in_bound_needs_every_pair_seen_and_pays_for_reading_its_count_off_the_log():
    (c,) = certify(
        SCALE, n_wedge=0, delta=0.05, gain=1.0, kind="all-known", smallest_count=7, starts=ALIKE
    )
    # 4 <= 7 < 8 is the power j = 2, which may use 1/(3·4) of nine tenths of δ
    assert (c.bound, c.n_wedge, c.delta) == ("plug-in", 4, 0.05)
    assert c.zeta == pytest.approx(4000 * math.sqrt(2 / 4 * math.log(18 * 8 * 12 / 0.045)) - 1)
    assert "every pair would have to be seen" in c.verdict
    for smallest in (None, 0):
        (c,) = certify(
            SCALE, n_wedge=9, delta=0.05, gain=1.0, kind="all-known", smallest_count=smallest
        )
        assert (c.bound, c.zeta) == ("none", math.inf)
        assert "never have been seen" in c.claim
    found = certify(
        SCALE, n_wedge=50, delta=0.05, gain=0.0, kind="bootstrapped", smallest_count=3, starts=ALIKE
    )
    assert found[0].bound == "plug-in"


def test_a_vacuous_certificate_says_so_and_what_it_would_take():
    found = certify(SCALE, n_wedge=50, delta=0.05, gain=0.0, kind="bootstrapped")
    c = next(c for c in found if c.bound == "corollary")
    # 4·100·20·√(2/50·log(36·8·20)), and a tenth of 110 takes 1.28e6·(100/110)²·log(5760) visits
    assert c.zeta == pytest.approx(8000 * math.sqrt(0.04 * math.log(5760)))
    assert c.n_needed_for_tenth == math.ceil(1.28e6 / 1.21 * math.log(5760))
    assert c.vacuous
    assert c.verdict == (
        "vacuous: it excludes nothing that rewards leave possible; "
        "N∧ would have to be 9,159,609 for a loss of at most 11"
    )


def test_an_informative_certificate_is_one_sentence_with_its_chance():
    (c,) = certify(
        SCALE, n_wedge=0, delta=0.05, gain=0.0, kind="all-known", smallest_count=2**22, starts=ALIKE
    )
    share = 0.9 * 0.05 / (23 * 24)  # of δ, for j = 22
    assert c.zeta == pytest.approx(4000 * math.sqrt(2 / 2**22 * math.log(18 * 8 / share)) - 1)
    assert not c.vacuous
    assert c.claim == (
        f"The chance that the new policy's expected return falls more than {c.zeta:.6g} short "
        "of the old policy's is at most 5 %."
    )
    assert c.verdict == (
        f"informative: excludes a loss above {c.zeta:.6g}, {100 * c.zeta / 110:.3g} % of the value "
        "range 110 (proved under finite-history sufficiency)"
    )


def plain(zeta: float, validity: Validity, value_range: float = 110.0) -> Certificate:
    return Certificate("mine", "Mine", 0.05, zeta, value_range, validity)


@pytest.mark.parametrize(
    ("validity", "verdict"),
    [
        (Validity.PROVED, "proved not worse"),
        (
            Validity.PROVED_IF_SUFFICIENT_AND_SEEN,
            "proved not worse, given finite-history sufficiency and if no return lies outside what "
            "the log shows",
        ),
        (Validity.CLAIMED, "not worse, but this is only claimed"),
    ],
)
def test_a_loss_of_zero_or_less_is_not_worse_as_far_as_the_proof_goes(validity, verdict):
    assert plain(0.0, validity).verdict == plain(-2.0, validity).verdict == verdict
    assert "is lower than the old policy's is at most 5 %" in plain(0.0, Validity.PROVED).claim
    assert "is not at least 2 above the old policy's" in plain(-2.0, Validity.PROVED).claim


@pytest.mark.parametrize(
    ("zeta", "value_range", "vacuous"),
    [(110.0, 110.0, True), (109.9, 110.0, False), (math.inf, math.inf, True), (0.0, 0.0, False)],
)
def test_vacuous_from_the_value_range_on(zeta, value_range, vacuous):
    assert plain(zeta, Validity.PROVED, value_range).vacuous is vacuous


def test_what_excludes_nothing_has_no_number():
    told = plain(4708.0, Validity.PROVED)
    assert told.claim == "Nothing is claimed: any loss is left possible."
    assert told.to_dict()["zeta"] is None
    assert "4708" not in f"{told} {told.summary} {json.dumps(told.to_dict())}"


def test_nothing_changed_cannot_be_worse():
    c = unchanged(0.05, 110.0)
    assert (c.zeta, c.validity, c.vacuous) == (0.0, Validity.PROVED, False)
    assert c.claim == "Nothing changes, so nothing can be lost."
    assert not unchanged(0.05, 0.0).vacuous


def test_json_has_no_infinite_numbers_and_the_text_has_every_assumption():
    kinds = ("bootstrapped", "all-known")
    for kind, n in itertools.product(kinds, (0, 50, 10**9)):
        for c in certify(
            SCALE, n_wedge=n, delta=0.05, gain=1.5, kind=kind, smallest_count=n, starts=ALIKE
        ):
            text = json.dumps(c.to_dict(), allow_nan=False)
            assert json.loads(text) == c.to_dict()
            assert (c.to_dict()["zeta"] is None) == c.vacuous
            lines = str(c).splitlines()
            assert lines[0] == f"{c.title} ({c.bound})"
            assert all(any(a in line for line in lines) for a in (*c.assumptions, c.verdict))


def test_a_certificate_reads_in_one_glance():
    assert str(no_guarantee("Unseen pairs may be chosen.", value_range=110.0)).splitlines() == [
        "No certificate (none)",
        "  claim     Unseen pairs may be chosen.",
        "  verdict   vacuous: it excludes nothing that rewards leave possible",
        "  validity  nothing claimed: There is no statement that could be valid.",
        "  numbers   value range 110",
    ]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"delta": 0.0}, r"delta 0.0 is not strictly between 0 and 1.*pass for example 0.05"),
        ({"delta": 5}, "delta 5 is not strictly between 0 and 1"),
        ({"gain": math.nan}, "gain nan is not a finite number"),
        ({"kind": "all-know"}, "kind 'all-know' is not one of .* Did you mean 'all-known'"),
    ],
)
def test_wrong_arguments_are_named_with_a_remedy(wrong, words):
    right = {"n_wedge": 5, "delta": 0.05, "gain": 0.0, "kind": "bootstrapped"}
    with pytest.raises(ParameterError, match=words):
        certify(SCALE, **(right | wrong))


def test_a_certificate_without_numbers_is_refused():
    with pytest.raises(ParameterError, match="zeta nan"):
        plain(math.nan, Validity.PROVED)
    with pytest.raises(ParameterError, match="value range nan"):
        plain(1.0, Validity.PROVED, math.nan)


# ---------------------------------------------------------------- what the documents show


def test_the_page_explains_every_bound():
    text = DOCS.read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in BOUNDS)


def test_the_table_on_the_page_is_what_the_code_computes():
    sizes = [(6, 3, 2), (56, 4, 7)]
    rows = re.findall(
        r"^\| `([\w-]+)` \|( \d.*)\|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [name for name, _ in rows] == list(BOUNDS)
    for name, cells in rows:
        for (x, a, m), cell in zip(sizes, cells.split("|"), strict=True):
            for more, millions in enumerate(re.findall(r"[\d.]+", cell)):
                scale = Scale(x, a, m + more, 0.95, v_max=1.0, value_range=2.0)
                needed = bound(name).n_needed(scale, zeta=0.1, delta=0.05)
                assert f"{needed / 1e6:.2f}" == millions, (name, x, m + more)


def test_shares_of_delta_over_all_powers_of_two_sum_to_delta():
    shares = [peeled(2**j, 0.05)[1] for j in range(2000)]
    assert sum(shares) == pytest.approx(0.05, rel=1e-3)
    assert sum(shares) < 0.05
    assert [peeled(n, 0.05)[0] for n in (1, 2, 3, 4, 1023, 1024)] == [1, 2, 2, 4, 512, 1024]
