"""The walls of the house: `ls src/jumar` is the architecture, and `ROOMS` its order.

A module imports only from its own folder and from those *above* it in `ROOMS`; inside a folder
nothing goes round in circles. Imports inside functions count; those for type checkers only
(`if TYPE_CHECKING:`) do not.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import jumar

PACKAGE = Path(jumar.__file__).parent

# every folder or module of the package, from the ground up
ROOMS = [
    "core",
    "jumar",  # __init__: the list of public names
    "engines",
    "options",
    "memory",
    "policy",
    "log",
    "project",
    "tally",
    "draft",
    "solve",
    "evidence",
    "algorithms",
    "gate",
    "verdict",
    "pipeline",
    "show",
    "lab",
    "cli",
    "__main__",
]

# a controller can save itself, a result can be handed over; the files know them. Only inside a
# function.
LAZY_UPWARDS = {
    ("policy.acting", "show.program.runtime"),  # it acts as its program does
    ("policy.files", "show.program.table"),
    ("policy.controller", "policy.files"),
    ("algorithms", "gate.selecting"),
    ("verdict.result", "verdict.assessing"),
    ("verdict.result", "show.html"),
    ("verdict.result", "show.outputs"),
    ("verdict.result", "show.plotting"),
    ("verdict.result", "show.terminal"),
}

# The wall of science: what improves a policy cannot look at the truth, not even through others.
MAY_SEE_THE_TRUTH = {"lab", "cli", "__main__"}

# registries load by name; what they name counts as imported
REGISTRIES = {
    "jumar",
    "algorithms",
    "engines",
    "evidence.checking",
}
LOADERS = {"core.lazy", "core.registry"}


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


def room_of(module: str) -> str:
    return module.partition(".")[0]


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
    """Imports that go up the page."""
    return [
        f"{module} imports {target}, whose room does not stand below its own"
        for module, imports in sorted(graph.items())
        for target, lazily in sorted(imports)
        if ROOMS.index(room_of(target)) > ROOMS.index(room_of(module))
        and not (lazily and (module, target) in LAZY_UPWARDS)
    ]


def circles(graph: dict[str, set[Import]]) -> list[str]:
    """Modules that import each other, directly or through others."""
    sorter = TopologicalSorter(
        {
            module: {t for t, lazily in imports if not (lazily and (module, t) in LAZY_UPWARDS)}
            - {t for t, lazily in imports if lazily and module in REGISTRIES}
            for module, imports in graph.items()
        }
    )
    try:
        sorter.prepare()
    except CycleError as circle:
        return list(reversed(circle.args[1]))
    return []


def ways_to_the_truth(graph: dict[str, set[Import]]) -> list[str]:
    """For every module that must not see the truth, a way on which it could."""
    found = []
    for start in sorted(graph):
        if room_of(start) in MAY_SEE_THE_TRUTH:
            continue
        todo, seen = [[start]], {start}
        while todo:
            way = todo.pop()
            if room_of(way[-1]) == "lab":
                found.append(" -> ".join(way))
                break
            package = way[-1].rpartition(".")[0]  # loading a module loads its package
            for target in sorted({t for t, _ in graph[way[-1]]} | ({package} - {""})):
                if target not in seen:
                    seen.add(target)
                    todo.append([*way, target])
    return found


@cache
def the_graph() -> dict[str, set[Import]]:
    return graph_of(SOURCES)


# ---- the walls ----------------------------------------------------------------------------------


def test_every_room_is_on_the_list_and_nothing_lies_in_the_hall():
    assert {room_of(m) for m in SOURCES} == set(ROOMS)


def test_lower_never_imports_higher():
    assert wrong_ways(the_graph()) == []


def test_nothing_goes_round_in_circles():
    assert circles(the_graph()) == []


def test_nothing_that_improves_a_policy_can_see_the_truth():
    assert ways_to_the_truth(the_graph()) == []


def test_the_wall_of_science_is_about_these():
    """In case rooms are renamed: none of these may be declared free to look."""
    assert not MAY_SEE_THE_TRUTH & {
        "core",
        "log",
        "tally",
        "solve",
        "evidence",
        "algorithms",
        "gate",
        "verdict",
    }


@pytest.mark.parametrize(
    "module",
    ["pomdp", "models", "simulation", "belief", "evaluation", "optimality", "chain", "training"],
)
def test_the_truth_is_all_of_these(module):
    assert f"lab.truth.{module}" in SOURCES


def test_exceptions_are_still_needed():
    needed = {(m, t) for m, imports in the_graph().items() for t, _ in imports}
    assert needed >= LAZY_UPWARDS


# the stand-alone program is a file of its own, which shares nothing with the house
OUTSIDE = {"show.program.runtime"}


@pytest.mark.slow
def test_a_public_class_has_a_name_of_its_own():
    named: dict[str, list[str]] = {}
    for module, source in SOURCES.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named.setdefault(node.name, []).append(module)
    twice = {name: sorted(set(found) - OUTSIDE) for name, found in named.items()}
    assert {name: found for name, found in twice.items() if len(found) > 1} == {}


def calls(source: str) -> set[str]:
    return {ast.unparse(n.func) for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call)}


@pytest.mark.slow
def test_only_registries_load_modules_by_name():
    loaders = {"import_module", "importlib.import_module", "__import__", "exec", "eval"}
    assert {m for m, source in SOURCES.items() if calls(source) & loaders} == LOADERS


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
    assert set(jumar._PUBLIC).isdisjoint(ROOMS)


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
    assert (
        not loaded_by("import jumar.pipeline, jumar.log.reading, jumar.lab.truth.models, jumar.cli")
        & heavy
    )


# ---- the checker itself -------------------------------------------------------------------------


def fake(module: str, source: str) -> dict[str, set[Import]]:
    """The real graph with one module's source replaced."""
    return the_graph() | {module: imports_of(module, textwrap.dedent(source), set(SOURCES))}


