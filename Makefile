# Two commands: `make demo` shows the main job, `make test` runs every check.
# Both build .venv from nothing when it is missing or pyproject.toml has changed.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test bench clean

.venv/.ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: .venv/.ready
	$(BIN)/python examples/tiger/demo.py

test: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n auto

bench: .venv/.ready
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf .venv out dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
