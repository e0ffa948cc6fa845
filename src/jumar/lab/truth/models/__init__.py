"""Models with known truth: for benchmarks and tests, never visible to an algorithm.

A new model is one function that returns a `Pomdp`, and one entry in `MODELS`; from outside,
``MODELS.add(name, entry)``. Its module must not bear a model's name: `models.tiger` is the
builder, and a submodule would hide it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module

from jumar.core.errors import ParameterError, not_one_of
from jumar.core.registry import Registry
from jumar.lab.truth.model_files import is_model_file, load_named, read_options
from jumar.lab.truth.pomdp import Pomdp
from jumar.lab.truth.training import Training


@dataclass(frozen=True)
class ModelEntry:
    """What the registry knows of a model without building it."""

    place: str | Callable[..., Pomdp]  # a function that builds it, or module:function
    summary: str
    training: Training  # the paper's (appendix B); for others one that does better than chance
    optimum: float | None = None  # value of the best policy of all, with default arguments
    source: str = ""
    options: tuple[str, ...] = field(default=())

    def build(self, **options: float) -> Pomdp:
        if not isinstance(self.place, str):
            return self.place(**options)
        module, function = self.place.split(":")
        builder: Callable[..., Pomdp] = getattr(import_module(module), function)
        return builder(**options)


MODELS: Registry[ModelEntry] = Registry(
    "model",
    {
        "tiger": ModelEntry(
            "jumar.lab.truth.models.paper:tiger",
            "a tiger behind one of two doors; listen, or open one",
            Training(softmax=0.05),
            optimum=5.0212519209,
            source="Kaelbling, Littman and Cassandra 1998; episodic, first observation informative",
        ),
        "voicemail": ModelEntry(
            "jumar.lab.truth.models.paper:voicemail",
            "a dialog system that must find out whether to save or delete a message",
            Training(softmax=0.3),
            optimum=1.5164184503,
            source="Williams and Young 2007; episodic, first observation informative",
        ),
        "cheese_maze": ModelEntry(
            "jumar.lab.truth.models.paper:cheese_maze",
            "eleven cells that look alike; find the cheese",
            Training(softmax=15.0),
            optimum=0.8152996750,
            source="McCallum 1993; episodic",
            options=("step_reward",),
        ),
        "bridge_repair": ModelEntry(
            "jumar.lab.truth.models.fields:bridge_repair",
            "a steel bridge that corrodes; repair and inspect it year by year",
            Training(softmax=0.005),
            optimum=-4603.3884447,
            source="Ellis, Jiang and Corotis 1995; runs for ever, discount and start are ours",
        ),
        "sumatran_tiger": ModelEntry(
            "jumar.lab.truth.models.fields:sumatran_tiger",
            "a population that is hard to see; manage, survey or give it up",
            Training(softmax=0.3),
            optimum=1405.2870854841,
            source="Chadès et al. 2008; runs for ever, present at first",
        ),
        "machine": ModelEntry(
            "jumar.lab.truth.models.fields:machine",
            "a machine with two parts that fail unseen; examine items, inspect, replace",
            Training(softmax=2.0),
            optimum=9.7336129247,
            source="Smallwood and Sondik 1973; runs for ever, discount and start are ours",
        ),
        "inspection": ModelEntry(
            "jumar.lab.truth.models.made:inspection",
            "a part that wears unseen; run, or stop to inspect it",
            Training(softmax=0.5),
            optimum=2.8468993709,
            source="made for this project: what matters is the time since the last inspection",
            options=("pay", "cost", "loss"),
        ),
        "broomrape": ModelEntry(
            "jumar.lab.truth.models.fields:broomrape",
            "a weed with a hidden seed bank; crop, fumigate or deny it its host",
            Training(softmax=0.003),
            optimum=25718.6098493,
            source="after Regan, Chadès and Possingham 2011; runs for ever, present at first",
        ),
        "garnet": ModelEntry(
            "jumar.lab.truth.models.made:garnet",
            "a random MDP with a goal, seen whole; another one for every seed",
            Training(softmax=40.0),
            optimum=0.6416670010,
            source="after Laroche et al. 2019; 50 states, 4 actions, 4 successors, hardest goal",
            options=("seed", "states", "actions", "successors"),
        ),
    },
)


def entry(spec: str) -> ModelEntry:
    """The registry entry of a model.

    >>> entry("tiger").training.softmax
    0.05
    """
    return MODELS[parse(spec)[0]]


def parse(spec: str) -> tuple[str, dict[str, float]]:
    """A model with its options, as written on a command line or in a study.

    >>> parse("cheese-maze:step_reward=0")
    ('cheese_maze', {'step_reward': 0.0})
    """
    name, _, rest = spec.partition(":")
    key = name.replace("-", "_").lower()
    if key not in MODELS:
        raise ParameterError(not_one_of("model", name, MODELS))
    options = {}
    for option, text in read_options(rest, MODELS[key].options, key).items():
        try:
            options[option] = float(text)
        except ValueError as error:
            raise ParameterError(f"{key}: option {option}: {text!r} is not a number.") from error
    return key, options


def build(spec: str, folder: str = ".") -> Pomdp:
    """A model by name or from a model file in that folder, with options after a colon.

    >>> build("tiger").actions
    ('open-left', 'open-right', 'listen')
    """
    if is_model_file(spec):
        return load_named(spec, folder)
    key, options = parse(spec)
    return MODELS[key].build(**options)


def optimum(spec: str) -> float | None:
    """The value of the best policy of all, where the registry knows it: for the default options.

    >>> optimum("tiger")
    5.0212519209
    """
    if is_model_file(spec):
        return None
    key, options = parse(spec)
    return None if options else MODELS[key].optimum


def training(spec: str, pomdp: Pomdp) -> Training:
    """How to train a behavior on a model: the paper's way for its own, else with a softmax that is
    as decided, relative to the range of rewards, as theirs."""
    if is_model_file(spec):
        rewards = pomdp.reward[pomdp.probability > 0]
        spread = float(rewards.max() - rewards.min())
        return Training(softmax=6.0 / spread if spread > 0 else 1.0)
    return entry(spec).training


def __getattr__(name: str) -> Callable[..., Pomdp]:
    """`models.tiger()` builds the model called tiger."""
    if name in MODELS:
        return MODELS[name].build
    raise AttributeError(name)
