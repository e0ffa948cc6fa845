"""The tests of what changed: printed for pytest, by `make check`.

A test file belongs to a module if it changed itself, or imports the module, or a public name of
jumar that lives there. What differs from main counts, committed or not.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from jumar import _PUBLIC

ROOT = Path(__file__).parents[1]
MOST = 12  # test files; of a module that half of them import, those named like it come first


def changed() -> list[str]:
    """Files that differ from main, as git knows it; else from the last commit."""
    for base in ("origin/main...", "main...", ""):
        asked = ["git", "diff", "--name-only", base] if base else ["git", "diff", "--name-only"]
        found = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
        if found.returncode == 0:
            break
    others = ["git", "status", "--porcelain", "--untracked-files=all"]
    state = subprocess.run(others, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return sorted({*found.stdout.split(), *(line[3:] for line in state.splitlines())})


def tests_of(files: list[str]) -> list[str]:
    """Test files, the nearest first."""
    tests = {path: path.read_text("utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py"))}
    found = [ROOT / file for file in files if (ROOT / file) in tests]
    for file in files:
        if not file.startswith("src/jumar/") or not file.endswith(".py"):
            continue
        module = file.removeprefix("src/").removesuffix(".py").removesuffix("/__init__")
        dotted, name = module.replace("/", "."), module.rsplit("/", 1)[-1]
        public = [n for n, place in _PUBLIC.items() if f"jumar.{place}".split(":")[0] == dotted]
        words = [re.escape(dotted), *(rf"jm\.{n}" for n in public)]
        uses = re.compile(rf"\b(?:{'|'.join(words)})\b")
        using = [path for path, text in tests.items() if uses.search(text)]
        found += sorted(using, key=lambda path: (name not in path.name, path.stat().st_size))
    return [str(path.relative_to(ROOT)) for path in dict.fromkeys(found)][:MOST]


if __name__ == "__main__":
    print(*tests_of(changed()) or ["tests/test_layers.py"])
