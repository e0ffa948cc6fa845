"""What can be asked of a log: one table, of which Python, the command line and files are views.

A field of `Options` is a keyword of `jumar.improve`. Most are written as they are: then the field
says what it means, and it is `--NAME` on the command line, and a key of `jumar.toml` and of the
options in `run.json`. Some are put together from several words that people write, such as a memory
from `--window` and `--with-actions`: these words stand in `WORDS`, with those that say how a log is
written (`reading`, handed to `read_logs`) and those that several commands share.

So a new option is one field of `Options`, and a new word about logs is one line of `WORDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from jumar.core.documents import checked, number, show, whole
from jumar.core.errors import ProjectError
from jumar.core.text import printable

if TYPE_CHECKING:
    from jumar.core.randomness import Seed
    from jumar.evidence.rewards import RewardRange
    from jumar.gate.makers import CandidatesLike
    from jumar.gate.objectives import KeepLike
    from jumar.memory import Memory

Check = Callable[[Any, str], Any]  # of a value in a file, given its place
DATA, RULE, DECISION, OUTPUT = "Data", "Rule", "Decision", "Output"


# ---- values in files ----------------------------------------------------------------------------


def text(value: Any, place: str) -> str:
    return checked(value, str, place, ProjectError)


def flag(value: Any, place: str) -> bool:
    return checked(value, bool, place, ProjectError)


def real(value: Any, place: str) -> float:
    return number(value, place, ProjectError)


def integer(value: Any, place: str) -> int:
    return whole(value, place, ProjectError)


def _text_or_number(value: Any, place: str) -> Any:
    if not isinstance(value, str):
        real(value, place)
    return value  # a whole number stays one


def _pair(value: Any, place: str) -> tuple[float, float]:
    pair = checked(value, list, place, ProjectError)
    if len(pair) != 2:
        raise ProjectError(f"{place}: {show(value)} is no range. Write [LOWEST, HIGHEST].")
    low, high = (real(item, place) for item in pair)
    if low > high:
        raise ProjectError(f"{place}: {low:g} is more than {high:g}. Write the lower number first.")
    return low, high


def _table(each: Check) -> Check:
    def check(value: Any, place: str) -> dict[str, Any]:
        table = checked(value, dict, place, ProjectError)
        return {key: each(item, f"{place}, {printable(key)}") for key, item in table.items()}

    return check


def _text_or_texts(value: Any, place: str) -> str | tuple[str, ...]:
    if isinstance(value, list):
        return tuple(text(item, place) for item in value)
    return text(value, place)


def _texts(value: Any, place: str) -> list[str]:
    return [text(item, place) for item in checked(value, list, place, ProjectError)]


def _ranges(value: Any, place: str) -> tuple[str | float, ...]:
    items = checked(value, list, place, ProjectError)
    return tuple(_text_or_number(item, place) for item in items)


def _names(value: Any, place: str) -> str:
    """A list of names, or one text with commas between: as the option has them."""
    items = value if isinstance(value, list) else [value]
    return ",".join(text(item, place) for item in items)


def _policies(value: Any, place: str) -> str | dict[str, str]:
    if isinstance(value, dict):
        return {name: text(item, f"{place}, {printable(name)}") for name, item in value.items()}
    return text(value, place)


# ---- words that people write --------------------------------------------------------------------


@dataclass(frozen=True)
class Spelling:
    """How an option is written: as `--NAME`, and as a key of a project file."""

    help: str
    kind: type = str  # of a value on the command line
    check: Check | None = text  # of a value in a file; None: it does not stand in one
    metavar: str | None = None
    many: bool = False  # may be repeated
    typed: tuple[str, ...] = ()  # where that is not --NAME
    values: str = ""  # that a shell completes; or the registry that has their names
    panel: str = DECISION  # of the help
    brief: str = ""  # what `--help` says, where it shows only the options that matter most
    reading: bool = False  # handed to `read_logs`


def option(
    default: Any, help: str, kind: type = str, check: Check | None = text, **more: Any
) -> Any:
    """A field of `Options` that is written under its own name."""
    return field(default=default, metadata={"word": Spelling(help, kind, check, **more)})


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is asked of a log: the keywords of `jumar.improve`.

    Parameters
    ----------
    discount
        Weight of the next step against this one, in [0, 1).
    memory
        What the new controller may remember (with what the behavior remembers). Without it, what
        the behavior remembers, and for "auto" up to two observations more. With "estimate" the
        estimated behavior remembers it, and "auto" tries more. "learn" lets "auto" learn a memory
        from each half of the log (`learn_memory`) and try it beside one observation more.
    algorithm
        A name from `jumar algorithms`; "auto" by default.
    delta
        Accepted chance that the certificate is wrong.
    rewards
        What a step can pay, which the log must not contradict. Without it the range seen in the
        log is used, and the certificate makes its promise under that proviso.
    horizon
        The most steps of an episode or recording, where that is known: it narrows what returns are
        possible in the test of "auto".
    gate
        The test of "auto": "proved" holds for every number of episodes, "asymptotic" decides
        earlier and is right as the log grows.
    seed
        A whole number or a generator. Deals the episodes of "auto" into halves.
    unit
        What rewards are counted in, as "EUR"; only for what people read.
    step_length
        How long a step takes, as "7d" or "12h": then the gain is also told per year.
    simplify
        Make as few changes as bring 95 % of the gain; a number asks for another share. The
        simpler controller is what is tested and certified.
    objective
        The signal of the log, or the column of a file, that must get better. Without it, the
        reward.
    keep
        Signals, or columns, that must not get worse: their names; or a mapping from names to what
        may be lost per episode; or `Keep` for each, which also declares its range. "auto" tests
        all on held-out episodes, and deploys only what passes on all of them, at one `delta`.
    candidates
        Who makes what "auto" tests: names of algorithms, as ``["soft", "robust"]``, where "auto"
        stands for those it asks by itself; or a function ``(mdp, behavior)`` of your own that
        returns rows (H, A), a controller, an `Improvement`, or several of them. A function sees
        the model of one half of the log, and must not remember earlier calls. Whoever makes them,
        they are tested alike.
    thorough
        Test on all of a log of more than 10 million steps, even where the first held-out episodes
        decide: how much is gained at least is then told better.
    """

    discount: float
    memory: Memory | Literal["learn"] | None = None
    algorithm: str | None = option(
        None,
        "See `jumar algorithms`. Default: auto, or spibb where --n-wedge is given.",
        values="algorithms:ALGORITHMS",
    )
    rewards: RewardRange | None = None
    horizon: int | None = option(
        None,
        "The most steps of an episode (default: any number, or as the log shows).",
        int,
        integer,
    )
    objective: str | None = option(
        None,
        "The column that must get better, in place of the reward. With --cost: it holds costs.",
        metavar="COLUMN",
    )
    keep: KeepLike | None = None
    candidates: CandidatesLike | None = option(
        None,
        "Whose controllers auto tests, as soft,robust; any of `jumar algorithms`. auto among them "
        "stands for those it asks by itself.",
        check=_names,
        metavar="NAME,NAME,...",
    )
    simplify: bool | float = False
    delta: float = option(0.05, "Accepted chance that the certificate is wrong.", float, real)
    gate: str = option(
        "proved",
        "The held-out test: proved for any number of episodes, or one that decides earlier and "
        "becomes right as episodes grow in number.",
        metavar="proved|asymptotic",
        values="proved asymptotic",
    )
    thorough: bool = option(
        False,
        "In a log of more than 10 million rows: test on all held-out episodes, even where the "
        "first ones decide; how much is surely gained is then told better.",
        bool,
        flag,
    )
    seed: Seed = option(1, "Same seed, same result.", int, integer, brief="same seed, same result")
    unit: str = option(
        "",
        "What rewards are counted in, as EUR; for the report.",
        panel=OUTPUT,
        brief="what rewards are counted in, as EUR",
    )
    step_length: str | None = option(
        None, "How long a step takes: 7d, 12h, 30m, 45s.", metavar="LENGTH"
    )


