"""A project file: what is known about one log, written once, so that commands need no options.

    format   = "jumar-project/1"
    log      = "pumps.csv"
    policy   = "rule.toml"              # or "estimate", or { old = "a.toml", new = "b.toml" }
    discount = 0.999                    # of one step; or yearly_discount = 0.95 with step_length
    step_length = "7d"                  # one step is a week
    unit     = "EUR"
    cost     = true                     # the reward column holds costs
    ends     = "cut"
    missing  = "symbol"
    missing_reward = 0                  # where the reward column is empty
    rewards  = [-12000, 0]
    separator = ";"                     # and decimal, dates, encoding, turns, sheet, file_format

    [columns]
    episode = "pump"
    observation = ["vibration", "noise"]

    [bins]
    vibration = ["low", 2, "mid", 5, "high"]

Every key is also an option of the command line (`step_length` is `--step-length`), and the option
wins. Files are named as seen from the folder of the project file. The record of a run (`run.json`)
holds the same settings under `options`, so a run is repeated by reading them there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jumar.core.documents import Format, check_format, check_keys, checked, read_document
from jumar.core.errors import ParameterError, ProjectError
from jumar.core.plain import plain
from jumar.core.text import printable
from jumar.options import in_files, of_reading

FILE = "jumar.toml"
YEAR = 365.25 * 86_400  # seconds

PROJECT = Format("project", 1, ProjectError, keys=("format", *in_files()))
RUN = Format(
    "run",
    1,
    ProjectError,
    keys=("format", "options"),
    elsewhere="Give the run.json that `jumar improve -o` wrote.",
)


@dataclass(frozen=True)
class Project:
    """The settings of a project, each under the name of its option; files as absolute paths."""

    source: str = ""  # the file they come from; empty where there is none
    reading: Mapping[str, Any] = field(default_factory=dict)  # for `read_logs`
    rest: Mapping[str, Any] = field(default_factory=dict)
    fingerprints: Mapping[str, str] = field(default_factory=dict)  # part -> SHA-256 of its file

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a file, in plain JSON types."""
        return {key: plain(value) for key, value in {**self.rest, **self.reading}.items()}


def load_project(path: str | os.PathLike[str]) -> Project:
    """Read a project file (`jumar.toml`), or the settings in the record of a run (`run.json`).

    Parameters
    ----------
    path
        The file, or its folder.

    Returns
    -------
    Project
        Its settings.

    Examples
    --------
    >>> import tempfile
    >>> text = 'format = "jumar-project/1"\\nlog = "a.csv"\\ncost = true\\ndiscount = 0.9\\n'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "jumar.toml").write_text(text)
    ...     project = load_project(folder)
    >>> project.reading, project.rest["discount"]
    ({'cost': True}, 0.9)
    """
    file = Path(path)
    file = file / FILE if file.is_dir() else file
    source = str(file)
    is_record = file.suffix.lower() == ".json"
    form = RUN if is_record else PROJECT
    document = checked(read_document(source, form), dict, source, ProjectError)
    check_format(document, source, form)
    fingerprints: dict[str, str] = {}
    if is_record:
        fingerprints = _fingerprints(document)
        if document.get("options") is None:
            raise ProjectError(
                f"{source}: this run was not started on the command line, or by an older jumar: "
                "its options are not recorded. Give them by hand."
            )
        document = checked(document["options"], dict, f"{source}, options", ProjectError)
    else:
        document = {key: value for key, value in document.items() if key != "format"}
    known, reading = in_files(), of_reading()
    check_keys(document, known, source, PROJECT)
    read = {key: known[key](value, f"{source}, {key}") for key, value in document.items()}
    return Project(
        source,
        {key: value for key, value in read.items() if key in reading},
        {k: _placed(k, value, file.parent) for k, value in read.items() if k not in reading},
        fingerprints,
    )


def _fingerprints(document: Mapping[str, Any]) -> dict[str, str]:
    """What is known about the files a run read; a damaged list is an empty one."""
    files = document.get("files")
    return {
        part: item["sha256"]
        for part, item in (files.items() if isinstance(files, dict) else ())
        if isinstance(item, dict) and isinstance(item.get("sha256"), str)
    }


def _placed(key: str, value: Any, folder: Path) -> Any:
    """File names as seen from here."""
    if key == "log":
        from jumar.log.formats.minari import PREFIX  # loads numpy

        elsewhere = value == "-" or "://" in value or value.startswith(PREFIX)
        return value if elsewhere else str(folder / value)
    if key == "policy":
        if isinstance(value, dict):
            return {name: str(folder / item) for name, item in value.items()}
        return value if value == "estimate" else str(folder / value)
    return value


def seconds(length: str) -> float:
    """A length of time such as 7d, 12h, 30m, 45s.

    >>> seconds("7d")
    604800.0
    """
    from jumar.log.reading.options import read_gap

    try:
        found = read_gap(length)
    except ParameterError:
        found = None
    if found is None or not found.of_time:
        raise ParameterError(
            f"step_length: {printable(str(length))!r} is not a length of time. "
            "Write 7d, 12h, 30m or 45s."
        )
    return found.amount


def step_discount(yearly: float, step_length: str) -> float:
    """The discount of one step from that of a year.

    >>> round(step_discount(0.95, "7d"), 6)
    0.999017
    """
    if not 0 < yearly < 1:
        raise ParameterError(
            f"yearly_discount: {yearly:g} is not between 0 and 1. "
            "Write 0.95 if next year counts 5 % less."
        )
    return float(yearly ** (seconds(step_length) / YEAR))
