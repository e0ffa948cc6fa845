"""Logs in files: a long table with one row per step.

=============  ====================================================================
episode        any label; rows of one episode belong together, in order of `step` or
               `time` where there is such a column, else in the order of the file
observation    what was seen
action         what was done on it; empty in an extra last row that only carries the
               observation after an episode was cut off
reward         a finite number
terminated     true on the step with which the process ended by itself
node           optional: the memory node in which the controller says it was
propensity     optional: the probability with which the action was taken
cluster        optional: the person, plant or machine an episode belongs to
behavior       optional: the name of the controller that made the episode
signal:NAME    optional: another number that each step brings, more of which is better
=============  ====================================================================

Without a `terminated` column it must be said what the end of an episode means (`ends`): guessing
wrong would either invent endings or lose every last step. Other columns are ignored.

A log is read in batches, and every name becomes a small number at once (`loading`); then rows are
put in order and episodes apart (`ordering`), and what they say is checked (`assembling`). So memory
follows the number of rows, not the length of the text.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Protocol, runtime_checkable

from jumar.core.errors import LogError, ParameterError
from jumar.core.names import check_names
from jumar.core.resources import Watch, journal
from jumar.core.text import counted
from jumar.log.episodes import Episodes
from jumar.log.formats import FileOptions, Source, known_format, spooled
from jumar.log.reading.asking import Ends, Missing, Repeated, ask
from jumar.log.reading.assembling import assemble
from jumar.log.reading.files import LogFiles
from jumar.log.reading.joining import load_each
from jumar.log.reading.loading import load
from jumar.log.reading.numerals import Mark as Decimal
from jumar.log.reading.ordering import arrange
from jumar.log.reading.parts import find_parts
from jumar.log.reading.writing import write_logs
from jumar.log.several import SeveralFiles, open_logs

__all__ = [
    "Ends",
    "LogFiles",
    "Missing",
    "Repeated",
    "read_logs",
    "write_logs",
]


@runtime_checkable
class ArrowTable(Protocol):
    """A table in memory: of pandas, polars, pyarrow, or anything else that speaks Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


File = str | os.PathLike[str]