def _of_log(help: str, check: Check = text, kind: type = str, **more: Any) -> Spelling:
    """How a log is written: handed to `read_logs`."""
    return Spelling(help, kind, check, panel=DATA, reading=True, **more)


def _flag(help: str, **more: Any) -> Spelling:
    return Spelling(help, bool, flag, **more)


WINDOW = "Observations remembered, the current one included (1 = none but it)."

WORDS: dict[str, Spelling] = {
    # -- how a log is written
    "each_file": _of_log(
        "In a folder of logs: episodes are numbered anew in every file.", flag, bool
    ),
    "sort": _flag(
        "Rows of an episode lie anywhere: sort them first, on disk. Needs jumar\\[duckdb].",
        panel=DATA,
    ),
    "columns": _of_log(
        "Other column names: episode=bus_id,reward=gain; observation=vibration+noise combines two; "
        "cluster=machine says which episodes belong together.",
        _table(_text_or_texts),
        metavar="PART=NAME,...",
        many=True,
        brief="other column names: episode=bus_id,reward=gain",
    ),
    "ends": _of_log(
        "What an episode's end means in a log without a 'terminated' column.",
        metavar="terminated|cut",
        values="terminated cut",
        brief="what an episode's end means, if no column says it",
    ),
    "cost": _of_log(
        "The reward column holds costs.",
        flag,
        bool,
        typed=("--cost/--no-cost",),
        brief="the reward column holds costs",
    ),
    "bins": _of_log(
        "Cut numbers into named ranges: vibration=low:2:mid:5:high; may be repeated.",
        _table(_ranges),
        metavar="COLUMN=NAME:EDGE:NAME...",
        many=True,
        brief="cut numbers into ranges: vibration=low:2:mid:5:high",
    ),
    "gap": _of_log(
        "A longer pause starts a new episode: 90d, 12h, 30m, 45s, or a number of steps.",
        _text_or_number,
        metavar="LENGTH",
    ),
    "missing": _of_log(
        "A missing value: an error, the observation 'missing', or leave out the episode.",
        metavar="error|symbol|drop",
        values="error symbol drop",
    ),
    "missing_reward": _of_log(
        "What a step pays whose reward is missing: 0 if an outcome comes only at the end.",
        real,
        float,
        metavar="NUMBER",
    ),
    "repeated": _of_log(
        "A row that is there twice: an error, or leave out the copy.",
        metavar="error|drop",
        values="error drop",
    ),
    "prices": _of_log(
        "Rewards of a log that has none: action:repair=-10,observation:broken=-5,"
        "column:miles=-0.02.",
        _table(real),
        metavar="WHAT=NUMBER,...",
        many=True,
    ),
    "propensity_draws": _of_log(
        "Propensities are frequencies of the action in K draws; 0 says that they are exact.",
        integer,
        int,
        metavar="K",
    ),
    "file_format": _of_log(
        "CSV, TSV, Parquet, Arrow, NDJSON, JSON, Excel or Minari, if the name does not tell.",
        metavar="NAME",
        typed=("--format", "--file-format"),
        values="log.formats:FORMATS",
    ),
    "separator": _of_log(
        "What stands between the columns of a text file.", metavar=",|;|tab", values=", ; tab"
    ),
    "decimal": _of_log(
        "The decimal mark of numbers in text; the other one parts thousands.",
        metavar=".|,",
        values=". ,",
    ),
    "dates": _of_log("How dates are written: %d/%m/%Y or %m/%d/%Y %H:%M.", metavar="FORMAT"),
    "encoding": _of_log("Of a text file that is not UTF-8: cp1252, utf-16.", metavar="NAME"),
    "turns": _of_log(
        "The key of nested JSON that holds the list of steps: dialog.turns.", metavar="KEY"
    ),
    "sheet": _of_log("The sheet of a workbook.", metavar="NAME"),
    "log": Spelling("The log.", panel=DATA),
    # -- who acted
    "policy": Spelling(
        "The controller that produced it (.toml or .json), or 'estimate' it from the log. Once for "
        "each where a column 'behavior' names several; not at all where a column 'propensity' says "
        "how likely each action was.",
        check=_policies,
        metavar="[NAME=]FILE|estimate",
        many=True,
        panel=RULE,
        brief="the policy that made the log (.toml, .json)",
    ),
    "exploration": Spelling(
        "How often that controller takes any action, in place of what its file says: 0.05.",
        float,
        real,
        metavar="SHARE",
        panel=RULE,
    ),
    "window": Spelling(
        WINDOW, int, integer, panel=RULE, brief="observations to remember, the current one included"
    ),
    "with_actions": _flag("The window also remembers what was done.", panel=RULE),
    # -- what is asked, in the words it is put together from
    "discount": Spelling(
        "Weight of the next step against this one.",
        float,
        real,
        brief="weight of the next step against this one: 0.95",
    ),
    "yearly_discount": Spelling(
        "Weight of next year against this one; needs --step-length.", float, real
    ),
    "n_wedge": Spelling("N∧: trust only what was seen more often than this.", int, None),
    "parameter": Spelling(
        "Any parameter of the algorithm.",
        check=None,
        metavar="NAME=VALUE",
        many=True,
        typed=("--set",),
    ),
    "parameters": Spelling("Those of the algorithm.", check=_table(_text_or_number)),
    "learn_memory": _flag(
        "Learn from the log what is worth remembering, and try that as well: on each half anew, "
        "tested on the other."
    ),
    "keep": Spelling(
        "A column that must not get worse, by more than LOSS per episode. May be repeated; all are "
        "tested on held-out episodes.",
        check=_texts,
        metavar="COLUMN[=LOSS]",
        many=True,
        brief="a column that must not get worse",
    ),
    "keep_cost": Spelling(
        "The same for a column of costs: less is better.",
        check=_texts,
        metavar="COLUMN[=LOSS]",
        many=True,
    ),
    "keep_range": Spelling(
        "What a step can count in a column that is kept (default: as the log shows).",
        check=_texts,
        metavar="COLUMN=LO:HI",
        many=True,
    ),
    "simplify": _flag(
        "Make as few changes as bring 95 % of the gain, so that people can read the rule. The "
        "simpler controller is what is tested.",
        brief="make as few changes as bring 95 % of the gain",
    ),
    "gain_share": Spelling("With --simplify: another share of the gain, as 0.8.", float, real),
    "rewards": Spelling(
        "What a step can pay at least and at most.",
        check=_pair,
        metavar="LO:HI",
        brief="the least and the most that a step can pay",
    ),
    "ending_rewards": Spelling(
        "The same for the step that ends an episode.",
        check=_pair,
        metavar="LO:HI",
        brief="the same for the step that ends an episode",
    ),
    # -- what comes out
    "pictures": Spelling("Draw the policy as PNG or PDF, too.", metavar="png,pdf", panel=OUTPUT),
    "as_json": Spelling(
        "Print one JSON object for machines.",
        bool,
        None,
        typed=("--json",),
        panel=OUTPUT,
        brief="print one JSON object for machines",
    ),
}


def plain_options() -> dict[str, Any]:
    """The options that are written as they are called, with their defaults."""
    return {f.name: f.default for f in fields(Options) if "word" in f.metadata}


def words() -> dict[str, Spelling]:
    """All that can be written, in the order of the help."""
    own = {f.name: f.metadata["word"] for f in fields(Options) if "word" in f.metadata}
    return {**WORDS, **own}


def in_files() -> dict[str, Check]:
    """What may stand in a project file, and how its value is checked."""
    return {name: word.check for name, word in words().items() if word.check is not None}


def of_reading() -> list[str]:
    """What is handed to `read_logs`."""
    return [name for name, word in WORDS.items() if word.reading]
