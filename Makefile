# Everything here works on a fresh machine with Python 3.11 or newer: the first call sets up .venv.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# each worker imports and collects everything for itself, which one more than there are cores does not gain
JOBS ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count() or 1)')
MORE_JOBS ?= $(shell echo $$(($(JOBS) + 4)))# of tests that wait for servers much of the time
ARGS ?=
CHECKS ?= style imports types# what make test does besides tests
unexport PYTHONDONTWRITEBYTECODE  # every process that a test starts would compile everything anew

.PHONY: help demo pilot test test-all test-order coverage faults check style types imports format docs bench load vectors vectors.zip package audit up release lock clean

help:  ## print this help
	@grep -hE '^[a-z.-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

# .venv with one of the sets of packages that requirements/ pins; a larger set has the smaller in it
$(VENV)/%.installed: pyproject.toml requirements/%.txt scripts/set_up.py
	@test -n "$(PYTHON)" || { echo "Privet needs Python 3.11 or newer with its venv module (on Debian: apt-get install python3-venv)."; exit 1; }
	@$(PYTHON) scripts/set_up.py $*
	@touch $@

demo: $(VENV)/demo.installed  ## one full round on real data (ARGS="--holders 1000 --epsilon 2")
	@$(BIN)/python -m scripts.demo $(ARGS)

pilot: $(VENV)/demo.installed  ## try a collection in a browser (ARGS="survey.csv --label answer" publishes a file)
	@$(BIN)/privet pilot $(ARGS)

# under another name: make runs a recipe's line that names it itself, though only asked to print it
AGAIN = $(MAKE) --no-print-directory

# what bash says of a command after the word `time`: its processes' time is that of all of them together
TOOK = TIMEFORMAT='make $@ took %0R s, and %0U s of processor time with %0S s of the kernel for it.'

# types beside the tests, of which one worker at a time collects at first, and all wait for servers later
test:  ## checks and tests, in minutes
	@$(TOOK); time { $(AGAIN) $(VENV)/test.installed $(filter-out types,$(CHECKS)) && $(BIN)/python --version && { \
		failed=; $(AGAIN) $(VENV)/test.installed $(filter types,$(CHECKS)) >$(VENV)/types.log 2>&1 & \
		$(BIN)/pytest -n $(JOBS) --dist worksteal -m "not slow" $(ARGS) || failed=1; \
		wait $$! || failed=1; cat $(VENV)/types.log; test -z "$$failed"; }; }

test-all: $(VENV)/all.installed  ## what make test leaves out: crash trials, browsers, coverage of intervals, a bare machine
	@$(TOOK); time $(BIN)/pytest -n $(MORE_JOBS) --dist worksteal --timeout 900 -m slow $(ARGS)

# twice over in one process; then in drawn orders and in reverse, with 1 to 8 workers
ORDERS = "-p no:xdist --twice" \
	"-n 1 --order $$RANDOM" "-n 2 --order $$RANDOM" "-n 4 --order $$RANDOM" "-n 8 --order reverse"

test-order: $(VENV)/test.installed  ## the tests of make test in other orders and with more examples, in an hour
	@failed=; for how in $(ORDERS); do echo "pytest $$how"; \
		$(BIN)/pytest --quiet -m "not slow" --hypothesis-profile thorough $$how $(ARGS) || failed+=" [$$how]"; done; \
	test -z "$$failed" || { echo "Failed:$$failed"; exit 1; }

# tracing each line takes half as long again as the tests
coverage: $(VENV)/all.installed  ## what make test reaches of the code, which is no less than it was
	@$(BIN)/pytest -n $(JOBS) --dist worksteal -m "not slow" --cov --cov-report=term:skip-covered $(ARGS)

faults: $(VENV)/all.installed  ## plant a fault in each line that keeps a promise, in half an hour (ARGS="WORDS OF A PROMISE")
	@$(BIN)/python -m scripts.plant_faults $(ARGS)

check: style types imports  ## style, types and import rules

style: $(VENV)/test.installed
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .

# mypy makes little garbage, and looking for it, which it would begin again by itself, takes a sixth of its time
types: $(VENV)/test.installed
	$(BIN)/python -c 'import gc; from mypy.main import main; gc.disable(); gc.enable = gc.disable; main()'

imports: $(VENV)/test.installed
	$(BIN)/lint-imports

format: $(VENV)/test.installed  ## put the code into its style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/docs.installed  ## the documentation site, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "Look at it with: $(PYTHON) -m http.server --directory site"

bench: $(VENV)/all.installed  ## speed, as ratios against references in the same run
	@$(BIN)/python -m bench $(ARGS)

load: $(VENV)/demo.installed  ## simulated holders against a curator (ARGS="--holders 100000")
	@$(BIN)/python -m scripts.load_test $(ARGS)

vectors: $(VENV)/test.installed  ## write the test vectors anew
	$(BIN)/python -m scripts.make_vectors
	$(BIN)/python -m scripts.make_message_vectors

vectors.zip: $(VENV)/test.installed  ## the test vectors as one archive, in build/
	@mkdir -p build
	@$(BIN)/python -m scripts.vectors_archive build/privet-vectors-3.zip

package: $(VENV)/test.installed  ## the package for JavaScript as one file, in build/ (ARGS=--write for its component anew)
	@$(BIN)/python -m scripts.holder_package build $(ARGS)

audit: $(VENV)/all.installed  ## known vulnerabilities of the pinned dependencies
	$(BIN)/pip-audit --strict --requirement requirements/all.txt --require-hashes --disable-pip

up:  ## the demo in containers
	docker compose -f docker-compose.demo.yml up --build --detach --scale holders=2 report
	docker compose -f docker-compose.demo.yml logs --no-log-prefix --follow report

release: $(VENV)/all.installed  ## archives, bills of materials and hashes of the commit, into dist/
	@$(BIN)/python -m scripts.release

lock: $(VENV)/demo.installed  ## pin what pyproject.toml asks for (ARGS=--upgrade for the newest versions)
	$(PYTHON) scripts/set_up.py --lock $(ARGS)

clean:  ## remove what the other targets made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache privet-data build dist site *.egg-info
