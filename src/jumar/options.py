"""What can be asked of a log: one table, of which Python, the command line and files are views.

A field of `Options` is a keyword of `jumar.improve`. Most are written as they are: then the field
says what it means, and it is `--NAME` on the command line, and a key of `jumar.toml` and of the
options in `run.json`. Some are put together from several words that people write, such as a memory
from `--window` and `--with-actions`: these words stand in `WORDS`, with those that say how a log is
written (`reading`, handed to `read_logs`) and all others of commands that read a log.

So a new option is one field of `Options`, and a new word about logs is one line of `WORDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
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
DATA, POLICY, DECISION, OUTPUT = "Data", "Policy", "Decision", "Output"


# ---- values in files ----------------------------------------------------------------------------


def text(value: Any, place: str) -> str:
    return checked(value, str, place, ProjectError)


def real(value: Any, place: str) -> float:
    return number(value, place, ProjectError)


# how a value of a kind is checked, where nothing else is said
BY_KIND: dict[type, Check] = {
    str: text,
    float: real,
    bool: lambda value, place: checked(value, bool, place, ProjectError),
    int: lambda value, place: whole(value, place, ProjectError),
}


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

    help: str  # its first sentence is all that a short help says
    kind: type = str  # of a value on the command line
    check: Check | None = None  # of a value in a file; without it, by its kind
    filed: bool = True  # may it stand in a file?
    metavar: str | None = None
    many: bool = False  # may be repeated
    typed: tuple[str, ...] = ()  # where that is not --NAME
    values: str = ""  # that a shell completes; or the registry that has their names
    panel: str = DECISION  # of the help
    first: bool = False  # one of the few that a short `--help` shows
    reading: bool = False  # handed to `read_logs`


def option(default: Any, help: str, kind: type = str, **more: Any) -> Any:
    """A field of `Options` that is written under its own name."""
    return field(default=default, metadata={"word": Spelling(help, kind, **more)})


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is asked of a log: the keywords of `jumar.improve`.

    Parameters
    ----------
    discount
        Weight of the next step against this one, in [0, 1).
    memory
        What the new policy may remember (with what the old one remembers). Without it, what the
        old one remembers, and for "auto" up to two observations more. With "estimate" the estimated
        policy remembers it, and "auto" tries more. "learn" lets "auto" learn a memory from each
        half of the log (`learn_memory`) and try it beside one observation more.
    algorithm
        A name from `jumar algorithms`; "auto" by default.
    delta
        Accepted chance that the certificate is wrong.
    rewards
        What a step can pay, which the log must not contradict. Without it the range seen in the
        log is used, and the certificate makes its promise under that proviso.
    horizon
        The most steps of an episode, where that is known: it narrows what returns are possible in
        the test of "auto".
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
        simpler policy is what is tested and certified.
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
        None, "The most steps of an episode (default: any number, or as the log shows).", int
    )
    objective: str | None = option(
        None,
        "The column that must get better, in place of the reward. With --cost: it holds costs.",
        metavar="COLUMN",
    )
    keep: KeepLike | None = None
    candidates: CandidatesLike | None = option(
        None,
        "The algorithms that make what auto tests: soft,robust. auto among them stands for those "
        "it asks by itself.",
        check=_names,
        metavar="NAME,NAME,...",
    )
    simplify: bool | float = False
    delta: float = option(0.05, "Accepted chance of error.", float)
    gate: str = option(
        "proved",
        "The held-out test: proved for any number of episodes; or asymptotic, which decides "
        "earlier and becomes right as episodes grow in number.",
        metavar="proved|asymptotic",
        values="proved asymptotic",
    )
    thorough: bool = option(
        False,
        "In a log of more than 10 million rows: test on all held-out episodes, even where the "
        "first ones decide. How much is surely gained is then told better.",
        bool,
    )
    seed: Seed = option(1, "Same seed, same result.", int, first=True)
    unit: str = option(
        "", "What rewards are counted in, as EUR. For the report.", panel=OUTPUT, first=True
    )
    step_length: str | None = option(
        None, "How long a step takes: 7d, 12h, 30m, 45s.", metavar="LENGTH"
    )


def _of_log(help: str, kind: type = str, **more: Any) -> Spelling:
    """How a log is written: handed to `read_logs`."""
    return Spelling(help, kind, panel=DATA, reading=True, **more)


def _once(help: str, kind: type = bool, **more: Any) -> Spelling:
    """What is said of one run, and stands in no file."""
    return Spelling(help, kind, filed=False, **more)


WORDS: dict[str, Spelling] = {
    # -- how a log is written
    "each_file": _of_log("In a folder of logs: every file numbers its episodes anew.", bool),
    "sort": Spelling(
        "Rows of an episode lie anywhere: sort them first, on disk. Needs jumar\\[duckdb].",
        bool,
        panel=DATA,
    ),
    "columns": _of_log(
        "Other column names: episode=bus_id,reward=gain. observation=vibration+noise combines two; "
        "cluster=machine says which episodes belong together.",
        check=_table(_text_or_texts),
        metavar="PART=NAME,...",
        many=True,
        first=True,
    ),
    "ends": _of_log(
        "What the end of an episode means, if no column 'terminated' says it.",
        metavar="terminated|cut",
        values="terminated cut",
        first=True,
    ),
    "cost": _of_log(
        "The reward column holds costs.", bool, typed=("--cost/--no-cost",), first=True
    ),
    "bins": _of_log(
        "Cut numbers into ranges: vibration=low:2:mid:5:high. May be repeated.",
        check=_table(_ranges),
        metavar="COLUMN=NAME:EDGE:NAME...",
        many=True,
        first=True,
    ),
    "gap": _of_log(
        "A longer pause starts a new episode: 90d, 12h, 30m, 45s, or a number of steps.",
        check=_text_or_number,
        metavar="LENGTH",
    ),
    "missing": _of_log(
        "A missing value: an error, the observation 'missing', or leave out the episode.",
        metavar="error|symbol|drop",
        values="error symbol drop",
    ),
    "missing_reward": _of_log(
        "What a step without a reward pays: 0 if an outcome comes only at the end.",
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
        check=_table(real),
        metavar="WHAT=NUMBER,...",
        many=True,
    ),
    "propensity_draws": _of_log(
        "Propensities are frequencies of the action in K draws; 0 says that they are exact.",
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
        "The column separator of a text file.", metavar=",|;|tab", values=", ; tab"
    ),
    "decimal": _of_log(
        "The decimal mark of numbers in text; the other one parts thousands.",
        metavar=".|,",
        values=". ,",
    ),
    "dates": _of_log("How dates are written: %d/%m/%Y or %m/%d/%Y %H:%M.", metavar="FORMAT"),
    "encoding": _of_log("Of a text file that is not UTF-8: cp1252, utf-16.", metavar="NAME"),
    "turns": _of_log("The key of nested JSON that holds the steps: dialog.turns.", metavar="KEY"),
    "sheet": _of_log("The sheet of a workbook.", metavar="NAME"),
    "log": Spelling("The log.", panel=DATA),
    "counts": _once(
        "Learn from a file of counts (jumar count) in place of a log. Nothing is tested.",
        Path,
        metavar="FILE",
        panel=DATA,
    ),
    "project": _once(
        "Project file with the options (default: jumar.toml here, if there is one).",
        Path,
        panel=DATA,
    ),
    "no_project": _once("Do not read jumar.toml.", panel=DATA),
    "again": _once(
        "Repeat a run: its run.json holds all options. Others given here win.", Path, panel=DATA
    ),
    # -- who acted
    "policy": Spelling(
        "The policy that made the log (.toml, .json). 'estimate' guesses it from the log. Once for "
        "each where a column 'behavior' names several; not at all where a column 'propensity' says "
        "how likely each action was.",
        check=_policies,
        metavar="[NAME=]FILE|estimate",
        many=True,
        panel=POLICY,
        first=True,
    ),
    "exploration": Spelling(
        "How often that policy takes any action, in place of what its file says: 0.05.",
        float,
        metavar="SHARE",
        panel=POLICY,
    ),
    "window": Spelling(
        "Observations to remember, the current one included.", int, panel=POLICY, first=True
    ),
    "with_actions": Spelling("The window also remembers what was done.", bool, panel=POLICY),
    "controller": _once(
        "The policy to judge (.toml, .json).", Path, metavar="FILE", panel=POLICY, first=True
    ),
    # -- what is asked, in the words it is put together from
    "discount": Spelling(
        "How much the next step counts against this one: 0.95.", float, first=True
    ),
    "yearly_discount": Spelling(
        "How much next year counts against this one; needs --step-length.", float
    ),
    "n_wedge": _once("N∧: trust only what was seen more often than this.", int),
    "parameter": _once(
        "Any parameter of the algorithm.", str, metavar="NAME=VALUE", many=True, typed=("--set",)
    ),
    "parameters": Spelling("Those of the algorithm.", check=_table(_text_or_number)),
    "learn_memory": Spelling(
        "Learn from the log what is worth remembering, and try that as well. Each half learns its "
        "own, tested on the other.",
        bool,
    ),
    "keep": Spelling(
        "A column that must not get worse. LOSS is what it may lose per episode. May be repeated; "
        "all are tested on held-out episodes.",
        check=_texts,
        metavar="COLUMN[=LOSS]",
        many=True,
        first=True,
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
    "simplify": Spelling(
        "Make as few changes as bring 95 % of the gain. The simpler policy is what is tested.",
        bool,
        first=True,
    ),
    "gain_share": Spelling("With --simplify: another share of the gain, as 0.8.", float),
    "rewards": Spelling(
        "The least and the most that a step can pay.", check=_pair, metavar="LO:HI", first=True
    ),
    "ending_rewards": Spelling(
        "The same for the step that ends an episode.", check=_pair, metavar="LO:HI", first=True
    ),
    # -- what is asked of one command alone
    "gain": _once(
        "A gain per episode to certify. May be repeated (default: as estimated).",
        float,
        many=True,
        first=True,
    ),
    "power": _once(
        "The chance to certify it; may be repeated (default: 0.5, 0.8, 0.95).", float, many=True
    ),
    "until": _once(
        "Also tell what could be decided by this day, at the rate of the log.",
        str,
        metavar="YYYY-MM-DD",
        first=True,
    ),
    "level": _once("A test fails when its p-value is at most this.", float, first=True),
    "estimator": _once(
        "dr, pdis, wdr, or all.",
        str,
        metavar="NAME",
        values="all evidence.offpolicy:ESTIMATORS",
    ),
    "interval": _once(
        "hoeffding, bernstein, truncated (proved); t, bootstrap-t (asymptotic). Default: t for dr, "
        "bootstrap-t for all others.",
        str,
        metavar="NAME",
        values="evidence.offpolicy:INTERVALS",
    ),
    "sides": _once(
        "Which ends are claimed.", str, metavar="two|lower|upper", values="two lower upper"
    ),
    "difference": _once("How much better than the policy that made the log."),
    # -- what comes out
    "pictures": Spelling("Draw the policy as PNG or PDF, too.", metavar="png,pdf", panel=OUTPUT),
    "excel": _once("Write result.xlsx, too: decisions, the log, the verdict.", panel=OUTPUT),
    "as_json": _once(
        "Print one JSON object for machines.", typed=("--json",), panel=OUTPUT, first=True
    ),
    "output": _once(
        "Folder for the report, the policy and the rest.",
        Path,
        typed=("--output", "-o"),
        panel=OUTPUT,
        first=True,
    ),
    "yes": _once("Ask nothing, take what is proposed.", typed=("--yes", "-y"), panel=OUTPUT),
    "force": _once("Write over files that are there.", panel=OUTPUT),
    "resume": _once("Continue a run that stopped before this file was made.", panel=OUTPUT),
    "shard": _once(
        "Count the I-th of N parts only, as in a job array; then merge.",
        str,
        metavar="I/N",
        panel=OUTPUT,
    ),
    "engine": _once(
        "Where to work: threads, processes, or a Dask cluster (default: whatever suits).",
        str,
        metavar="here|processes|dask",
        values="engines:ENGINES",
        panel=OUTPUT,
    ),
    "scheduler": _once(
        "The Dask scheduler to use, such as tcp://host:8786. Without it, --engine dask starts its "
        "own workers here.",
        str,
        metavar="ADDRESS",
        panel=OUTPUT,
    ),
    "jobs": _once("How many to work at once (default: all cores).", int, panel=OUTPUT),
    "help_all": _once("Show the other options as well, and exit.", panel=OUTPUT),
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
    return {n: word.check or BY_KIND[word.kind] for n, word in words().items() if word.filed}


def of_reading() -> list[str]:
    """What is handed to `read_logs`."""
    return [name for name, word in WORDS.items() if word.reading]