@pytest.mark.parametrize(
    ("module", "source", "target"),
    [
        ("core.errors", "from jumar.log.files import LogFile", "log.files"),
        ("core.errors", "import jumar.log.files", "log.files"),
        ("core.errors", "from jumar.log import files", "log.files"),
        ("memory", "def f():\n    from jumar.log.files import a", "log.files"),
        ("memory", "class A:\n    def f(self):\n        import jumar.log.files", "log.files"),
        ("memory.base", "from jumar.policy.files import load_controller", "policy.files"),
        ("tally.history", "from jumar import simulate", "lab.truth.simulation"),  # a public name
        ("core.arrays", "if TYPE_CHECKING:\n    pass\nelse:\n    from jumar import cli", "cli"),
        ("core.arrays", "try:\n    import jumar.cli\nexcept ImportError:\n    pass", "cli"),
    ],
)
def test_an_import_the_wrong_way_is_found(module, source, target):
    assert wrong_ways(fake(module, source)) == [
        f"{module} imports {target}, whose room does not stand below its own"
    ]


def test_a_circle_is_found():
    assert circles(fake("core.errors", "from jumar.core.names import check_names"))


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
    assert wrong_ways(fake("core.errors", source)) == []


@pytest.mark.parametrize(
    ("module", "source", "way"),
    [
        (
            "solve.solver",
            "from jumar.lab.truth.pomdp import Pomdp",
            "solve.solver -> lab.truth.pomdp",
        ),
        (
            "algorithms.spibb",
            "from jumar import evaluate",
            "algorithms.spibb -> lab.truth.evaluation",
        ),
        (
            "algorithms",
            "PLACE = 'jumar.lab.truth.models.paper'",
            "algorithms -> lab.truth.models.paper",
        ),
        (
            "solve.linear",
            "def f():\n    from jumar import models",
            "solve.linear -> lab.truth.models",
        ),
        (
            "algorithms",
            "from jumar.lab.truth import chain",
            "algorithms.spibb -> algorithms -> lab.truth.chain",
        ),
    ],
)
def test_a_look_at_the_truth_is_found_directly_and_through_others(module, source, way):
    ways = ways_to_the_truth(fake(module, source))
    assert way in ways
    through_others = {w.partition(" -> ")[0] for w in ways}
    assert "pipeline" in through_others


def test_a_relative_import_is_not_overlooked():
    with pytest.raises(AssertionError, match="relative import"):
        imports_of("core.errors", "from . import cli", set(SOURCES))
