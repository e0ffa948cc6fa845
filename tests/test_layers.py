"""The walls of the house. Read `LADDER` to know the architecture.

A module imports only from lines *above* its own; modules on one line do not know each other. A new
module needs a place here, or the first test fails. Imports inside functions count; those for type
checkers only (`if TYPE_CHECKING:`) do not.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import jumar

PACKAGE = Path(jumar.__file__).parent

# room, modules on one line of the ladder
LADDER = [
    ("ground", "jumar errors kernels rules"),
    ("ground", "names arrays files streams documents elimination"),
    ("ground", "iteration linear log_files.source"),
    ("ground", "log_files.arrow log_files.delimited log_files.lines"),
    ("ground", "log_files"),
    ("nouns", "memory.base episodes pomdp"),
    ("nouns", "memory.windows memory.tables memory.products"),
    ("nouns", "memory"),
    ("nouns", "refinement"),
    ("nouns", "controller"),
    ("nouns", "wording"),
    ("files", "model_files controller_files.nodes logs.asking"),
    ("files", "logs.encoding logs.parts logs.writing"),
    ("files", "logs.clocks"),
    ("files", "logs.loading"),
    ("files", "logs.ordering"),
    ("files", "logs.symbols"),
    ("files", "logs.labels"),
    ("files", "logs.assembling"),
    ("files", "logs"),
    ("files", "controller_files.reading"),
    ("files", "controller_files.writing"),
    ("files", "controller_files"),
    ("files", "standalone standalone.runtime"),
    ("estimation", "history validity estimation"),
    ("estimation", "order.walks order.ladder"),
    ("estimation", "order.steps"),
    ("estimation", "order.gaps"),
    ("estimation", "order.testing"),
    ("estimation", "order"),
    ("estimation", "solver bounds"),
    ("estimation", "rewards claims"),
    ("estimation", "gains"),
    ("estimation", "certificate consistency first_visits"),
    ("estimation", "practice"),
    ("estimation", "offpolicy.weights offpolicy.trust"),
    ("estimation", "offpolicy.estimators"),
    ("estimation", "offpolicy.intervals offpolicy.crossfit offpolicy.clusters"),
    ("estimation", "offpolicy.ranges offpolicy.results"),
    ("estimation", "offpolicy.sample"),
    ("estimation", "offpolicy.procedure"),
    ("estimation", "offpolicy"),
    ("estimation", "improvement"),
    ("estimation", "decisions resampling robust"),
    ("algorithms", "algorithms.spibb algorithms.strict"),
    ("algorithms", "algorithms.spibb_leq algorithms.basic algorithms.tilt"),
    ("algorithms", "algorithms"),
    ("selection", "selection.board selection.bets selection.dealing selection.limits"),
    ("selection", "selection.scoring selection.fitting selection.trials"),
    ("selection", "selection.candidates"),
    ("selection", "selection.opinions"),
    ("selection", "selection.proved selection.asymptotic"),
    ("selection", "selection"),
    ("selection", "selection.samples"),
    ("selection", "selection.outcome"),
    ("selection", "marginal.loops"),
    ("selection", "marginal.weights"),
    ("selection", "marginal.judge marginal.contradictions"),
    ("selection", "marginal.refusal"),
    ("selection", "marginal.ladder"),
    ("selection", "marginal"),
    ("selection", "marginal.outcome"),
    ("doing", "checking.base"),
    ("doing", "checking.cuts checking.fit checking.longer checking.nodes checking.propensities"),
    ("doing", "checking.spread"),
    ("doing", "checking.clusters checking.drift checking.order checking.repeats checking.rows"),
    ("doing", "checking"),
    ("doing", "pipeline sensitivity"),
    ("doing", "tables provenance report.figures report.answer"),
    ("doing", "report.tested report.rungs"),
    ("doing", "report.content"),
    ("doing", "differences"),
    ("doing", "drawing.graph"),
    ("doing", "drawing.dot"),
    ("doing", "drawing.svg"),
    ("doing", "drawing"),
    ("doing", "report"),
    ("doing", "outputs"),
    ("truth", "chain pouct"),
    ("truth", "evaluation simulation"),
    ("truth", "belief training planning"),
    ("truth", "optimality sufficiency"),
    ("truth", "models.paper models.fields"),
    ("truth", "models"),
    ("study", "study study.batch study.settings study.store study.workers"),
    ("study", "study.spec study.summary study.tasks"),
    ("study", "study.planner study.prepared study.safety"),
    ("study", "study.datasets study.safety_figure"),
    ("study", "study.figures study.page study.rows study.tables"),
    ("study", "study.report study.runner"),
    ("study", "guarantees guarantees.base"),
    ("study", "guarantees.gates guarantees.memories guarantees.traps"),
    ("study", "guarantees.measuring guarantees.processes"),
    ("study", "guarantees.running"),
    ("study", "guarantees.summary"),
    ("study", "guarantees.figure guarantees.tables"),
    ("study", "guarantees.report"),
    ("command line", "cli.app cli.log_options cli.options"),
    ("command line", "cli.inputs"),
    ("command line", "cli.commands cli.improving cli.showing cli.studies"),
    ("command line", "cli.estimates cli.checks cli.sampling"),
    ("command line", "cli"),
    ("command line", "__main__"),
]

# a controller can save itself, a result can be handed over; the files know them. Only inside a
# function.
LAZY_UPWARDS = {
    ("controller", "controller_files"),
    ("pipeline", "report"),
    ("pipeline", "outputs"),
}

# The wall of science: what improves a policy cannot look at the truth, not even through others.
TRUTH = {module for room, line in LADDER for module in line.split() if room == "truth"} | {
    "pomdp",
    "model_files",
}
MAY_SEE_THE_TRUTH = {"truth", "study", "command line"}

# registries load by name; what they name counts as imported
REGISTRIES = {"jumar", "algorithms", "models"}


class Import(NamedTuple):
    module: str
    lazily: bool  # inside a function


def place_of(path: Path) -> str:
    """`algorithms/spibb.py` is algorithms.spibb, `algorithms/__init__.py` is algorithms."""
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts) or "jumar"


SOURCES = {place_of(path): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
LEVEL = {module: i for i, (_, line) in enumerate(LADDER) for module in line.split()}
ROOM = {module: room for room, line in LADDER for module in line.split()}


def imports_of(module: str, source: str, modules: set[str]) -> set[Import]:
    """What a module of the package imports from the package."""
    return {
        Import(target, lazily)
        for target, lazily in _walk(ast.parse(source), False, module, modules)
        if target != module
    }


def _walk(
    node: ast.AST, lazily: bool, module: str, modules: set[str]
) -> Iterator[tuple[str, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            otherwise = ast.Module(child.orelse, [])
            yield from _walk(otherwise, lazily, module, modules)
            continue
        if isinstance(child, ast.Import):
            for name in child.names:
                if name.name.split(".")[0] == "jumar":
                    yield _resolve(name.name.removeprefix("jumar").strip("."), modules), lazily
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"{module}: relative import; write jumar.… in full"
            if child.module and child.module.split(".")[0] == "jumar":
                inside = child.module.removeprefix("jumar").strip(".")
                for name in child.names:
                    yield _resolve(f"{inside}.{name.name}".strip("."), modules), lazily
        elif module in REGISTRIES - {"jumar"} and isinstance(child, ast.Constant):
            named = str(child.value).partition(":")[0]
            if named.startswith("jumar.") and named.removeprefix("jumar.") in modules:
                yield named.removeprefix("jumar."), True
        inside_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _walk(child, lazily or inside_function, module, modules)


def _resolve(name: str, modules: set[str]) -> str:
    """The module a dotted name lives in; public names of the package lead to where they are."""
    public = jumar._PUBLIC.get(name, "").partition(":")[0]
    if name not in modules and public:
        return public
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name or "jumar"


def graph_of(sources: dict[str, str]) -> dict[str, set[Import]]:
    return {m: imports_of(m, source, set(sources)) for m, source in sources.items()}


def wrong_ways(graph: dict[str, set[Import]]) -> list[str]:
    """Imports that do not go up the page."""
    return [
        f"{module} imports {target}, which does not stand above it in the ladder"
        for module, imports in sorted(graph.items())
        for target, lazily in sorted(imports)
        if LEVEL.get(target, -1) >= LEVEL.get(module, len(LADDER))
        and not (lazily and (module, target) in LAZY_UPWARDS)
    ]


def ways_to_the_truth(graph: dict[str, set[Import]]) -> list[str]:
    """For every module that must not see the truth, a way on which it could."""
    found = []
    for start in sorted(graph):
        if start in TRUTH or ROOM.get(start, "truth") in MAY_SEE_THE_TRUTH:
            continue
        todo, seen = [[start]], {start}
        while todo:
            way = todo.pop()
            if way[-1] in TRUTH:
                found.append(" -> ".join(way))
                break
            package = way[-1].rpartition(".")[0]  # loading a module loads its package
            for target in sorted({t for t, _ in graph[way[-1]]} | ({package} - {""})):
                if target not in seen:
                    seen.add(target)
                    todo.append([*way, target])
    return found


def misplaced(modules: set[str], places: set[str]) -> set[str]:
    """Modules without a place, and places without a module."""
    return modules ^ places


GRAPH = graph_of(SOURCES)


# ---- the walls ----------------------------------------------------------------------------------


def test_every_module_has_a_place_and_every_place_a_module():
    assert misplaced(set(SOURCES), set(LEVEL)) == set()


def test_nobody_stands_on_the_ladder_twice():
    assert len(LEVEL) == sum(len(line.split()) for _, line in LADDER)


def test_lower_never_imports_higher():
    assert wrong_ways(GRAPH) == []


def test_nothing_that_improves_a_policy_can_see_the_truth():
    assert ways_to_the_truth(GRAPH) == []


@pytest.mark.parametrize(
    "module", ["algorithms", "pipeline", "solver", "history", "improvement", "offpolicy"]
)
def test_the_wall_of_science_is_about_these(module):
    """In case rooms are renamed: none of these may be declared free to look."""
    rooms = {ROOM[m] for m in LEVEL if m == module or m.startswith(module + ".")}
    assert not rooms & MAY_SEE_THE_TRUTH


@pytest.mark.parametrize(
    "module",
    [
        "pomdp",
        "models",
        "models.paper",
        "simulation",
        "belief",
        "evaluation",
        "optimality",
        "sufficiency",
        "chain",
        "training",
    ],
)
def test_the_truth_is_all_of_these(module):
    assert module in TRUTH


def test_exceptions_are_still_needed():
    needed = {(m, t) for m, imports in GRAPH.items() for t, _ in imports}
    assert needed >= LAZY_UPWARDS


def calls(source: str) -> set[str]:
    return {ast.unparse(n.func) for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call)}


def test_only_registries_load_modules_by_name():
    loaders = {"import_module", "importlib.import_module", "__import__", "exec", "eval"}
    assert {m for m, source in SOURCES.items() if calls(source) & loaders} == REGISTRIES


def test_only_the_command_line_prints_and_exits():
    talk = {"print", "sys.exit", "exit", "typer.echo", "sys.stdout.write", "sys.stderr.write"}
    assert {m for m, source in SOURCES.items() if calls(source) & talk} <= {
        "cli",
        "cli.app",
        "cli.commands",
        "cli.studies",
        "__main__",
    }


# ---- the door -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", jumar.__all__)
def test_every_public_name_is_there(name):
    assert getattr(jumar, name) is not None


def test_public_names_stand_once_in_every_list():
    tree = ast.parse(SOURCES["jumar"])
    checked = next(n for n in tree.body if isinstance(n, ast.If))
    for_type_checkers = [
        name.asname or name.name
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    ]
    assert sorted(jumar._PUBLIC) == jumar.__all__ == sorted(for_type_checkers)
    assert set(dir(jumar)) >= set(jumar.__all__)


def test_no_public_name_is_hidden_by_a_module_once_that_is_loaded():
    assert set(jumar._PUBLIC) & {m.partition(".")[0] for m in LEVEL} == {"models", "offpolicy"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'imporve'"):
        _ = jumar.imporve


def loaded_by(statement: str) -> set[str]:
    """The modules a fresh interpreter holds after a statement."""
    code = f"{statement}\nimport sys; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_the_door_is_light():
    assert not loaded_by("import jumar") & {"numpy", "scipy", "numba", "pyarrow", "typer", "rich"}


def test_nothing_is_compiled_or_read_until_it_is_needed():
    heavy = {"numba", "scipy", "pyarrow", "matplotlib"}
    assert not loaded_by("import jumar.pipeline, jumar.logs, jumar.models, jumar.cli") & heavy


# ---- the checker itself -------------------------------------------------------------------------


def fake(module: str, source: str) -> dict[str, set[Import]]:
    """The real graph with one module's source replaced."""
    return GRAPH | {module: imports_of(module, textwrap.dedent(source), set(SOURCES))}


