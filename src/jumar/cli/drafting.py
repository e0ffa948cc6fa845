"""`jumar init`: look at a log, and draft the project file and a policy."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jumar.cli.app import app, say, tell, working
from jumar.cli.log_options import log_options
from jumar.cli.panels import Command
from jumar.core.errors import ParameterError
from jumar.core.plain import picked

if TYPE_CHECKING:
    from jumar.draft import Draft

PROJECT, RULE = "jumar.toml", "rule.toml"
ENDINGS = {  # of the file that standard input is put into
    "csv": ".csv", "tsv": ".tsv", "parquet": ".parquet", "arrow": ".arrow", "ndjson": ".ndjson",
    "json": ".json", "excel": ".xlsx",
}  # fmt: skip
ASKED = {
    "episode": "Which column says which rows belong together (row: none, each stands alone)?",
    "observation": "Which column says what was seen before that (several: a+b)?",
    "action": "Which column says what was done?",
    "reward": "Which column says what it paid or cost?",
}
ENDED = "Do episodes end by themselves (terminated), or does only the recording stop (cut)?"


@app.command(cls=Command)
@log_options
def init(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="The log to look at; - is standard input.")
    ],
    reading: dict[str, Any],
    policy: Annotated[
        Path | None,
        typer.Option(help="The policy that made the log, if you have it as a file (.toml, .json)."),
    ] = None,
    yes: bool = False,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Look at a log and draft a project: columns, ranges, ends, costs, a policy.

    Writes jumar.toml and rule.toml here. After that, `jumar check` and `jumar improve` need no
    options in this folder.
    """
    from jumar.core.files import write_folder
    from jumar.draft import draft
    from jumar.draft.writing import project_text, rule_text

    files = [PROJECT] if policy else [PROJECT, RULE]
    for name in files:
        if Path(name).exists() and not force:
            raise ParameterError(f"{name}: is here already. Give --force to write over it.")
    with working("Looking", as_json):
        log, saved = _kept(log, reading["file_format"], force)
        made = draft(log, reading)
    asked = not yes and not as_json and sys.stdin.isatty() and sys.stdout.isatty()
    if asked:
        made = _ask(made, log, reading)
    rule = str(policy) if policy else (RULE if made.starter else None)
    made = replace(made, window=1) if policy else made  # its file says what it remembers
    texts = {PROJECT: project_text(made, str(log), rule)}
    if made.starter and not policy:
        texts[RULE] = rule_text(made.starter, str(log))
    written = [*saved, *write_folder(".", texts)]
    again = f"jumar init {shlex.quote(str(log))} --force"
    next_command = again if made.trouble else "jumar check"
    data = {
        "log": str(log),
        "columns": [picked(p, "part column reasons") for p in made.proposals],
        "settings": {item.key: item.value for item in made.settings},
        "told": list(made.told),
        "confirm": dict(made.limits),
        "trouble": made.trouble or None,
        "files": [str(path) for path in written],
        "next": next_command,
    }
    shown = [] if asked else _view(made)
    say(as_json, data, *shown, *(f"Wrote {path}" for path in written))
    if made.trouble:
        tell(f"jumar: this draft cannot be read yet: {made.trouble}")
        tell(f"Next: correct {PROJECT} or the log, or add options that say it:\n  {next_command}")
        raise typer.Exit(1)
    if not as_json:
        drafts = " and ".join(texts)
        say(False, {}, f"Next: read {drafts}, then run\n  {next_command}")


def _kept(log: Path, kind: str | None, force: bool) -> tuple[Path, list[Path]]:
    """The log; standard input and pipes are put into a file here, for the commands that follow."""
    import shutil

    from jumar.log.formats import Spooled, format_of, open_log, spooled
    from jumar.log.formats.places import GZIP, format_by_content, starts

    with spooled(log) as found:
        if not isinstance(found, Spooled):
            return log, []
        kind = kind or format_of(log) or format_by_content(found.path)
        if kind is None or found.path.stat().st_size == 0:
            open_log(found)  # says what is wrong
        ending = "" if kind is None else ENDINGS.get(kind.lower(), "")
        target = Path(f"log{ending}{'.gz' * starts(found.path, 2).startswith(GZIP)}")
        if target.exists() and not force:
            raise ParameterError(f"{target}: is here already. Give --force to write over it.")
        shutil.copyfile(found.path, target)
    return target, [target]


def _ask(made: Draft, log: Path, reading: dict[str, Any]) -> Draft:
    """Ask about the parts and the ends until the draft, read back, is right. An empty answer takes
    what is proposed."""
    from jumar.draft import draft
    from jumar.draft.parts import columns_of
    from jumar.show.terminal import plain_table

    names = list(made.rows[0])
    say(False, {}, plain_table(names, [[*row.values()] for row in made.rows], title="First rows"))
    said = dict(reading)
    while True:
        parts, columns = columns_of(made.proposals), dict(said.get("columns", {}))
        for part, question in ASKED.items():
            usual = "+".join(parts.get(part, ()))
            answer = typer.prompt(question, default=usual or "?").strip()
            if answer not in (usual, "?"):
                columns[part] = tuple(answer.split("+")) if part == "observation" else answer
        said["columns"] = columns
        if made.value("ends"):
            said["ends"] = typer.prompt(ENDED, default=made.value("ends"))
        costs = "Are these numbers costs (less is better)?"
        said["cost"] = typer.confirm(costs, default=bool(made.value("cost")))
        made = draft(log, said)
        say(False, {}, *_view(made))
        if typer.confirm("Is that right?", default=not made.trouble):
            return made


def _view(made: Draft) -> list[Any]:
    from jumar.core.text import printable
    from jumar.show.terminal import plain_table

    rows = [[printable(p.column), p.part, "; ".join(p.reasons)] for p in made.proposals]
    other = [
        [item.key, _short(item.value), item.why] for item in made.settings if item.key != "columns"
    ]
    if made.starter and made.starter.exploration:
        share = f"{made.starter.exploration:.3g}"
        other.append(["exploration", share, "in rule.toml: how often something else is done"])
    if made.window > 1:
        other.append(["policy", "estimate", "what was done also depends on what was seen before"])
        other.append(["window", str(made.window), "so many observations are remembered"])
    told = [*made.told]
    if made.undecided:
        told.append(
            f"Left out: {', '.join(map(printable, made.undecided))}. Was it known before the "
            "action? Then say so: --columns observation=..."
        )
    return [
        plain_table(["column", "part", "why"], rows),
        plain_table(["setting", "value", "why"], other),
        *(["In words:"] if told else []),
        *(f"  {line}" for line in told),
        "",
    ]


def _short(value: Any) -> str:
    if isinstance(value, dict):  # of ranges, where they are cut
        edges = {k: v[1::2] if isinstance(v, tuple) else (v,) for k, v in value.items()}
        return "; ".join(f"{k}: {', '.join(map(str, v))}" for k, v in edges.items())
    return str(value)
