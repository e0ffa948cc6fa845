# Two commands: `make demo` shows the main job, `make test` runs every check. `make docs` builds the
# site, `make wheel-test` tries what users install.
# All build .venv from nothing when it is missing or pyproject.toml has changed.
PYTHON ?= python3
BIN := .venv/bin

# What Python compiles is kept: without it every worker and every command that a test starts compiles
# the same files again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo check test test-slow test-storm docs wheel-test bench fuzz clean

.venv/.ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	touch $@

# the README's main job: a bundled log and its rule in, a report out; once decided, once refused
demo: .venv/.ready
	$(BIN)/jumar improve examples/voicemail/log.csv --policy examples/voicemail/dialog.toml \
	  --columns episode=call,step=turn,observation=heard,action=response,reward=score \
	  --ends terminated --discount 0.95 -o out/voicemail
	$(BIN)/jumar improve examples/bridge/log.csv --policy examples/bridge/schedule.toml \
	  --columns episode=bridge,step=year,observation=finding,action=work,reward=cost --cost \
	  --ends cut --discount 0.95 -o out/bridge
	@echo "Open out/voicemail/report.html and out/bridge/report.html in a browser."

# Types are checked beside the tests, on whatever core is free. worksteal: tests of one file stay on
# one worker and share their fixtures. -rs: say what was skipped, and why.
test: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy & types=$$!; $(BIN)/pytest -n auto --dist worksteal -rs -m "not slow"; tests=$$?; \
	  wait $$types && exit $$tests

# lint, types, and the tests of what differs from main: half a minute for a change of one module
check: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -x -m "not slow" $$($(BIN)/python tests/of_change.py)

# out/site/index.html; every warning is an error, and so is a page that would fetch anything
docs: .venv/.ready
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --fresh-env -d out/doctrees docs out/site
	@echo "Open out/site/index.html in a browser."

# the wheel alone in an empty environment, where neither this checkout nor a tool is at hand
wheel-test: .venv/.ready
	rm -rf out/wheel
	$(BIN)/python -m build --wheel --outdir out/wheel .
	$(BIN)/python tests/wheel_smoke.py out/wheel/jumar-*.whl

# what takes long: kills and long runs, optima of large models, pages of many logs
test-slow: .venv/.ready
	$(BIN)/pytest -n auto --dist worksteal -rs -m slow

# exact values beside those of the model checker Storm (GPL, 160 MB), in an environment of its own
.venv-storm/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-storm
	.venv-storm/bin/python -m pip install --quiet --disable-pip-version-check --editable . \
	  'stormpy>=2,<3' 'pytest>=8.2' 'hypothesis>=6.100'
	touch $@

test-storm: .venv-storm/.ready
	.venv-storm/bin/pytest -rs -m storm tests/truth/test_storm.py

bench: .venv/.ready
	$(BIN)/python benchmarks/run.py

# damaged files and odd options, 100,000 of them; goes on where it was stopped. FUZZ="--seed 2"
fuzz: .venv/.ready
	$(BIN)/python benchmarks/fuzz $(FUZZ)

clean:
	rm -rf .venv .venv-storm out dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
