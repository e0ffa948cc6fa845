"""Twelve processes as newcomers bring them, simulated without jumar: what `jumar init`, `check` and
`improve` say of the log of each, beside what the advised policy truly gains in the process.

    python benchmarks/first_hour.py [NAME ...]

A process is a function that plays one episode: it asks `choose` with the columns that are seen
before an action, and writes rows that also hold what came of it.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import math
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Log:
    rows: list[dict] = field(default_factory=list)
    total: float = 0.0
    weight: float = 1.0

    def row(self, paid: float, γ: float, **columns):
        self.rows.append(columns)
        self.total += self.weight * paid
        self.weight *= γ


@dataclass
class Case:
    name: str
    about: str
    episodes: int
    discount: float
    play: Callable
    old: Callable
    answers: list[str]
    action: str
    right: tuple[str, ...]
    policy: str = ""


def weeks(i):
    return i


def pumps(rng, choose, log, i, γ=0.98):
    wear = 0.0
    life = rng.randint(20, 60)
    for week in range(life):
        vib = round(1.0 + 2.5 * wear + rng.gauss(0, 0.35), 2)
        temp = round(45 + rng.gauss(0, 4), 1)
        seen = {"vibration_mm_s": max(vib, 0.1), "temperature": temp}
        a = choose(seen)
        cost = {"keep": 0, "inspect": 80, "repair": 600}[a]
        if a == "inspect":
            wear = max(0, wear - 0.25)
        if a == "repair":
            wear = 0.0
        wear += rng.expovariate(1 / 0.05)
        failed = rng.random() < 0.35 * max(0, wear - 0.6)
        if failed:
            cost += 4000
            wear = 0.0
        log.row(
            -cost,
            γ,
            pump=f"P{i:03d}",
            week=week + 1,
            **seen,
            work=a,
            status="failed" if failed else "ok",
            cost_eur=cost,
        )


def pumps_old(rng):

    def choose(s):
        if rng.random() < 0.12:
            return rng.choice(["keep", "inspect", "repair"])
        return "repair" if s["vibration_mm_s"] > 3.6 else "keep"

    return choose


def fields(rng, choose, log, i, γ=1.0):
    m = rng.uniform(20, 40)
    rain = rng.random() < 0.3
    for day in range(20):
        forecast = "rain" if (rain if rng.random() < 0.85 else not rain) else "dry"
        seen = {"moisture": round(m + rng.gauss(0, 1.5), 1), "forecast": forecast}
        a = choose(seen)
        water = {"none": 0, "light": 6, "heavy": 14}[a]
        m = min(60, m + water + (rng.uniform(8, 16) if rain else 0)) - rng.uniform(3, 6)
        stress = max(0, 22 - m) * 0.8
        flood = max(0, m - 42) * 0.5
        margin = round(5 - stress - flood - water * 0.25, 2)
        m = max(5, m)
        log.row(margin, γ, field=i, day=day, **seen, irrigation=a, water_mm=water, margin=margin)
        rain = rng.random() < 0.3


def fields_old(rng):

    def choose(s):
        if rng.random() < 0.2:
            return rng.choice(["none", "light", "heavy"])
        return "heavy" if s["moisture"] < 24 else "light" if s["moisture"] < 32 else "none"

    return choose


def calls(rng, choose, log, i, γ=1.0):
    wants = rng.choice(["refund", "address", "broken"])
    turn = 0
    while True:
        heard = wants if rng.random() < 0.7 else rng.choice(["refund", "address", "broken"])
        seen = {"heard": heard}
        a = choose(seen)
        turn += 1
        if a == "ask" and turn < 8:
            log.row(
                0, γ, call_id=f"c-{i:05d}", turn=turn, heard=heard, reply=a, solved="", points=""
            )
            continue
        ok = a == "do_" + wants
        pts = (10 if ok else -5) - turn
        log.row(
            pts,
            γ,
            call_id=f"c-{i:05d}",
            turn=turn,
            heard=heard,
            reply=a,
            solved=int(ok),
            points=pts,
        )
        return


def calls_old(rng):

    def choose(s):
        if rng.random() < 0.15:
            return rng.choice(["ask", "do_refund", "do_address", "do_broken"])
        return "do_" + s["heard"]

    return choose


def triage(rng, choose, log, i, γ=1.0):
    nurse = "Ana" if i % 2 else "Ben"
    choose.nurse = nurse
    ill = rng.random() < 0.3
    for visit in range(3):
        fever = "high" if rng.random() < (0.75 if ill else 0.15) else "normal"
        pulse = "fast" if rng.random() < (0.6 if ill else 0.3) else "calm"
        seen = {"fever": fever, "pulse": pulse}
        a = choose(seen)
        if a == "admit":
            harm = 3 + (0 if ill else 2)
            out = "admitted"
        elif a == "test":
            harm = 1
            out = "waiting"
        else:
            harm = 12 if ill and rng.random() < 0.5 else 0
            out = "worse" if harm else "home"
        log.row(
            -harm,
            γ,
            patient=i,
            visit=visit,
            nurse=nurse,
            **seen,
            decision=a,
            outcome=out,
            burden=harm,
        )
        if a != "test":
            return


def triage_old(rng):

    class C:
        nurse = "Ana"

        def __call__(self, s):
            if rng.random() < 0.2:
                return rng.choice(["admit", "test", "home"])
            if self.nurse == "Ana":
                return "admit" if s["fever"] == "high" else "home"
            return "test" if s["fever"] == "high" or s["pulse"] == "fast" else "home"

    return C()


def homes(rng, choose, log, i, γ=1.0):
    v = rng.choice(["v1", "v2"])
    choose.version = v
    t = rng.uniform(15, 19)
    home = rng.random() < 0.7
    for hour in range(12):
        seen = {"room": round(t + rng.gauss(0, 0.3), 1), "presence": "home" if home else "away"}
        a, p = choose(seen, True)
        t += {"off": -0.6, "on": 0.9}[a] + rng.gauss(0, 0.2)
        r = round(-(1.2 if a == "on" else 0) - (max(0, 19 - t) * 1.5 if home else 0), 3)
        log.row(
            r,
            γ,
            home_id=i,
            hour=hour,
            version=v,
            **seen,
            heating=a,
            propensity=round(p, 4),
            reward=r,
        )
        if rng.random() < 0.15:
            home = not home


def homes_old(rng):

    class C:
        version = "v1"

        def __call__(self, s, chance=False):
            on = 0.8 if s["room"] < (18 if self.version == "v1" else 20) else 0.2
            a = "on" if rng.random() < on else "off"
            return (a, on if a == "on" else 1 - on) if chance else a

    return C()


def banner(rng, choose, log, i, γ=1.0):
    seen = {
        "device": rng.choice(["phone", "desktop"]),
        "visitor": rng.choice(["new", "returning"]),
        "hour": rng.randint(0, 23),
    }
    a, p = choose(seen, True)
    rate = {
        ("phone", "A"): 0.05,
        ("phone", "B"): 0.12,
        ("phone", "C"): 0.06,
        ("desktop", "A"): 0.14,
        ("desktop", "B"): 0.05,
        ("desktop", "C"): 0.07,
    }[seen["device"], a]
    click = int(rng.random() < rate)
    log.row(click, γ, **seen, banner=a, probability=p, click=click)


def banner_old(rng):

    def choose(s, chance=False):
        p = {"A": 0.4, "B": 0.3, "C": 0.3}
        a = rng.choices(list(p), list(p.values()))[0]
        return (a, p[a]) if chance else a

    return choose


def weeds(rng, choose, log, i, γ=0.95):
    n = rng.randint(0, 3)
    for year in range(2000, 2000 + rng.randint(8, 25)):
        found = "none" if n == 0 or rng.random() < 0.4 / n else "few" if n < 3 else "many"
        a = choose({"survey": found})
        cost = {"nothing": 0, "spray": 20, "burn": 45}[a]
        if a == "spray" and rng.random() < 0.55:
            n = max(0, n - 1)
        if a == "burn":
            n = max(0, n - 2)
        if n and rng.random() < 0.35:
            n = min(4, n + 1)
        if not n and rng.random() < 0.06:
            n = 1
        loss = [0, 10, 25, 60, 90][n]
        log.row(
            -(cost + loss),
            γ,
            plot=f"plot {i}",
            year=year,
            survey=found,
            treatment=a,
            infestation=["absent", "light", "medium", "heavy", "severe"][n],
            treatment_cost=cost,
            crop_loss=loss,
            total_cost=cost + loss,
        )


def weeds_old(rng):

    def choose(s):
        if rng.random() < 0.15:
            return rng.choice(["nothing", "spray", "burn"])
        return {"none": "nothing", "few": "nothing", "many": "burn"}[s["survey"]]

    return choose


def shop(rng, choose, log, i, γ=0.99):
    stock = rng.randint(0, 12)
    for day in range(30):
        weekday = day % 7
        a = choose(
            {"stock": stock, "weekday": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"][weekday]}
        )
        order = {"0": 0, "5": 5, "10": 10}[str(a)]
        demand = min(15, int(rng.expovariate(1 / (7 if weekday in (4, 5) else 3))))
        sold = min(stock + order, demand)
        profit = round(
            sold * 4
            - order * 1.5
            - (2 if order else 0)
            - 0.3 * (stock + order - sold)
            - (demand - sold) * 1.0,
            2,
        )
        log.row(
            profit,
            γ,
            store=i,
            date=f"2025-{1 + day // 28:02d}-{1 + day % 28:02d}",
            stock=stock,
            weekday=["mon", "tue", "wed", "thu", "fri", "sat", "sun"][weekday],
            ordered=order,
            demand=demand,
            sold=sold,
            profit=profit,
        )
        stock = min(20, stock + order - sold)


def shop_old(rng):

    def choose(s):
        if rng.random() < 0.2:
            return rng.choice(["0", "5", "10"])
        return "10" if s["stock"] <= 3 else "0"

    return choose


def battery(rng, choose, log, i, γ=1.0):
    soc = 2
    for hour in range(24):
        price = round(30 + 25 * math.sin((hour - 8) / 24 * 2 * math.pi) + rng.gauss(0, 8), 1)
        seen = {"price": price, "charge_level": soc, "hour": hour}
        a = choose(seen)
        r = 0.0
        if a == "charge" and soc < 4:
            soc += 1
            r = -price
        elif a == "sell" and soc > 0:
            soc -= 1
            r = 0.9 * price
        log.row(r, γ, day=i, **seen, command=a, revenue=round(r, 2))


def battery_old(rng):

    def choose(s):
        if rng.random() < 0.15:
            return rng.choice(["charge", "wait", "sell"])
        return "charge" if s["price"] < 20 else "sell" if s["price"] > 45 else "wait"

    return choose


def ward(rng, choose, log, i, γ=1.0):
    severe = rng.random() < 0.4
    score = "high" if rng.random() < (0.6 if severe else 0.4) else "low"
    choose.severe = severe
    a = choose({"score": score})
    recovered = rng.random() < (
        (0.5 if a == "drug" else 0.3) if severe else 0.9 if a == "drug" else 0.92
    )
    log.row(int(recovered), γ, patient=i, score=score, treatment=a, recovered=int(recovered))


def ward_old(rng):

    class C:
        severe = False

        def __call__(self, s):
            return "drug" if rng.random() < (0.9 if self.severe else 0.1) else "none"

    return C()


def robot(rng, choose, log, i, γ=0.95):
    x = rng.randint(0, 5)
    goal = 4
    for t in range(25):
        sensor = (
            "goal"
            if x == goal
            else "left wall"
            if x == 0
            else "right wall"
            if x == 6
            else "corridor"
        )
        if rng.random() < 0.05:
            sensor = "corridor"
        a = choose({"sensor": sensor})
        if a == "pick":
            ok = x == goal
            log.row(
                10 if ok else -3,
                γ,
                run=i,
                t=t,
                sensor=sensor,
                move=a,
                reward=10 if ok else -3,
                done=ok,
            )
            if ok:
                return
            continue
        if rng.random() < 0.9:
            x = min(6, x + 1) if a == "right" else max(0, x - 1)
        log.row(-1, γ, run=i, t=t, sensor=sensor, move=a, reward=-1, done=False)


def robot_old(rng):
    last = {"d": "right"}

    def choose(s):
        if rng.random() < 0.2:
            return rng.choice(["left", "right", "pick"])
        if s["sensor"] == "goal":
            return "pick"
        if s["sensor"] == "right wall":
            last["d"] = "left"
        if s["sensor"] == "left wall":
            last["d"] = "right"
        return last["d"]

    return choose


PRESS = """format = "jumar-controller/1"
name = "inspect after two alarms"
observations = ["quiet", "alarm"]
actions = ["run", "inspect"]
exploration = 0.2

