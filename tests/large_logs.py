"""Small logs treated as if they were too large to be held."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any
from unittest import mock

import numpy as np

import jumar as jm
from jumar.gate import dealing
from jumar.log.episodes import Episodes, Origin

ASKED = {field.name for field in fields(jm.Options)}
READ_BY = {"engine", "jobs", "scheduler", "progress", "sort"}


def labelled(log: Episodes) -> Episodes:
    """The same with a label for every episode."""
    labels = [f"e{i}" for i in range(len(log))]
    return replace(log, origin=Origin("log.csv", np.arange(log.n_steps), labels))


def as_large() -> Any:
    """Where no log is small."""
    return mock.patch.object(dealing, "LARGE", 0)


def improve_logs(sources: Any, behavior: Any, **given: Any) -> jm.Result:
    """`jm.improve` of logs that are read in parts, with all that is said of them in a row."""
    asked = {name: given.pop(name) for name in ASKED & {*given}}
    workers = {name: given.pop(name) for name in READ_BY & {*given}}
    with as_large():
        return jm.improve(jm.LogFiles(sources, given, **workers), behavior, **asked)