def read_logs(
    source: File | ArrowTable | Sequence[File],
    *,
    observations: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    ends: Ends | None = None,
    cost: bool | None = None,
    bins: Mapping[str, Sequence[str | float]] | None = None,
    gap: str | float | timedelta | None = None,
    missing: Missing = "error",
    repeated: Repeated = "error",
    prices: Mapping[str, float] | None = None,
    file_format: str | None = None,
    separator: str | None = None,
    decimal: Decimal | None = None,
    dates: str | None = None,
    encoding: str | None = None,
    turns: str | None = None,
    sheet: str | None = None,
    missing_reward: float | None = None,
    propensity_draws: int | None = None,
    each_file: bool = False,
) -> Episodes:
    """Read a log from CSV, TSV, Parquet, Arrow, NDJSON, JSON, Excel or Minari, or from a table in
    memory.

    What the file itself tells without doubt need not be said: its separator, decimal commas, the
    order of day and month.

    Parameters
    ----------
    source
        A file, its address in a store (``"s3://bucket/log.csv"``), a pipe, "-" for standard input,
        a table of pandas, polars or pyarrow, a ``pyarrow.dataset``, or a dataset of Minari: its
        folder, or its name, as minari:namespace/name-v0. A folder of files, or a pattern such as
        ``"logs/*.csv"``, or several of them, are one log; its rows may lie in any order.
    observations
        The names of all observations, in order; use the controller's. Without it, those found,
        sorted.
    actions
        The names of all actions, likewise.
    columns
        Which column plays which part. An observation or action may be made of several columns.
    ends
        What the end of an episode means where no column says it.
    cost
        The reward column holds costs. False says that it does not, whatever its name suggests.
    bins
        Cuts a column of numbers into named ranges: ``{"vibration": ("low", 2, "mid", 5,
        "high")}``.
    gap
        A longer gap than this ("90d", "12h", or a number of steps) starts a new episode.
    missing
        What is done about missing values: they are an "error", become the observation "missing"
        ("symbol"), or their episode is left out ("drop").
    repeated
        What is done about rows that are repeated word for word: they are an "error" or left out
        ("drop").
    prices
        Make the rewards of a log that has none: ``{"action:repair": -10, "column:miles": -0.02}``.
    file_format
        "CSV", "TSV", "Parquet", "Arrow", "NDJSON", "JSON", "Excel" or "Minari", if the name does
        not tell.
    separator
        What stands between the columns of a text file: ",", ";", "|", or "tab".
    decimal
        The decimal mark of numbers in text, "." or ","; the other one then parts thousands.
    dates
        How dates are written, as for ``strptime``: "%d/%m/%Y".
    encoding
        Of a text file that is not UTF-8: "cp1252", "utf-16".
    turns
        The key of nested JSON that holds the list of steps; with dots, a path of keys.
    sheet
        The sheet of an Excel workbook.
    missing_reward
        What a step pays whose reward is missing: 0 where an outcome stands only in the last row.
    propensity_draws
        Every propensity is the frequency of the action in so many draws; 0 says that propensities
        are exact.
    each_file
        Episodes are numbered anew in every file of a folder.

    Returns
    -------
    Episodes
        The log.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table(
    ...     {"bus": [7, 7, 9], "vibration": [0.4, 6.1, 3.0], "done": ["run", "fix", "run"]})
    >>> log = read_logs(
    ...     table, columns={"episode": "bus", "observation": "vibration", "action": "done"},
    ...     bins={"vibration": ("low", 2, "high")}, prices={"action:fix": -10}, ends="cut")
    >>> log.observations, log.observation.tolist(), log.reward.tolist()
    (('high', 'low'), [1, 0, 0], [0.0, -10.0, 0.0])

    A log that was saved by a spreadsheet in Berlin:

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "log.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("episode;time;observation;action;reward\\n"
    ...                        "1;31.05.2024;worn;fix;-1.234,5\\n1;07.06.2024;good;run;2\\n")
    ...     read_logs(path, ends="cut").reward.tolist()
    [-1234.5, 2.0]
    """
    asked = ask(
        columns=columns,
        ends=ends,
        cost=cost,
        bins=bins,
        gap=gap,
        missing=missing,
        repeated=repeated,
        prices=prices,
        decimal=decimal,
        dates=dates,
        missing_reward=missing_reward,
        propensity_draws=propensity_draws,
    )
    options = FileOptions.checked(separator, encoding, turns, sheet)
    file_format = known_format(file_format)
    given = {
        part: check_names(part, names, LogError)
        for part, names in (("observation", observations), ("action", actions))
        if names is not None
    }
    watch = Watch()
    with spooled(source) as file:
        opened = open_logs(file, file_format, options)
        if decimal == ",":
            _check_marks(opened)
        if isinstance(opened, SeveralFiles):
            rows = load_each(opened, asked, each_file=each_file)
        elif each_file:
            raise ParameterError(
                f"each_file: {opened.name} is one file. Leave it out (--each-file), or give a "
                "folder of logs."
            )
        else:
            rows = load(opened, find_parts(opened, asked), asked)
        found = assemble(arrange(rows, asked), given, asked)
    journal.info(
        "Read %s: %s, %s (%s)",
        opened.name,
        counted(len(found), "episode"),
        counted(found.n_steps, "step"),
        watch,
    )
    return found


def _check_marks(opened: Source) -> None:
    sources = opened.sources if isinstance(opened, SeveralFiles) else [opened]
    for source in sources:
        if source.has_points:
            raise ParameterError(
                f"decimal: numbers of {source.name} have a decimal point. Leave it out (--decimal)."
            )
