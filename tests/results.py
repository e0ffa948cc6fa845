"""Results to assess and to show, and a page taken apart.

Logs, results and pages never change, so each is made once for all tests of a process.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np

import jumar as jm
from jumar.core.randomness import random_stream
from jumar.gate import Trial
from jumar.gate.trials import Setting
from jumar.log.episodes import Episodes, Origin, Remarks
from jumar.memory import NamedNodes, window
from jumar.policy.controller import Controller
from jumar.show.outputs import report_page
from jumar.show.provenance import Run
from jumar.verdict.result import Result

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


_MADE: dict[tuple[object, ...], tuple[object, object]] = {}


def _once(make, given: tuple[object, ...], **options):
    """What is made of the very same objects is made once. Logs are equal whatever their origin, so
    equality would not do."""
    key = (make, *map(id, given), *sorted(options.items()))
    if key not in _MADE:
        _MADE[key] = (make(*given, **options), given)  # kept, so that no other gets its number
    return _MADE[key][0]


def page_of(result: Result) -> Page:
    return _once(new_page, (result,))


def new_page(result: Result) -> Page:
    return Page(report_page(result.assessment, RUN))


def improved(log: Episodes, behavior: Controller, **options) -> Result:
    """`jm.improve` of the very same log; what it makes is assessed once."""
    return _once(jm.improve, (log, behavior), **options)


@cache
def one_step_log(keep: int, repair: int) -> Episodes:
    """Every episode is one step: keep pays 1, repair pays 3, and it is over."""
    return one_step_log_with(keep, repair)


def one_step_log_with(keep: int, repair: int, **more) -> Episodes:
    n = keep + repair
    action = np.random.default_rng(0).permutation([0] * keep + [1] * repair)  # no trend in time
    fields = {"start": np.arange(n + 1), "final_observation": [-1] * n, "terminated": [True] * n}
    return Episodes(
        ("good",),
        ("keep", "repair"),
        [0] * n,
        action,
        np.array([1.0, 3.0])[action],
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


@cache
def tiger_log(episodes: int = 400) -> tuple[Episodes, Controller]:
    tiger = jm.models.tiger()
    behavior = Controller.uniform(tiger.observations, tiger.actions)
    return jm.simulate(tiger, behavior, episodes=episodes, seed=random_stream(1, "data")), behavior


@cache
def named(alphabet: tuple[str, ...], name: str, nodes: int | None = None) -> Result:
    """An improvement in which every name is one of the alphabet. Node i leads to i + 1; action k
    of 3 pays k, so there is something to change everywhere."""
    O, A = len(alphabet), 3
    M = nodes or O
    labels = alphabet if M == O else tuple(alphabet[i % O][:9_990] + f" {i}" for i in range(M))
    to = np.broadcast_to((np.arange(M)[:, None, None] + 1) % M, (M, O, A))
    behavior = Controller.uniform(alphabet, alphabet[:A], NamedNodes(labels, to))
    behavior = replace(behavior, name=name)
    steps, episodes = M + 1, 300
    i = np.arange(episodes * steps)
    action = np.random.default_rng(3).integers(A, size=len(i))
    log = Episodes(
        alphabet, alphabet[:A], (i // steps) % O, action, action,
        np.arange(episodes + 1) * steps, [-1] * episodes, [True] * episodes,
    )  # fmt: skip
    return jm.improve(log, behavior, discount=0.9, n_wedge=1)


# of ten controllers learned, two were tested; the second by its lower bound was chosen
LOWER = Trial(
    Setting(window(1), "spibb", (("n_wedge", 5),), 1.0),
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
    Setting(window(2), "spibb", (("n_wedge", 1),), 1.0),
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


@cache
def chosen_by_test(log: Episodes, trials=(LOWER, CHOSEN, FAR), chosen=CHOSEN) -> Result:
    """The improvement of a log by hand, as if it had been chosen by a test of 50 episodes."""
    result = improved(log, HALF, discount=0.9)
    selection = replace(
        result.selection, trials=trials, chosen=chosen, tried=10, delta=0.05, most=10.0
    )
    # returns from -20 to 20, of which the old controller has 10
    limits = replace(selection.limits, low=[-20.0], high=[20.0], logged=(-20.0, 20.0))
    selection = replace(selection, limits=limits)
    return replace(result, selection=selection)


Color = tuple[float, ...]  # red, green, blue, from 0 to 255


def rgb(text: str) -> Color:
    """
    >>> rgb("#fff"), rgb("#b84500")
    ((255, 255, 255), (184, 69, 0))
    """
    digits = text[1:] if len(text) == 7 else "".join(2 * c for c in text[1:])
    return tuple(bytes.fromhex(digits))


def contrast(one: Color, other: Color) -> float:
    """As the Web Content Accessibility Guidelines count it: 21 for black on white."""

    def luminance(color: Color) -> float:
        parts = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in color]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)