[memory]
nodes = ["calm", "alarmed"]
moves = [{ observation = "alarm", to = "alarmed" }, { observation = "quiet", to = "calm" }]

[[rules]]
node = "alarmed"
observation = "alarm"
action = "inspect"

[[rules]]
action = "run"
"""


def press(rng, choose, log, i, γ=0.95):
    bad = False
    for t in range(15):
        alarm = "alarm" if rng.random() < (0.8 if bad else 0.25) else "quiet"
        a = choose({"signal": alarm})
        if a == "inspect":
            r = -2
            bad = False
        else:
            r = 1 - (3 if bad else 0)
        if rng.random() < 0.12:
            bad = True
        log.row(r, γ, shift=i, part=t, signal=alarm, work=a, result=r)


def press_old(rng):
    node = {"n": "calm"}

    def choose(s):
        z = s["signal"]
        rule = "inspect" if node["n"] == "alarmed" and z == "alarm" else "run"
        node["n"] = "alarmed" if z == "alarm" else "calm"
        return rng.choice(["run", "inspect"]) if rng.random() < 0.2 else rule

    return choose


C = Case
CASES = {
    c.name: c
    for c in [
        C(
            "pumps",
            "weekly vibration readings of pumps",
            520,
            0.98,
            pumps,
            pumps_old,
            ["--cost"],
            "work",
            ("adopt-if", "trial"),
        ),
        C(
            "fields",
            "irrigation with a forecast nobody used",
            600,
            1.0,
            fields,
            fields_old,
            [],
            "irrigation",
            ("adopt-if", "trial"),
        ),
        C(
            "calls",
            "help desk, outcome on last rows",
            3000,
            1.0,
            calls,
            calls_old,
            [],
            "reply",
            ("adopt-if", "trial"),
        ),
        C(
            "triage",
            "two nurses with rules of their own",
            2500,
            1.0,
            triage,
            triage_old,
            ["--cost"],
            "decision",
            ("adopt-if", "trial", "keep"),
        ),
        C(
            "homes",
            "thermostats, propensities, versions",
            1500,
            1.0,
            homes,
            homes_old,
            [],
            "heating",
            ("adopt-if", "trial"),
        ),
        C(
            "banner",
            "a row each, propensities",
            20000,
            1.0,
            banner,
            banner_old,
            [],
            "banner",
            ("adopt-if",),
        ),
        C(
            "weeds",
            "yearly surveys, status after treatment",
            700,
            0.95,
            weeds,
            weeds_old,
            ["--cost"],
            "treatment",
            ("adopt-if", "trial"),
        ),
        C(
            "shop",
            "stock and orders, parts of profit",
            400,
            0.99,
            shop,
            shop_old,
            [],
            "ordered",
            ("adopt-if", "trial"),
        ),
        C(
            "battery",
            "prices and charge",
            900,
            1.0,
            battery,
            battery_old,
            [],
            "command",
            ("adopt-if", "trial"),
        ),
        C(
            "ward",
            "doctors saw more than the log",
            3000,
            1.0,
            ward,
            ward_old,
            [],
            "treatment",
            ("trial", "do-not-rely", "keep"),
        ),
        C(
            "robot",
            "a corridor, cut off at 25",
            1500,
            0.95,
            robot,
            robot_old,
            [],
            "move",
            ("adopt-if", "trial"),
        ),
        C(
            "press",
            "a rule with memory, given as a file",
            1200,
            0.95,
            press,
            press_old,
            [],
            "work",
            ("adopt-if", "trial"),
            PRESS,
        ),
    ]
}


def make(case: Case, folder: Path, seed: int = 1) -> float:
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    log = Log()
    returns = []
    for i in range(case.episodes):
        log.total, log.weight = (0.0, 1.0)
        case.play(rng, case.old(rng), log, i, case.discount)
        returns.append(log.total)
    with (folder / "log.csv").open("w", newline="") as f:
        w = csv.DictWriter(f, list(log.rows[0]))
        w.writeheader()
        w.writerows(log.rows)
    if case.policy:
        (folder / "policy.toml").write_text(case.policy)
    return sum(returns) / len(returns)


@dataclass
class Advised:
    """A program that jumar wrote, in the place of a rule."""

    agent: object

    def __call__(self, seen, chance=False):
        told = {**seen, **{k: v for k, v in vars(self).items() if k != "agent"}}
        action = self.agent.act(told if len(told) > 1 else next(iter(seen.values())))
        return (action, 1.0) if chance else action


def truth(
    case: Case, program: Path | None, discount: float, episodes: int = 4000
) -> tuple[float, float]:
    """Mean return and its standard error, of the old policy or of a program that jumar wrote."""
    rng, log, returns = random.Random(7), Log(), []
    if program:
        spec = importlib.util.spec_from_file_location("improved", program)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    for i in range(episodes):
        log.total, log.weight, log.rows = 0.0, 1.0, []
        new = Advised(module.start(seed=rng.randrange(2**32))) if program else None
        case.play(rng, new or case.old(rng), log, i, discount)
        returns.append(log.total)
    n, mean = len(returns), sum(returns) / len(returns)
    return mean, math.sqrt(sum((x - mean) ** 2 for x in returns)) / n


def asked(folder: Path, case: Case) -> tuple[dict, list[str]]:
    """What three commands say of the log in a folder, as a new user would type them."""
    policy = ["--policy", "policy.toml"] if case.policy else []
    codes = []
    for words in (["init", "log.csv", *policy, "--yes"], ["check"], ["improve", "-o", "out"]):
        done = subprocess.run(
            [sys.executable, "-m", "jumar", *words], cwd=folder, capture_output=True, text=True
        )
        codes.append(f"{words[0]} {done.returncode}")
    certificate = folder / "out" / "certificate.json"
    return json.loads(certificate.read_text()) if certificate.exists() else {}, codes


def main(*names: str) -> None:
    print(
        f"{'log':8} {'verdict':10} {'gain':>8} {'90 % interval':>18} {'true gain':>10} {'error':>6}"
    )
    right = 0
    for name in names or CASES:
        case = CASES[name]
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            make(case, folder)
            said, codes = asked(folder, case)
            word = said.get("verdict", {}).get("word", "; ".join(codes))
            gain = said.get("gain") or {}
            discount = said.get("discount", case.discount)
            new = truth(case, folder / "out" / "improved.py", discount)
            old = truth(case, None, discount)
        low, high = gain.get("interval") or (math.nan, math.nan)
        told = gain.get("per_episode") or math.nan
        true, error = new[0] - old[0], math.hypot(new[1], old[1])
        right += word in case.right
        line = f"{name:8} {word:10} {told:8.3g} {low:8.3g} to {high:6.3g} {true:10.3g} {error:6.2g}"
        print(line, flush=True)
    print(f"{right} of {len(names or CASES)} verdicts are right")


if __name__ == "__main__":
    main(*sys.argv[1:])
