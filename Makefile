# Everything here works on a fresh machine with Python 3.11 or newer: the first call sets up .venv.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
JOBS ?= auto
ARGS ?=

.PHONY: help demo test check style types imports quick format docs bench load vectors reproduce reproduce-quick audit up test-compose constraints clean

help:  ## print this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Privet needs Python 3.11 or newer with its venv module (on Debian: apt-get install python3-venv)."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Setting up Privet in $(VENV) ..."
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[demo]'
	@touch $@

$(VENV)/dev.installed: $(VENV)/demo.installed
	@echo "Setting up the tests' tools in $(VENV) ..."
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[demo,postgres,reproduce,dev]'
	@touch $@

demo: $(VENV)/demo.installed  ## one full round on real data (ARGS="--holders 1000 --epsilon 2")
	@$(BIN)/python -m scripts.demo $(ARGS)

test: check  ## all checks and tests, with the share of lines that they reach
	@$(BIN)/python --version
	$(BIN)/pytest -n $(JOBS) --dist worksteal --durations 15 --cov --cov-report= $(ARGS)

check: style types imports  ## style, types and import rules

style: $(VENV)/dev.installed
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .

types: $(VENV)/dev.installed
	$(BIN)/mypy

imports: $(VENV)/dev.installed
	$(BIN)/lint-imports

quick: $(VENV)/dev.installed  ## the tests that take seconds
	$(BIN)/pytest -n $(JOBS) -m "not slow" $(ARGS)

format: $(VENV)/dev.installed  ## put the code into its style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/dev.installed  ## the documentation site, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "Look at it with: $(PYTHON) -m http.server --directory site"

bench: $(VENV)/dev.installed  ## speed, as ratios against references in the same run
	@$(BIN)/python -m bench $(ARGS)

load: $(VENV)/dev.installed  ## simulated holders against a curator (ARGS="--holders 100000")
	@$(BIN)/python -m scripts.load_test $(ARGS)

vectors: $(VENV)/dev.installed  ## write the test vectors anew
	$(BIN)/python -m scripts.make_vectors
	$(BIN)/python -m scripts.make_message_vectors

reproduce: $(VENV)/dev.installed  ## every figure and table of the papers (ARGS="--data FOLDER --write-docs")
	$(BIN)/python -m scripts.reproduce $(ARGS)

reproduce-quick: $(VENV)/dev.installed  ## the same from one replication, in minutes
	$(BIN)/python -m scripts.reproduce --quick $(ARGS)

audit: $(VENV)/dev.installed  ## known vulnerabilities of the pinned dependencies
	$(BIN)/pip-audit --requirement constraints.txt --no-deps --disable-pip

up:  ## the demo in containers
	docker compose -f docker-compose.demo.yml up --build --detach --scale holders=2 report
	docker compose -f docker-compose.demo.yml logs --no-log-prefix --follow report

test-compose: $(VENV)/dev.installed  ## the whole stack in containers, killed in the middle (needs docker)
	$(BIN)/python -m scripts.compose_test $(ARGS)

constraints:  ## pin the newest versions that pip finds
	rm -rf $(VENV)/fresh && $(PYTHON) -m venv $(VENV)/fresh
	$(VENV)/fresh/bin/pip install --quiet '.[demo,postgres,reproduce,dev]'
	{ echo '# Exact versions that the tests and the demo run on; `make constraints` renews them.'; \
	  $(VENV)/fresh/bin/pip freeze --exclude privet | LC_ALL=C sort -f; } > constraints.txt
	rm -rf $(VENV)/fresh build

clean:  ## remove what the other targets made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache privet-data build site *.egg-info
