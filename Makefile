# Two commands: `make demo` shows the main job, `make test` runs every check.
# Both build .venv from nothing when it is missing or pyproject.toml has changed.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test bench clean

.venv/.ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

# the README's main job: a bundled maintenance log and its schedule in, out/bridge/report.html out
demo: .venv/.ready
	$(BIN)/jumar improve examples/bridge/log.csv --policy examples/bridge/schedule.toml \
	  --columns episode=bridge,step=year,observation=finding,action=work,reward=cost --cost \
	  --ends cut --discount 0.95 --window 2 --with-actions --n-wedge 10 -o out/bridge
	@echo "Open out/bridge/report.html in a browser."

test: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n auto -rs  # -rs: say what was skipped, and why

bench: .venv/.ready
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf .venv out dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
