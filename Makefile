# Everything a developer does, by name. `make` alone lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One stamp for each set of dependencies: newer than its inputs means nothing to do.
RUN_STAMP := $(VENV)/.installed-run
DEMO_STAMP := $(VENV)/.installed-demo
DEV_STAMP := $(VENV)/.installed-dev
# Bytecode is compiled when it is first needed: compiling all of it would take longer than everything else.
# A worker for each core, but not more than there are servers and browsers for; who has done its part takes from the others.
CORES := --numprocesses logical --maxprocesses 8 --dist worksteal
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt --editable
PINS := constraints.txt pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help install run demo test lint fix bench screenshots pins clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

install: $(RUN_STAMP) ## Make .venv with the pinned dependencies

run: $(RUN_STAMP) ## Run collector, worker and dashboard (Ctrl-C stops them); options by ARGS="--port 8080"
	@exec $(BIN)/toolvitals up $(ARGS)

demo: $(DEMO_STAMP) ## The same with a fleet of real MCP servers and agents that send spans
	@exec $(BIN)/toolvitals demo $(ARGS)

test: $(DEV_STAMP) ## Run the whole test suite on all cores (installs what it needs); less by ARGS="tests/cli -n 0"
	@sh .ci/test-tools
	@$(BIN)/python -m pytest $(CORES) $(ARGS)

lint: $(DEV_STAMP) ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fix: $(DEV_STAMP) ## Repair what the linter can, and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV_STAMP) ## Measure this machine: ingest, settling and every page; writes docs/performance.json (half an hour)
	$(BIN)/python -m bench.report $(ARGS)

screenshots: $(DEV_STAMP) ## Run the demo for five minutes and put pictures of every page into screenshots/
	$(BIN)/python -m tests.browser.screenshots screenshots $(ARGS)

pins: ## Write constraints.txt anew from what resolves today
	sh .ci/pins

clean: ## Remove the virtual environment and caches (data/ stays)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "toolvitals needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)

$(RUN_STAMP): $(PINS) | $(BIN)/python
	$(INSTALL) .
	@touch $@

$(DEMO_STAMP): $(PINS) | $(BIN)/python
	$(INSTALL) '.[demo]'
	@touch $@ $(RUN_STAMP)

$(DEV_STAMP): $(PINS) | $(BIN)/python
	$(INSTALL) '.[dev]'
	@touch $@ $(DEMO_STAMP) $(RUN_STAMP)
