"""Every kind of bad row, and rows written as text of both shapes."""

from __future__ import annotations

import json

COLUMNS = ("episode", "time", "observation", "noise", "action", "reward", "terminated", "miles")
GOOD = {
    "episode": "7",
    "time": "2024-01-01",
    "observation": "z",
    "noise": "1",
    "action": "a",
    "reward": "0",
    "terminated": "",
    "miles": "5",
}
NEXT = {**GOOD, "time": "2024-01-02"}
CELL = "row 3, column "
ROW = "row 3 (episode 7): "
BINNED = {"columns": {"observation": "observation+noise"}, "bins": {"noise": ("low", 2, "high")}}

# what is changed in the second row; what the message begins with; a word of the remedy; options
BAD = {
    "no episode": ({"episode": ""}, CELL + "'episode': the episode is missing",
                   "Write in every row which", {}),
    "no time": ({"time": ""}, CELL + "'time': the time is missing", "Fill it in", {}),
    "no such time": ({"time": "soon"}, CELL + "'time': 'soon' is not a time", "rename it", {}),
    "zone": ({"time": "2024-01-02T00:00Z"}, CELL + "'time': '2024-01-02T00:00Z' is not a time like",
             "without a time zone", {}),
    "number": ({"time": "5"}, CELL + "'time': '5' is not a time like the others", "or numbers", {}),
    "same time": ({"time": "2024-01-01"}, ROW + "the time is the same as in row 2",
                  "--repeated", {}),
    "same time, another row": ({"time": "2024-01-01", "reward": "1"}, ROW + "the time is the same",
                               "differently", {"repeated": "drop"}),
    "no observation": ({"observation": ""}, ROW + "the observation is missing",
                       "--missing symbol", {}),
    "half an observation": ({"noise": ""}, ROW + "the observation is missing (column 'noise')",
                            "--missing drop", BINNED),
    "no number to cut": ({"noise": "loud"}, CELL + "'noise': 'loud' is not a number",
                         "Write plain digits", BINNED),
    "unknown observation": ({"observation": "Z"}, ROW + "observation 'Z' is not one of z",
                            "add the observation to those of the controller",
                            {"observations": ("z", "y")}),
    "wildcard": ({"observation": "*"}, ROW + "observation '*' is reserved", "Choose another", {}),
    "unknown action": ({"action": "aa"}, ROW + "action 'aa' is not one of a", "Did you mean 'a",
                       {"actions": ("a", "aaa")}),
    "no reward": ({"reward": ""}, CELL + "'reward': the reward is missing", "--missing drop", {}),
    "no number": ({"reward": "ten"}, CELL + "'reward': 'ten' is not a number",
                  "Write plain digits", {}),
    "not finite": ({"reward": "inf"}, CELL + "'reward': reward is inf", "Write the amount", {}),
    "too large": ({"reward": "1e200"}, ROW + "reward 1e+200 is too large", "larger unit", {}),
    "reward without action": ({"action": "", "reward": "1"}, ROW + "there is a reward but no",
                              "Write what was done", {}),
    "no flag": ({"terminated": "maybe"}, CELL + "'terminated': 'maybe' is not true",
                "Write true or false", {}),
    "end without action": ({"action": "", "reward": "", "terminated": "true"},
                           ROW + "marked terminated, but has no action", "drop this row", {}),
    "no steps": ({"episode": "8", "action": "", "reward": ""},
                 "row 3 (episode 8): the episode has no steps", "Leave it out", {}),
    "long label": ({"episode": "8" * 10_000, "observation": ""},
                   f"row 3 (episode {'8' * 57}...): the observation is missing", "Fill it in", {}),
    "label that moves the cursor": ({"episode": "\x1b[2J\u202e", "observation": ""},
                                    "row 3 (episode \\x1b[2J\\u202e): the observation is missing",
                                    "Fill it in", {}),
    "long value": ({"reward": "x" * 10_000}, CELL + f"'reward': '{'x' * 57}...' is not",
                   "Write plain digits", {}),
}  # fmt: skip


def written(path, rows: list[dict[str, str]], plain: set[str]) -> str:
    """The rows as CSV, TSV or NDJSON, where numbers are numbers and what is empty is left out."""
    if path.suffix == ".ndjson":
        return "".join(
            json.dumps({k: float(v) if k in plain else v for k, v in row.items() if v != ""}) + "\n"
            for row in rows
        )
    mark = "," if path.suffix == ".csv" else "\t"
    return "".join(mark.join(row) + "\n" for row in [COLUMNS, *(r.values() for r in rows)])
