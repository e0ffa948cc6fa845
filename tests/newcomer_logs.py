"""Logs as newcomers bring them: a desk that answers calls, a machine that is watched, a clerk who
sees more than the log."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable
from pathlib import Path

COLUMNS = "episode=call,observation=topic,action=answer,reward=points"
PAYS = {
    ("billing", "bot"): 4,
    ("billing", "human"): 1,
    ("repair", "bot"): 0,
    ("repair", "human"): 3,
}
Paid = Callable[[str, str, int], float]


def pays(topic: str, answer: str, number: int) -> float:
    """The bot is good at bills, people at repairs."""
    return PAYS[topic, answer]


def alike(topic: str, answer: str, number: int) -> float:
    """Whoever answers, it pays the same."""
    return 2.0


def turning(topic: str, answer: str, number: int) -> float:
    """Bills pay less and less."""
    return PAYS[topic, answer] - number / 200


def desk(
    path: Path,
    *,
    calls: int = 400,
    paid: Paid = pays,
    bot: float = 0.5,
    cost: bool = False,
    chances: bool = False,
    name: str = "points",
    noise: float = 0,
    seed: int = 1,
) -> None:
    """One step per call: the topic is heard, and the bot answers with a chance of `bot`, else a
    human. `cost` writes what is lost; `chances` writes with what chance the answer was chosen."""
    rng = random.Random(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["call", "topic", "answer", name, *(["chance"] if chances else [])])
        for call in range(calls):
            topic = rng.choice(["billing", "repair"])
            answer = "bot" if rng.random() < bot else "human"
            points = paid(topic, answer, call) + rng.gauss(0, noise)
            points = 4 - points if cost else points
            chance = [bot if answer == "bot" else 1 - bot] if chances else []
            writer.writerow([call, topic, answer, points, *chance])


def clerk(path: Path, *, calls: int = 600, seed: int = 1) -> None:
    """The clerk hears whether the caller is angry and sends angry ones to a human, who calms them
    for little. The log shows neither, so humans look bad; in truth the bot is worse for them."""
    rng = random.Random(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["call", "topic", "answer", "points"])
        for call in range(calls):
            angry = rng.random() < 0.5
            answer = "human" if rng.random() < (0.9 if angry else 0.1) else "bot"
            points = (1 if answer == "human" else 0) if angry else (3 if answer == "human" else 4)
            writer.writerow([call, "billing", answer, points])


def rule(path: Path, bot: float = 0.5) -> None:
    """The rule of the desk, as a file says it."""
    path.write_text(
        'format = "jumar-controller/1"\nname = "half and half"\n'
        'observations = ["billing", "repair"]\nactions = ["bot", "human"]\n'
        f"default = {{ bot = {bot}, human = {round(1 - bot, 9)} }}\n"
    )


def machine(path: Path, *, records: int = 200, weeks: int = 6, seed: int = 1) -> None:
    """Records of a machine that goes on after they stop: oiling costs nothing and pays."""
    rng = random.Random(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["machine", "week", "topic", "answer", "points"])
        for number in range(records):
            for week in range(weeks):
                answer = rng.choice(["bot", "human"])
                writer.writerow([number, week, "billing", answer, 1 if answer == "bot" else 0])


def shifts(path: Path, *, base: float, days: int = 1500, seed: int = 1) -> None:
    """Every day three calls, each of which pays `base` more than at the desk."""
    rng = random.Random(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["call", "topic", "answer", "points"])
        for day in range(days):
            for _ in range(3):
                topic, answer = rng.choice(["billing", "repair"]), rng.choice(["bot", "human"])
                writer.writerow([day, topic, answer, base + PAYS[topic, answer]])
