"""Every example in a docstring or on a page does what it says."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import pkgutil
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest

import jumar
from jumar.lab.study.spec import load_study
from jumar.lab.truth.model_files import load_model
from jumar.options import in_files
from jumar.policy.files import load_controller
from jumar.project import load_project
from walks import WALKED, said_by

ROOT = Path(jumar.__file__).parents[2]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = [
    "jumar",
    *(
        module.name
        for module in pkgutil.walk_packages(jumar.__path__, "jumar.")
        if not module.name.endswith("__main__")  # importing it runs the command line
    ),
]
NEEDS = {"jumar.lab.envs": "gymnasium", "jumar.log.minari": "minari"}  # what examples there use
BLOCK = re.compile(r"^```(?:python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples_on(text: str, name: str = "page") -> doctest.DocTest:
    """All >>> examples of a page, in the order of the page; they share their names."""
    kept, end = [], 0
    for block in BLOCK.finditer(text):
        # blank lines instead of prose: the line numbers of a failure are those of the page
        kept.append("\n" * text.count("\n", end, block.start(1)))
        kept.append(block[1] if ">>>" in block[1] else "\n" * block[1].count("\n"))
        end = block.end(1)
    return doctest.DocTestParser().get_doctest("".join(kept), {}, name, name, 0)


def run(test: doctest.DocTest) -> tuple[doctest.TestResults, str]:
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
    return runner.run(test, out=report.append), "".join(report)


PAGES = {
    str(path.relative_to(ROOT)): examples_on(path.read_text(), str(path.relative_to(ROOT)))
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if path not in WALKED  # test_tutorials.py follows these, commands and all
}


@pytest.mark.parametrize("name", MODULES)
def test_module(name):
    for place, library in NEEDS.items():
        if name.startswith(place):
            pytest.importorskip(library, reason=f"{library} is not installed")
    module = importlib.import_module(name)
    results = doctest.testmod(module, optionflags=OPTIONS)
    assert results.failed == 0


@pytest.mark.parametrize("page", [page for page, test in PAGES.items() if test.examples])
def test_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # an example that writes a file writes it here
    results, report = run(PAGES[page])
    assert results.failed == 0, report


def test_the_readme_has_examples():
    assert PAGES["README.md"].examples


def test_public_functions_and_types_have_an_example_or_at_least_a_sentence():
    """Everything behind `jumar.__all__` is documented."""
    silent = [name for name in jumar.__all__ if not (getattr(jumar, name).__doc__ or "").strip()]
    assert silent == []


def test_the_reference_has_every_public_name_once():
    pages = sorted((ROOT / "docs" / "reference").glob("*.md"))
    text = "\n".join(page.read_text() for page in pages)
    placed = re.findall(r"^\.\. auto(?:function|class):: jumar\.(\w+)$", text, re.MULTILINE)
    modules = ["models", "offpolicy"]  # with all that is in them
    assert sorted([*placed, *modules]) == sorted(jumar.__all__)
    for module in modules:
        assert f".. automodule:: {getattr(jumar, module).__name__}\n" in text


def test_nothing_that_is_installed_names_a_file_of_the_docs():
    """The wheel has no docs/: a message says the fact, and where needed the title of the page."""
    package = Path(jumar.__file__).parent
    kinds = ("*.py", "*.html", "*.js", "*.json", "*.toml")
    files = [path for kind in kinds for path in package.rglob(kind)]
    assert [path for path in files if "docs/" in path.read_text(encoding="utf-8")] == []


def test_the_page_about_project_files_has_every_key_once(tmp_path):
    page = (ROOT / "docs" / "project.md").read_text()
    cells = re.findall(r"^\| (`[^|]+) \|", page, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == sorted(in_files())
    shown = re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1]
    (tmp_path / "jumar.toml").write_text(shown)
    assert load_project(tmp_path).rest["step_length"] == "7d"


# ---- the front page -----------------------------------------------------------------------------

README = (ROOT / "README.md").read_text()


def test_the_first_screen_has_the_picture_of_the_page_and_the_three_commands():
    first = README[: README.index("\n## ")].splitlines()[:20]
    assert any("docs/pictures/report.png" in line for line in first)
    commands = [line.split("#")[0].strip() for line in first if line.startswith("jumar ")]
    assert commands == ["jumar init log.csv", "jumar check", "jumar improve -o out"]
    picture = ROOT / "docs" / "pictures" / "report.png"
    assert picture.stat().st_size < 200_000


def test_the_three_commands_of_the_first_screen_work(tmp_path, monkeypatch):
    shutil.copy(ROOT / "examples" / "voicemail" / "log.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    for command in ("init log.csv --yes", "check", "improve -o out"):
        said_by(command.split())
    assert (tmp_path / "out" / "report.html").exists()


def test_the_picture_shows_what_the_demo_says():
    """If not, and the change is meant: make demo, then docs/pictures/make.py out/voicemail."""
    found = re.search(r"!\[([^]]+)\]\(docs/pictures/report.png\)", README)[1]
    command = re.search(r"^jumar (improve examples/voicemail.*?) -o", README, re.S | re.M)[1]
    words = shlex.split(command.replace("\\\n", " "))
    with contextlib.chdir(ROOT):
        said = " ".join(said_by(words).split())
    assert said.startswith("Adopt the new policy, if no return can be worse or better than in")
    assert "adopt the new policy, if no return can be worse or better than in this log" in found
    assert re.search(r"about [\d.]+", found)[0] + " (90 % interval" in said


def test_links_of_the_readme_lead_to_the_site_where_there_is_no_checkout():
    hook = tomllib.loads((ROOT / "pyproject.toml").read_text())
    hook = hook["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = README
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", README):
        assert (ROOT / link).exists(), link
    for rule in hook["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    assert re.findall(r"\]\((?!https?:|#)[^)]+\)", text) == []


def test_questions_are_answered_in_five_lines_with_a_link_to_more():
    """... and are one click from the front page and from the README."""
    page = (ROOT / "docs" / "questions.md").read_text()
    asked = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    assert len(asked) >= 10
    for answer in asked:
        title, *lines = answer.split("\n")
        assert len("\n".join(lines).strip().split("\n\n")[0].splitlines()) <= 5, title
        more = re.search(r"^More: (.*)", answer, re.MULTILINE | re.DOTALL)
        assert more, title
        files = re.findall(r"\]\(([\w-]+\.md)", more[1])
        assert files, title
        assert all((ROOT / "docs" / file).exists() for file in files), title
    assert "(questions.md)" in (ROOT / "docs" / "index.md").read_text()
    assert "(docs/questions.md)" in README


# ---- the runner itself --------------------------------------------------------------------------

PAGE = """# Title

```python
import not_run_as_it_has_no_prompt
```

```python
>>> x = 3
```

Text with >>> x, which is no example.

```python
>>> x + 1
4
>>> x + 1
5
```
"""


def test_a_wrong_example_fails_with_the_line_of_the_page():
    results, report = run(examples_on(PAGE))
    assert results == (1, 3)
    assert f"line {PAGE.splitlines().index('5')}, in page" in report


def test_a_page_without_examples_is_not_a_test():
    assert examples_on("```bash\n>>> no\n```\n").examples == []


TOML = [
    pytest.param(block, id=f"{page}-{i}")
    for page in PAGES
    for i, block in enumerate(
        re.findall(r"```toml\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    )
    if re.search(r"^format = ", block, re.MULTILINE)
]


@pytest.mark.parametrize("block", TOML)
def test_every_file_that_is_shown_can_be_read(tmp_path, block):
    path = tmp_path / "shown.toml"
    path.write_text(block)
    kind = re.search(r'^format = "jumar-(\w+)/1"', block, re.MULTILINE).group(1)
    read = {
        "controller": load_controller,
        "project": load_project,
        "study": load_study,
        "model": load_model,
    }[kind]
    assert read(path)
