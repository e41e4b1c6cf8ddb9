# Needs make and Python 3.11 or newer; everything else is installed into .venv the first time a target needs it.
# `make demo PYTHON=python3.12` chooses the interpreter.

CANDIDATES := python3 python3.14 python3.13 python3.12 python3.11 python
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for name in $(CANDIDATES); do \
	"$$name" -c '$(NEW_ENOUGH)' 2>/dev/null && echo "$$name" && break; done)

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
# One stamp per set of extras: set-up is skipped until pyproject.toml or constraints.txt changes.
FOR_DEMO := .venv/.installed-demo
FOR_DEV := .venv/.installed-dev
FOR_DOCS := .venv/.installed-docs

# Data sets are looked for beside the checkout; tests that need them are skipped when there are none.
MERCER_DATA ?= $(wildcard ../shared/data)
ifneq ($(strip $(MERCER_DATA)),)
export MERCER_DATA := $(abspath $(MERCER_DATA))
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo test test-all test-nojit lint fmt bench fuzz docs package clean

help: ## list the targets
	@echo "make <target>, where <target> is one of"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14

.venv/pyvenv.cfg:
	@if [ -z "$(PYTHON)" ] || ! "$(PYTHON)" -c '$(NEW_ENOUGH)'; then \
		echo "Mercer needs Python 3.11 or newer; '$(or $(PYTHON),python3)' is too old or missing." \
			"Install one, or name it: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; fi
	@echo "Creating .venv with $$("$(PYTHON)" --version)"
	@"$(PYTHON)" -m venv .venv || { rm -rf .venv; exit 1; }

$(FOR_DEMO): .venv/pyvenv.cfg pyproject.toml constraints.txt
	@echo "Installing Mercer into .venv (about a minute the first time)"
	@$(PIP) -e '.[plot]'
	@touch $@

# dev contains what the demo needs, so either order of the two installs once
$(FOR_DEV): .venv/pyvenv.cfg pyproject.toml constraints.txt
	@echo "Installing Mercer and its development tools into .venv (about a minute the first time)"
	@$(PIP) -e '.[dev]'
	@touch $@ $(FOR_DEMO)

$(FOR_DOCS): .venv/pyvenv.cfg pyproject.toml constraints.txt
	@echo "Installing Mercer and its documentation tools into .venv"
	@$(PIP) -e '.[docs]'
	@touch $@

setup: $(FOR_DEV) $(FOR_DOCS) ## create .venv with everything a contributor needs

demo: $(FOR_DEMO) ## compare linear and kernel classifiers on scikit-learn's digits
	@$(BIN)/mercer demo

test: $(FOR_DEV) ## run the default test suite
	@$(BIN)/python -m pytest -n 2

test-all: $(FOR_DEV) ## run every test, slow ones too
	@$(BIN)/python -m pytest -n 2 -m "slow or not slow"

test-nojit: $(FOR_DEV) ## run the hot loops' tests as plain Python
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/native

lint: $(FOR_DEV) ## check style, spelling, types and layers
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/codespell
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

fmt: $(FOR_DEV) ## format the code and repair what can be repaired
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

bench: $(FOR_DEV) ## run the benchmarks and write benchmarks/RESULTS.md
	@$(BIN)/python -m benchmarks

fuzz: $(FOR_DEV) ## use 100,000 forged model files on a build with bounds checks; goes on where it was stopped
	@$(BIN)/python -m tests.hostile.fuzz.campaign --cases 100000 --workers 2

docs: $(FOR_DOCS) ## build the documentation in docs/_build/html; a warning is an error
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Each file is installed and used in an environment of its own, away from the source tree.
SMOKE := import numpy as np, mercer; K = mercer.Chi2()(np.eye(3)); assert (K == np.eye(3)).all(), K
package: $(FOR_DEV) ## build wheel and sdist, install each and use it
	@rm -rf dist build/smoke
	@$(BIN)/python -m build --no-isolation --outdir dist >/dev/null
	@$(BIN)/python -m venv build/smoke
	@for file in dist/*.whl dist/*.tar.gz; do \
		echo "Installing $$file"; \
		build/smoke/$(PIP:.venv/%=%) --force-reinstall --no-deps "$$file" || exit 1; \
		build/smoke/$(PIP:.venv/%=%) "$$file" || exit 1; \
		(cd build/smoke && bin/mercer --version && bin/python -c "$(SMOKE)") || exit 1; \
	done
	@rm -rf build/smoke

clean: ## remove everything that was built, .venv too
	rm -rf .venv build dist docs/_build docs/generated docs/gallery .pytest_cache .hypothesis .ruff_cache .mypy_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
