"""The online planner's value on every model of a study: the reference line of its figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from jumar import models
from jumar.core.errors import ParameterError, StudyError
from jumar.core.files import write_atomically
from jumar.lab.study.spec import StudySpec
from jumar.lab.study.store import Store
from jumar.lab.truth.model_files import model_hash
from jumar.lab.truth.planning import Pouct, plan

PLANNED = "planner.json"


def read_planned(store: Store) -> dict[str, dict[str, Any]]:
    """The online planner's results by behavior, if it was run."""
    path = store.folder / PLANNED
    if not path.exists():
        return {}
    try:
        found: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8"))
        return {name: dict(entry) for name, entry in found.items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise StudyError(f"{path}: cannot be read: {error}. Delete it and run again.") from error


def run_planner(
    spec: StudySpec,
    store: Store,
    *,
    episodes: int,
    simulations: int,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Play every model of the study with the online planner, unless its result is there already."""
    if episodes < 2:
        raise ParameterError(f"planner: {episodes} episodes; a standard error needs at least 2.")
    planned = read_planned(store)
    todo: dict[str, list[str]] = {}  # by model, for behaviors on one model share the result
    built = {b.name: models.build(b.model, folder=spec.folder) for b in spec.behaviors}
    asked = {"episodes": episodes, "simulations": simulations}
    for name, pomdp in built.items():
        wanted = {**asked, "model_hash": model_hash(pomdp)}
        if not wanted.items() <= planned.get(name, {}).items():
            todo.setdefault(str(wanted["model_hash"]), []).append(name)
    for i, (known, names) in enumerate(todo.items()):

        def tell(done: int, before: int = i * episodes) -> None:
            if progress is not None:
                progress(before + done, episodes * len(todo))

        settings = Pouct(simulations=simulations)
        pomdp = built[names[0]]
        found = plan(pomdp, settings, episodes=episodes, seed=spec.seed, progress=tell)
        earned = {"mean": found.mean, "standard_error": found.standard_error}
        planned |= {name: {**earned, **asked, "model_hash": known} for name in names}
        write_atomically(store.folder / PLANNED, json.dumps(planned, indent=2) + "\n")