@pytest.mark.parametrize(
    ("module", "source", "target"),
    [
        ("errors", "from jumar.names import check_names", "names"),
        ("errors", "import jumar.names", "names"),
        ("errors", "from jumar import names", "names"),
        ("memory", "def f():\n    from jumar.controller import Controller", "controller"),
        ("memory", "class A:\n    def f(self):\n        import jumar.controller", "controller"),
        ("controller", "from jumar.controller_files import load_controller", "controller_files"),
        ("names", "from jumar import arrays", "arrays"),  # on the same line
        ("history", "from jumar import simulate", "simulation"),  # a public name
        ("arrays", "if TYPE_CHECKING:\n    pass\nelse:\n    from jumar import cli", "cli"),
        ("arrays", "try:\n    import jumar.cli\nexcept ImportError:\n    pass", "cli"),
    ],
)
def test_an_import_the_wrong_way_is_found(module, source, target):
    assert wrong_ways(fake(module, source)) == [
        f"{module} imports {target}, which does not stand above it in the ladder"
    ]


@pytest.mark.parametrize(
    "source",
    [
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from jumar.cli import app",
        "import typing\nif typing.TYPE_CHECKING:\n    from jumar.cli import app",
        "import jumarine\nfrom jumarine import cli",
        "text = 'from jumar.cli import app'",
    ],
)
def test_an_import_that_is_none_is_not(source):
    assert wrong_ways(fake("errors", source)) == []


@pytest.mark.parametrize(
    ("module", "source", "way"),
    [
        ("solver", "from jumar.pomdp import Pomdp", "solver -> pomdp"),
        ("algorithms.spibb", "from jumar import evaluate", "algorithms.spibb -> evaluation"),
        ("algorithms", "PLACE = 'jumar.models.paper'", "algorithms -> models.paper"),
        ("linear", "def f():\n    from jumar import models", "linear -> models"),
        ("algorithms", "from jumar import chain", "algorithms.spibb -> algorithms -> chain"),
    ],
)
def test_a_look_at_the_truth_is_found_directly_and_through_others(module, source, way):
    ways = ways_to_the_truth(fake(module, source))
    assert way in ways
    through_others = {w.partition(" -> ")[0] for w in ways}
    assert "pipeline" in through_others


def test_a_relative_import_is_not_overlooked():
    with pytest.raises(AssertionError, match="relative import"):
        imports_of("errors", "from . import cli", set(SOURCES))


def test_a_module_without_a_place_is_found_and_a_place_without_a_module():
    assert misplaced({"errors", "new_room"}, {"errors", "old_room"}) == {"new_room", "old_room"}
