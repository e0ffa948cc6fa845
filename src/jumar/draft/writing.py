"""A draft as files that a person reads and corrects: the project, and the rule."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from jumar.core.text import counted
from jumar.draft.drafting import Draft
from jumar.draft.rule import Starter, patterns
from jumar.policy.files.entries import CONTROLLER
from jumar.project import PROJECT

LIMITS = {
    "rewards": "the least and the most a row pays in this log; is that all that can happen?",
    "horizon": "rows of the longest episode; can none have more?",
}
_TABLES = ("columns", "bins", "prices")


def project_text(made: Draft, log: str, rule: str | None) -> str:
    """The project file, with a comment that says why on every line."""
    lines = [
        "# What jumar knows about this log. Correct what is wrong, then run: jumar check",
        f"format = {toml(PROJECT.tag)}",
        f"log = {toml(log)}",
    ]
    if rule and made.window > 1:
        lines += [
            f"# {_one_line(rule)} looks only at what is seen now. But what was done also depends",
            "# on what was seen before. Until a rule with a memory is written, it is estimated:",
            'policy = "estimate"',
            _line("window", made.window, "observations that are remembered"),
        ]
    elif rule:
        lines.append(_line("policy", rule, "the rule that made the log; see the file"))
    elif any(proposal.part == "propensity" for proposal in made.proposals):
        lines.append(
            "# No policy is needed: the column of propensities says how likely each action was."
        )
    elif any(proposal.part == "behavior" for proposal in made.proposals):
        lines.append(_line("policy", "estimate", "of everybody who acted, read off the log"))
    else:
        lines.append('# policy = "rule.toml"   # the rule that made the log')
    flat = [item for item in made.settings if item.key not in _TABLES]
    lines += [_line(item.key, item.value, item.why) for item in flat]
    keys = {item.key for item in flat}
    if "unit" not in keys:
        lines.append('# unit = "EUR"   # of the rewards')
    if made.limits:
        lines.append("# Confirm, and remove the mark in front: then no answer says 'if'.")
    for key, value in made.limits.items():
        lines.append(f"# {_line(key, value, LIMITS[key])}")
    reasons: dict[str, list[str]] = {}
    for proposal in made.proposals:
        reasons.setdefault(proposal.part, []).append("; ".join(proposal.reasons))
    for item in made.settings:
        if item.key not in _TABLES:
            continue
        lines += ["", f"[{item.key}]" + (f"   # {_one_line(item.why)}" if item.why else "")]
        for key, value in item.value.items():
            why = " / ".join(reasons.get(key, ())) if item.key == "columns" else ""
            lines.append(_line(key, value, why))
        if item.key == "columns":
            lines += [_unused(name, made.aside.get(name, "")) for name in made.others]
    return "\n".join(lines) + "\n"


def _unused(name: str, why: str) -> str:
    return f"# not used: {_one_line(name)}" + (f"   ({_one_line(why)})" if why else "")


def rule_text(made: Starter, log: str) -> str:
    """The rule as a controller file."""
    actions = made.actions
    lines = [
        f"# A draft of the rule that made {_one_line(log)}: what is usually done on each",
        "# observation. It was read off the log, so it only describes what was done. Replace it by",
        "# the rule as people know it, and then remove the line 'estimated = true'. Until then",
        "# every certificate is weaker.",
        f"format = {toml(CONTROLLER.tag)}",
        "estimated = true",
        f"observations = {toml(list(made.observations))}",
        f"actions = {toml(list(actions))}",
    ]
    if made.exploration > 0:
        slips = made.exploration * (1 - 1 / len(actions))
        lines.append(
            _line(
                "exploration",
                float(f"{made.exploration:.3g}"),
                f"{100 * slips:.2g} % of the time something else is done, any action alike",
            )
        )
    default = made.default
    lines.append(_line("default", actions[default], "where no rule below fits"))
    for z in sorted(made.shares, key=lambda z: -made.seen[z]):  # before patterns that fit them, too
        seen = counted(int(made.seen[z]), "time")
        row = {a: p for a, p in zip(actions, _rounded(made, z), strict=True) if p > 0}
        lines += ["", f"[[rules]]   # seen {seen}; no single action is usual"]
        lines += [f"observation = {toml(made.observations[z])}", f"action = {toml(row)}"]
    usual = {
        name: int(made.usual[z])
        for z, name in enumerate(made.observations)
        if made.seen[z] and z not in made.shares
    }
    for pattern, action, fits in patterns(usual, default):
        seen = counted(sum(int(made.seen[made.observations.index(name)]) for name in fits), "time")
        lines += ["", f"[[rules]]   # seen {seen}", f"observation = {toml(pattern)}"]
        lines.append(f"action = {toml(actions[action])}")
    return "\n".join(lines) + "\n"


def _rounded(made: Starter, z: int) -> list[float]:
    """Frequencies of one observation such that exploration on top gives what was seen: four
    digits, exactly 1 in all, and above 0 for every action that was taken."""
    ε, A = made.exploration, len(made.actions)
    bare = np.clip((made.shares[z] - ε / A) / (1 - ε), 0, None)
    parts = np.round(bare / bare.sum() * 10_000).astype(int)
    if ε == 0:
        parts[(made.shares[z] > 0) & (parts == 0)] = 1
    parts[parts.argmax()] += 10_000 - int(parts.sum())
    return [int(part) / 10_000 for part in parts]


def _line(key: str, value: Any, why: str = "") -> str:
    return f"{_key(key)} = {toml(value)}" + (f"   # {_one_line(why)}" if why else "")


def _one_line(text: str) -> str:
    return " ".join(
        "".join(letter if letter.isprintable() else " " for letter in str(text)).split()
    )


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("_", "a").replace("-", "a").isalnum()
    return key if bare else _text(key)


def toml(value: Any) -> str:
    """A value as TOML writes it.

    >>> print(toml({"a b": [1, 2.5, "x"]}), toml(True))
    { "a b" = [1, 2.5, "x"] } true
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return repr(value)


def _text(text: str) -> str:
    # JSON's escapes are TOML's, but for DEL, which TOML wants escaped as well
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
