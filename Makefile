# Two commands to know: `make demo` shows a discussion, `make test` runs every check. Both need only Python 3.11+ and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# uv installs in a few seconds what takes pip most of a minute; where it is not there, pip tells what it is at.
UV     := $(shell command -v uv 2> /dev/null)
# Tests start hundreds of processes: what is compiled once is kept, whatever the environment says.
export PYTHONDONTWRITEBYTECODE =
# Half of the tests' time is waiting: for clocks to run out and for other processes.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 1))')

# Nothing is compiled ahead, with pip as with uv: that took pip more than a third of its time, and most of it is never imported.
# One line that counts the packages as they come; what fails is told whole, and `make` hears of it.
COUNTED := awk '/^Collecting/ { printf "\r  %d packages: %-50.50s", ++n, $$2; fflush() } /^ERROR/ { print } END { if (n) print "" }'
install = $(if $(UV),$(UV) pip install --python $(BIN)/python --editable '$(WHAT)',\
  { $(BIN)/python -m pip install --no-compile --progress-bar off --disable-pip-version-check --editable '$(WHAT)' || touch $(VENV)/.failed; } \
  | $(COUNTED); ! rm $(VENV)/.failed 2> /dev/null)

part = echo "== $@"; { $(1); } || { echo $@ >> $(FAILED); exit 1; }

.PHONY: demo test quick lint unit slow bench docs pictures clean

demo: $(VENV)/.demo
	@$(BIN)/ai-battle run configs/quickstart.yaml
	@echo "Next: $(BIN)/ai-battle doctor shows what this machine can reach, $(BIN)/ai-battle init writes a discussion for it."

# Whatever fails, the rest is checked too. What each part says stands together, and the last line names those that failed.
FAILED := $(VENV)/.parts_that_failed
at_once = rm -f $(FAILED); $(MAKE) --no-print-directory --jobs=$(WORKERS) --keep-going $(addprefix --,$(filter output-sync,$(.FEATURES))) \
  $(1) || { echo "Failed, as told above: $$(sort $(FAILED) | tr '\n' ' ')"; exit 1; }

test: $(VENV)/.dev
	@echo "ruff, mypy and the tests, in $(words lint $(UNITS)) parts, $(WORKERS) at once: each is shown when it has ended."
	@$(call at_once,$(UNITS) lint)

lint: $(VENV)/.dev
	@$(call part,$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy)

unit: $(VENV)/.dev
	@$(call at_once,$(UNITS))

# Each process collects only the tests that it runs, those that load the same SDKs share one, and most work begins first.
ROOMS := server providers+wire+conversation tools collaboration scenarios cli
UNITS := unit/others $(ROOMS:%=unit/%)

$(UNITS): TESTS = $(addprefix tests/,$(subst +, ,$(@F)))
unit/others: TESTS = tests $(addprefix --ignore=tests/,$(subst +, ,$(ROOMS)))
$(UNITS): $(VENV)/.dev
	@$(call part,$(BIN)/pytest -q -m "not slow" $(TESTS))

# The outer ring: what people at the command line and clients of the server meet. Under a minute, for the time between two thoughts.
quick: $(VENV)/.dev
	$(BIN)/pytest -q -m "not slow" tests/test_architecture.py tests/scenarios tests/server/protocol --numprocesses $(WORKERS) --dist worksteal

# What holds of anything is tried on three times as many examples.
slow: $(VENV)/.dev
	$(BIN)/pytest -m "slow or hypothesis" --hypothesis-profile thorough --timeout 1200 --numprocesses auto --dist worksteal

bench: $(VENV)/.dev
	$(BIN)/python -m tests.performance

docs: $(VENV)/.dev
	$(BIN)/python -m docs.generate

# Those of the README, from shipped configurations; those of reports need Chromium.
pictures: $(VENV)/.dev
	$(BIN)/python -m docs.pictures

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ai-battle needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(if $(UV),$(UV) venv --quiet --seed --python $(PYTHON) $(VENV),$(PYTHON) -m venv $(VENV))

$(VENV)/.demo: WHAT = .
$(VENV)/.demo: $(BIN)/python pyproject.toml
	@echo "Installing ai-battle into $(VENV) with $(if $(UV),uv,pip) ..."
	@$(install)
	@touch $@

$(VENV)/.dev: WHAT = .[dev,local,images,mcp]
$(VENV)/.dev: $(BIN)/python pyproject.toml
	@echo "Installing ai-battle and what its tests need into $(VENV) with $(if $(UV),uv,pip) ..."
	@$(install)
	@touch $@ $(VENV)/.demo
