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
    built = {b.name: models.build(b.model, folder=spec.folder) for b in spec.behaviors}
    asked = {
        name: {"episodes": episodes, "simulations": simulations, "model_hash": model_hash(pomdp)}
        for name, pomdp in built.items()
    }
    todo: dict[str, list[str]] = {}  # by model, for behaviors on one model share the result
    for name, wanted in asked.items():
        if any(planned.get(name, {}).get(key) != value for key, value in wanted.items()):
            todo.setdefault(str(wanted["model_hash"]), []).append(name)
    for i, names in enumerate(todo.values()):

        def tell(done: int, before: int = i * episodes) -> None:
            if progress is not None:
                progress(before + done, episodes * len(todo))

        found = plan(
            built[names[0]],
            Pouct(simulations=simulations),
            episodes=episodes,
            seed=spec.seed,
            progress=tell,
        )
        for name in names:
            earned = {"mean": found.mean, "standard_error": found.standard_error}
            planned[name] = {**earned, **asked[name]}
        write_atomically(store.folder / PLANNED, json.dumps(planned, indent=2) + "\n")
