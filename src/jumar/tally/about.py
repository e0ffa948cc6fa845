"""What a file of counts says about itself in JSON, checked before anything rests on it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from jumar.log.shards.plan import CountedFiles, FilePart
from jumar.tally.counted import CountedFacts, Lengths

LARGEST = 2**63 - 1  # of a count, as of every other whole number in the file


def read_json(raw: bytes) -> Any:
    """ValueError where it is none."""
    try:
        return json.loads(raw)
    except RecursionError as error:
        raise ValueError("lists are nested too deeply") from error


def read_facts(data: Any) -> CountedFacts:
    """Facts of a log; ValueError says which is impossible."""
    facts = _table(data, "facts")
    return CountedFacts(
        _whole(facts, "episodes"),
        _whole(facts, "steps"),
        _whole(facts, "unfinished"),
        _whole(facts, "ended"),
        _lengths(facts, "lengths_ended"),
        _lengths(facts, "lengths_cut"),
        _range(facts, "rewards"),
        _range(facts, "ending_rewards"),
    )


def read_files(data: Any) -> CountedFiles:
    """Which parts of which files were counted."""
    if not isinstance(data, list):
        raise ValueError("what was counted is not a list")
    return CountedFiles(tuple(_part(entry) for entry in data))


def _part(entry: Any) -> FilePart:
    if not isinstance(entry, list) or len(entry) != 5:
        raise ValueError("a part of a file is not described by five values")
    file, first, last, labels, rising = entry
    if not isinstance(file, str) or not isinstance(rising, bool):
        raise ValueError("a part of a file has no name")
    if not (_is_count(first) and _is_count(last) and first < last):
        raise ValueError("a part of a file ends before it begins")
    if labels is None:
        return FilePart(file, first, last, None, rising)
    kinds = [type(label) for label in labels] if isinstance(labels, list) else []
    if kinds not in ([int, int], [str, str]):
        raise ValueError("labels of episodes are not two numbers or two texts")
    return FilePart(file, first, last, (labels[0], labels[1]), rising)


def _table(data: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise ValueError(f"{name} are missing")
    return data


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST


def _whole(facts: Mapping[str, Any], name: str) -> int:
    value: Any = facts.get(name)
    if not _is_count(value):
        raise ValueError(f"{name} is not a whole number from 0")
    return int(value)


def _lengths(facts: Mapping[str, Any], name: str) -> Lengths:
    data = _table(facts.get(name), name)
    return Lengths(_whole(data, "shortest"), _whole(data, "longest"))


def _range(facts: Mapping[str, Any], name: str) -> tuple[float, float] | None:
    data = facts.get(name)
    if data is None:
        return None
    if not isinstance(data, list) or len(data) != 2:
        raise ValueError(f"{name} are not two numbers")
    for value in data:
        if type(value) not in (int, float) or not abs(value) < 1e300 or math.isnan(value):
            raise ValueError(f"{name} are not two numbers")
    return float(data[0]), float(data[1])
