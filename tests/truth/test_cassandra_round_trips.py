"""`.POMDP` files there and back: any model in any style is read as the same arrays."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jumar as jm
from facts import refuses
from jumar.core.errors import ModelError, ModelWarning, TooLarge
from jumar.lab.truth.cassandra.reading import pomdp_from_text
from jumar.lab.truth.cassandra.writing import pomdp_to_text
from jumar.lab.truth.pomdp import Pomdp
from strategies import pomdps

SHARED = Path("/work/shared/data/pomdp")
ARRAYS = ("start", "pointer", "probability", "next_state", "next_observation", "reward")


def assert_same(one: Pomdp, two: Pomdp) -> None:
    """To the last bit."""
    for name in (*ARRAYS, "first_observation"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), name
    for name in ("states", "actions", "observations", "discount", "max_steps"):
        assert getattr(one, name) == getattr(two, name)
    if one.factors and two.factors:
        assert one.factors == two.factors


# ---- any model, in any style --------------------------------------------------------------------

quarters = st.sampled_from([-100.0, -1.5, -0.25, 0.0, 0.1, 1.0, 3.7, 1e-7, 12345678.9])
shares = st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.3, 0.5, 1 / 3, 0.7, 1.0])


@st.composite
def laws(draw, rows: int, width: int) -> np.ndarray:
    """Rows that sum to 1, with zeros and ones among them."""
    found = np.zeros((rows, width))
    for row in found:
        for i in range(width - 1):
            left = 1 - row.sum() + 1e-12
            row[i] = draw(shares.filter(lambda p, left=left: p <= left))
        row[-1] = max(0.0, 1 - row.sum())
    return found


@st.composite
def worlds(draw) -> dict[str, np.ndarray]:
    """T (A, S, S), O (A, S, Z), R (A, S, S, Z) and the start, dense."""
    A, S, Z = (draw(st.integers(1, 3)) for _ in range(3))
    if draw(st.booleans()):  # rewards that depend on little are what files have
        R = np.broadcast_to(
            draw(st.lists(quarters, min_size=A * S, max_size=A * S).map(np.array)).reshape(
                A, S, 1, 1
            ),
            (A, S, S, Z),
        )
    else:
        size = A * S * S * Z
        R = draw(st.lists(quarters, min_size=size, max_size=size).map(np.array)).reshape(A, S, S, Z)
    return {
        "T": draw(laws(A * S, S)).reshape(A, S, S),
        "O": draw(laws(A * S, Z)).reshape(A, S, Z),
        "R": R,
        "start": draw(laws(1, S))[0],
    }


class Style:
    """One way to write a file down, drawn at random."""

    def __init__(self, random: Random, world: dict[str, np.ndarray]) -> None:
        self.random, self.world = random, world
        self.A, self.S, self.Z = world["T"].shape[0], world["T"].shape[1], world["O"].shape[2]
        self.named = [random.random() < 0.5 for _ in range(3)]

    def one_of(self, *choices: object) -> object:
        return self.random.choice(choices)

    def name(self, kind: int, i: int) -> str:
        # states and observations share their names: they are told apart by where they stand
        return f"{'axx'[kind]}-{i}" if self.named[kind] and self.one_of(True, False) else str(i)

    def list_of(self, kind: int, size: int) -> str:
        return (
            " ".join(f"{'axx'[kind]}-{i}" for i in range(size)) if self.named[kind] else str(size)
        )

    def number(self, x: float) -> str:
        return str(self.one_of(repr(float(x)), f"{x:.17g}", f"{x:.17e}", f"{x:+.17g}".lstrip("+")))

    def numbers(self, values: np.ndarray) -> str:
        return " ".join(map(self.number, np.ravel(values).tolist()))

    def text(self) -> str:
        preamble = [
            "discount: 0.75",
            f"values: {self.one_of('reward', 'rewards')}",
            f"states: {self.list_of(1, self.S)}",
            f"actions: {self.list_of(0, self.A)}",
            f"observations: {self.list_of(2, self.Z)}",
        ]
        self.random.shuffle(preamble)
        body = [*self.laws("T", 1, self.S), *self.laws("O", 2, self.Z), *self.rewards()]
        chunks: list[list[str]] = []
        for word in "TOR":  # statements of different words may stand in any order
            chunks.append([line for line in body if line.startswith(word)])
        mixed = []
        while any(chunks):
            mixed.append(self.one_of(*[c for c in chunks if c]).pop(0))
        whole = "\n".join([*preamble, f"start: {self.numbers(self.world['start'])}", *mixed])
        return self.laid_out(whole)

    def laws(self, word: str, kind: int, width: int) -> list[str]:
        lines = []
        if self.one_of(True, False):  # something to be overwritten
            lines.append(str(self.one_of(f"{word}: * : * : * 0", f"{word}: * uniform")))
        for a in range(self.A):
            matrix = self.world[word][a]
            style = self.one_of("matrix", "rows", "cells")
            head = f"{word}: {self.name(0, a)}"
            if style == "matrix":
                lines.append(f"{head}\n{self.numbers(matrix)}")
                continue
            for s in range(self.S):
                row = f"{head} : {self.name(1, s)}"
                if style == "rows":
                    lines.append(f"{row} {self.numbers(matrix[s])}")
                    continue
                lines.append(f"{row} : * 0.5")
                for c in self.random.sample(range(width), width):
                    cell = f"{row} : {self.name(kind, c)}"
                    lines.append(f"{cell} {self.number(matrix[s, c])}")
        return lines

    def rewards(self) -> list[str]:
        R, lines = self.world["R"], [f"R: * : * : * : * {self.one_of('7', '-1', '0')}"]
        for a in range(self.A):
            for s in range(self.S):
                head = f"R: {self.name(0, a)} : {self.name(1, s)}"
                style = self.one_of("matrix", "rows", "cells", "wildcards")
                if style == "matrix":
                    lines.append(f"{head} {self.numbers(R[a, s])}")
                    continue
                if style == "wildcards":
                    lines.append(f"{head} : * : * {self.number(R[a, s, 0, 0])}")
                for t in range(self.S):
                    there = f"{head} : {self.name(1, t)}"
                    if style == "rows":
                        lines.append(f"{there} {self.numbers(R[a, s, t])}")
                        continue
                    for z in range(self.Z):
                        if style == "wildcards" and R[a, s, t, z] == R[a, s, 0, 0]:
                            continue
                        lines.append(f"{there} : {self.name(2, z)} {self.number(R[a, s, t, z])}")
        return lines

    def laid_out(self, text: str) -> str:
        if self.one_of(True, False):
            text = re.sub(" : ", lambda _: str(self.one_of(" : ", ":", " :", ": ")), text)
        if self.one_of(True, False):  # in one go, or a comment could swallow what follows it
            blanks = " ", "  ", "\t", "\n", "\n\n", " # x : *\n", "#T: 0\n"
            text = re.sub("[ \n]", lambda _: str(self.one_of(*blanks)), text)
        return str(self.one_of(text, text + "\n", text.replace("\n", "\r\n")))


def dense(model: Pomdp, name: str) -> np.ndarray:
    S, A = len(model.states), len(model.actions)
    laws = getattr(model.factors, name)
    width = S if name == "transition" else model.factors.n_observations
    return np.array([laws.row(r, width) for r in range(S * A)]).reshape(A, S, width)


@given(worlds(), st.randoms(use_true_random=False))
def test_a_model_is_the_same_in_every_style(world, random):
    model = pomdp_from_text(Style(random, world).text())
    for name, expected in (("transition", world["T"]), ("observation", world["O"])):
        assert np.array_equal(dense(model, name), expected)
    assert np.array_equal(model.start, world["start"])
    s, a = np.divmod(model.pair_of_outcome, len(model.actions))
    t, z = model.next_state, model.next_observation
    assert np.array_equal(model.probability, world["T"][a, s, t] * world["O"][a, t, z])
    assert np.array_equal(model.reward, world["R"][a, s, t, z])
    assert len(s) == (world["T"].transpose(1, 0, 2)[..., None] * world["O"][None] > 0).sum()
    assert_same(pomdp_from_text(pomdp_to_text(model)), model)


@given(worlds(), st.randoms(use_true_random=False), st.data())
def test_a_damaged_file_is_refused_or_read_but_never_anything_else(world, random, data):
    text = Style(random, world).text()
    at = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(at, min(len(text), at + 10)))
    odd = ["", ":", "*", "-", "T", "start", "0.5", "é", "#", "1e", "reset"]
    put = data.draw(st.sampled_from(odd))
    said = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        try:
            pomdp_from_text(text[:at] + put + text[end:], "m.POMDP")
        except (ModelError, TooLarge) as error:
            said = str(error)
    assert not said or "m.POMDP, line" in said or "Model" in said or "memory" in said


# ---- models that do not come from such a file ---------------------------------------------------


@given(pomdps())
def test_any_model_that_can_be_written_keeps_its_values(pomdp):
    """Endings become a state that is never left."""
    try:
        text = pomdp_to_text(pomdp)
    except ModelError as error:
        refused = str(error)
    else:
        refused = ""
    if refused:
        assert ".json" in refused
        return
    option = re.search('first_observation="(.*?)"', text)
    again = pomdp_from_text(text, first_observation=option[1] if option else None)
    assert len(again.states) == len(pomdp.states) + pomdp.episodic
    uniform = jm.Controller.uniform(pomdp.observations, pomdp.actions)
    theirs = jm.Controller.uniform(again.observations, again.actions)
    expected = jm.evaluate(pomdp, uniform, horizon=6).value
    assert jm.evaluate(again, theirs, horizon=6).value == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("name", sorted(set(jm.models.MODELS) - {"inspection"}))
def test_every_model_of_ours_can_be_written_and_read_back(tmp_path, name):
    model = jm.models.build(name)
    jm.lab.save_model(model, tmp_path / "m.POMDP")
    text = (tmp_path / "m.POMDP").read_text()
    first = re.search('first_observation="(.*?)"', text)  # none where states are seen
    steps = re.search(r"max_steps=(\d+)", text)
    again = jm.load_model(
        tmp_path / "m.POMDP",
        first_observation=first and first[1],
        max_steps=steps and int(steps[1]),
    )
    if model.episodic:
        assert again.states[-1] == again.observations[-1] == "ended"
    else:
        for field in ARRAYS:
            assert getattr(again, field).tobytes() == getattr(model, field).tobytes(), field
        starts = model.start > 0
        assert (again.first_observation == model.first_observation)[starts].all()
    assert again.max_steps == model.max_steps
    assert all(re.fullmatch("[A-Za-z][A-Za-z0-9_-]*", name) for name in again.states)


def test_what_the_format_cannot_tell_is_refused_with_the_way_out():
    coin = jm.models.sumatran_tiger()
    odd = replace(coin, first_observation=[[0.5, 0.5], [0.0, 1.0]])
    with refuses(ModelError, "first observation", ".json"):
        pomdp_to_text(odd)
    echo = Pomdp(
        name="echo", states=("s", "t"), actions=("go",), observations=("from-s", "from-t"),
        start=[1.0, 0.0], first_observation=np.eye(2), pointer=[0, 2, 4], probability=[0.5] * 4,
        next_state=[0, 1, 0, 1], next_observation=[0, 0, 1, 1], reward=[0.0] * 4, discount=0.9,
    )  # fmt: skip
    with refuses(ModelError, "echo", "seen depends", ".json"):
        pomdp_to_text(echo)
    here = {"next_state": [0] * 4, "next_observation": [0] * 4}
    with refuses(ModelError, "reward", "chance", ".json"):
        pomdp_to_text(replace(echo, reward=[0.0, 1.0] * 2, **here))
    assert "go" in pomdp_to_text(replace(echo, reward=[1.0] * 4, **here))


# ---- files of others, where they are at hand ----------------------------------------------------

WRONG = ("ejs4.POMDP", "ejs7.POMDP")
FILES = sorted(
    path for path in SHARED.rglob("*") if path.suffix.lower() == ".pomdp" and path.name not in WRONG
)
needs_files = pytest.mark.skipif(not SHARED.is_dir(), reason="files of others are not here")


@needs_files
@pytest.mark.filterwarnings("ignore::jumar.core.errors.ModelWarning")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_of_others_comes_back_bit_for_bit(path, tmp_path):
    model = jm.load_model(path)
    jm.lab.save_model(model, tmp_path / path.name)
    assert_same(jm.load_model(tmp_path / path.name), model)
    # also where T and O must be worked out from the outcomes
    alone = pomdp_from_text(pomdp_to_text(replace(model, factors=None)))
    assert np.array_equal(alone.probability, model.probability)


@needs_files
def test_files_that_are_wrong_are_refused_at_the_right_line():
    with refuses(ModelError, "ejs4.POMDP, line 8, column 1", "discount:", "Expected"):
        jm.load_model(SHARED / "cassandra/ejs4.POMDP")
    with refuses(ModelError, "ejs7.POMDP, line 22, column 1", "O of action '1' and state '1'", 1.1):
        jm.load_model(SHARED / "cassandra/ejs7.POMDP", discount=0.9)


@needs_files
def test_a_large_file_takes_little_time_and_memory(tmp_path):
    """tag-avoid: 870 states. Measured alone, 0.1 s and 10 MB; here with room for a busy machine."""
    import tracemalloc
    from time import process_time

    began = process_time()
    jm.load_model(SHARED / "paynt/tag-avoid.pomdp")
    assert process_time() - began < 2
    tracemalloc.start()
    jm.load_model(SHARED / "paynt/tag-avoid.pomdp")
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()
