# Needs make and Python 3.11 or newer; everything else is installed into .venv the first time a target needs it.
# `make demo PYTHON=python3.12` chooses the interpreter, `make demo VENV=/tmp/elsewhere` the environment.

TESTED := 3.13 3.12 3.11
CANDIDATES := python3 python3.14 $(TESTED:%=python%) python
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
# the first of these commands that is a Python which is new enough
first_of = $(shell for name in $(1); do "$$name" -c '$(NEW_ENOUGH)' 2>/dev/null && echo "$$name" && break; done)
PYTHON ?= $(call first_of,$(CANDIDATES))

# An interpreter that pyenv keeps may work although its name on the PATH does not.
PYENV_ROOT ?= $(HOME)/.pyenv
pythons = $(foreach version,$(1),python$(version) $(wildcard $(PYENV_ROOT)/versions/$(version).*/bin/python$(version)))
NEWEST = $(or $(call first_of,$(call pythons,$(TESTED))),$(PYTHON))
OLDEST = $(or $(call first_of,$(call pythons,3.11 3.12)),$(PYTHON))

VENV ?= .venv
CONSTRAINTS ?= constraints.txt
BIN := $(VENV)/bin
PIP := python -m pip --disable-pip-version-check install --quiet
# tests that compile the same loops go to the same of two workers (tests/conftest.py)
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder

# Data sets are looked for beside the checkout; tests that need them are skipped when there are none.
MERCER_DATA ?= $(wildcard ../shared/data)
ifneq ($(strip $(MERCER_DATA)),)
export MERCER_DATA := $(abspath $(MERCER_DATA))
endif

# Python keeps what it compiles, as numba does: some environments switch that off, and every process reads all tests anew.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PRECIOUS: $(VENV)/pyvenv.cfg $(VENV)/.has-%
.PHONY: help setup demo test test-process test-all test-core test-newest test-lowest test-nojit lint fmt bench bench-all fuzz docs package clean

help: ## list the targets
	@echo "make <target>, where <target> is one of"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14

$(VENV)/pyvenv.cfg:
	@if [ -z "$(PYTHON)" ] || ! "$(PYTHON)" -c '$(NEW_ENOUGH)'; then \
		echo "Mercer needs Python 3.11 or newer; '$(or $(PYTHON),python3)' is too old or missing." \
			"Install one, or name it: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; fi
	@echo "Creating $(VENV) with $$("$(PYTHON)" --version)"
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# Each target needs one extra of pyproject.toml, whose stamp says that it is installed; pip is asked again when
# pyproject.toml or the constraints change. The extra dev holds those of the other targets, so it counts as all of them.
$(VENV)/.has-%: $(VENV)/pyvenv.cfg pyproject.toml $(CONSTRAINTS)
	@echo "Installing Mercer with its extra '$*' into $(VENV) (about a minute the first time)"
	@$(BIN)/$(PIP) -c $(CONSTRAINTS) -e '.[$*]'
	@touch $@ $(if $(filter dev,$*),$(foreach extra,plot vision lint test package docs,$(VENV)/.has-$(extra)))

setup: $(VENV)/.has-dev ## create .venv with everything a contributor needs

demo: $(VENV)/.has-vision ## search, classify and compress beside the usual ways, in a minute; writes mercer-demo.html
	@$(BIN)/mercer demo

test: $(VENV)/.has-test ## run the default test suite
	@$(PYTEST)

test-process: $(VENV)/.has-test ## run the tests of processes: kills, servers, clusters, the browser, forged files
	@$(PYTEST) -m "process and not slow"

test-all: $(VENV)/.has-test ## run every test: the default suite, those of processes, slow ones
	@$(PYTEST) -m "slow or not slow"

# Compiled code is kept with the environment: numba's versions would throw away each other's.
CORE := $(addprefix tests/,kernels maps learners search contracts golden)
test-core: $(VENV)/.has-test ## run the tests of kernels, maps, learners, search, contracts and golden files
	@NUMBA_CACHE_DIR=$(abspath $(VENV))/numba $(PYTEST) $(CORE)

test-newest: ## run test-core on the newest Python there is, if it is not that of the other targets
	@if [ "$$("$(NEWEST)" --version)" = "$$("$(PYTHON)" --version)" ]; then \
		echo "No Python that is newer than $(PYTHON) was found, and that one runs the other targets."; \
	else $(MAKE) --no-print-directory test-core PYTHON="$(NEWEST)" VENV=build/newest; fi

test-lowest: build/lowest.txt ## run test-core with the lowest versions that pyproject.toml allows
	@$(MAKE) --no-print-directory test-core PYTHON="$(OLDEST)" VENV=build/lowest CONSTRAINTS=build/lowest.txt

build/lowest.txt: pyproject.toml tools/floors.py
	@mkdir -p build
	@"$(OLDEST)" tools/floors.py >$@.part && mv $@.part $@

test-nojit: $(VENV)/.has-test ## run the hot loops' tests as plain Python
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/native

lint: $(VENV)/.has-lint ## check style, spelling, types and layers
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/codespell
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

fmt: $(VENV)/.has-lint ## format the code and repair what can be repaired
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

BENCH ?= list
bench: $(VENV)/.has-bench ## list the benchmarks, or run those that BENCH names and write benchmarks/RESULTS.md
	@$(BIN)/python -m benchmarks $(BENCH)

bench-all: $(VENV)/.has-bench ## measure what is not of this code and machine (LIST=1: only say what; LIMIT=minutes, ONLY="names")
	@$(BIN)/python -m benchmarks all $(if $(LIST),--list) $(if $(LIMIT),--limit $(LIMIT)) $(if $(ONLY),--only $(ONLY))

fuzz: $(VENV)/.has-test ## use 100,000 forged model files on a build with bounds checks; goes on where it was stopped
	@$(BIN)/python -m tests.hostile.fuzz.campaign --cases 100000 --workers 2

docs: $(VENV)/.has-docs ## build the documentation in docs/_build/html; a warning is an error
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Each file is installed and used in an environment of its own, away from the source tree.
SMOKE := import numpy as np, mercer; K = mercer.Chi2()(np.eye(3)); assert (K == np.eye(3)).all(), K
package: $(VENV)/.has-package ## build wheel and sdist, install each and use it
	@rm -rf dist build/smoke
	@$(BIN)/python -m build --no-isolation --outdir dist >/dev/null
	@$(BIN)/python -m venv build/smoke
	@for file in dist/*.whl dist/*.tar.gz; do \
		echo "Installing $$file"; \
		build/smoke/bin/$(PIP) -c $(CONSTRAINTS) --force-reinstall --no-deps "$$file" || exit 1; \
		build/smoke/bin/$(PIP) -c $(CONSTRAINTS) "$$file" || exit 1; \
		(cd build/smoke && bin/mercer --version && bin/python -c "$(SMOKE)") || exit 1; \
	done
	@rm -rf build/smoke

clean: ## remove everything that was built, .venv too
	rm -rf .venv build dist docs/_build docs/generated docs/gallery .pytest_cache .hypothesis .ruff_cache .mypy_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
