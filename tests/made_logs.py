"""Logs as people bring them, made without jumar: pumps, a workshop, a lamp and a button."""

from __future__ import annotations

import csv
import random
from pathlib import Path

RUN, GREASE, REPLACE = "run", "grease", "replace"
PUMP_COLUMNS = "episode=pump,step=week,observation=vibration,action=done,reward=cost"
RANGES = "vibration=low:6:high"

PUMP_RULE = """\
format = "jumar-controller/1"
name = "replace above six"
observations = ["low", "high"]
actions = ["run", "grease", "replace"]
exploration = EXPLORATION
default = "run"

[[rules]]
observation = "high"
action = "replace"
"""


def pump_rule(exploration: float) -> str:
    """The rule of `pumps`, as a file says it."""
    return PUMP_RULE.replace("EXPLORATION", str(exploration))


def pumps(
    path: Path,
    *,
    slip: float,
    pumps: int = 80,
    weeks: int = 30,
    above: str = REPLACE,
    seed: int = 1,
) -> list[float]:
    """Every week a vibration is read; above six the pump is replaced, or what `above` says. In a
    share `slip` of the weeks anything is done. Returns what each pump cost, discounted by .95."""
    rng = random.Random(seed)
    totals = []
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["pump", "week", "vibration", "done", "cost"])
        for pump in range(pumps):
            wear, total = rng.random() * 5, 0.0
            for week in range(weeks):
                vibration = max(0.0, wear + rng.gauss(1, 0.3))
                done = above if vibration >= 6 else RUN
                if rng.random() < slip:
                    done = rng.choice([RUN, GREASE, REPLACE])
                cost = {RUN: 0, GREASE: 200, REPLACE: 900}[done]
                wear = 0.0 if done == REPLACE else wear + rng.random()
                if wear > 9:
                    cost, wear = cost + 4000, 0.0
                writer.writerow([pump, week, round(vibration, 3), done, cost])
                total += 0.95**week * cost
            totals.append(total)
    return totals


WORKSHOP_RULE = """\
format = "jumar-controller/1"
name = "mostly wait"
observations = ["quiet", "noisy"]
actions = ["wait", "clean", "oil", "tighten"]

[[rules]]
observation = "quiet"
action = "wait"

[[rules]]
observation = "noisy"
action = { wait = 0.4, clean = 0.2, oil = 0.2, tighten = 0.2 }
"""


def workshop(path: Path, *, episodes: int = 600, seed: int = 1) -> None:
    """A noisy machine earns less if one waits; cleaning, oiling and tightening do the same."""
    rng = random.Random(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["episode", "observation", "action", "reward", "terminated"])
        for episode in range(episodes):
            writer.writerow([episode, "quiet", "wait", 1, "false"])
            done = rng.choices(["wait", "clean", "oil", "tighten"], [4, 2, 2, 2])[0]
            earned = (2 if done == "wait" else 8) + rng.gauss(0, 1)
            writer.writerow([episode, "noisy", done, round(earned, 3), "true"])


def two_presses(path: Path, *, episodes: int = 300, seed: int = 1) -> None:
    """Pressing pays 5, once. Nobody who sees only the lamp can tell the first step from the second,
    and pressing is usual in the first only: it seems to go on and on."""
    rng = random.Random(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["episode", "observation", "action", "reward", "terminated"])
        for episode in range(episodes):
            for step, chance in enumerate((0.9, 0.1)):
                done = "press" if rng.random() < chance else "rest"
                paid = 5 if done == "press" and step == 0 else 0
                writer.writerow([episode, "lamp", done, paid, "true" if step else "false"])
