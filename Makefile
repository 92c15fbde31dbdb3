# Everything a contributor or CI runs. `make` alone lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RESULTS := results
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup run test test-all test-models lint types format snapshots lock benchmarks results docs dist-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# uv installs in seconds; where it cannot be had, pip does the same from the same lock.
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name it with PYTHON=..."; exit 2; }
	@test -x $(2)/bin/python || $(PYTHON) -m venv $(2)
	@$(2)/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9' 2>/dev/null || true
	@if test -x $(2)/bin/uv; then \
		$(2)/bin/uv pip install --quiet --python $(2)/bin/python --require-hashes -r requirements/$(1).txt && \
		$(2)/bin/uv pip install --quiet --python $(2)/bin/python --no-deps --no-build-isolation -e .; \
	else \
		$(2)/bin/python -m pip install --quiet --require-hashes -r requirements/$(1).txt && \
		$(2)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .; \
	fi
	@touch $@
endef

$(VENV)/.core: pyproject.toml requirements/core.txt
	$(call install,core,$(VENV))

$(VENV)/.dev: pyproject.toml requirements/dev.txt
	$(call install,dev,$(VENV))
	@touch $(VENV)/.core

setup: $(VENV)/.dev ## create .venv with everything that tests and checks need

run: $(VENV)/.core ## the main job: sweep the bundled corpus, print what every half-life costs
	$(BIN)/sweep run configs/recency.yaml --results $(RESULTS)

test: setup lint types ## checks and tests, under 5 minutes
	$(PYTEST) -m "not slow"

test-all: setup test-models ## the same at full counts, with real kills and a real model, under 45 minutes
	SWEEPER_FULL=1 $(PYTEST) -o faulthandler_timeout=1500

# A model needs torch, a gigabyte: it has a place of its own and only its tests run there.
test-models: .venv-models/.done
	.venv-models/bin/python -m pytest -m models tests/test_embedders.py

.venv-models/.done: pyproject.toml requirements/core.txt requirements/models.txt
	@test -x .venv-models/bin/python || $(PYTHON) -m venv .venv-models
	.venv-models/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/core.txt
	.venv-models/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/models.txt
	.venv-models/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

format: setup ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

snapshots: setup ## rewrite the expected outputs under tests/snapshots, for review as a diff
	SWEEPER_UPDATE_SNAPSHOTS=1 $(BIN)/python -m pytest tests -q -m "not slow"

benchmarks: .venv-benchmarks/.done ## print what docs/performance.md claims, beside its peers
	.venv-benchmarks/bin/python -m tests.benchmarks.benchmark

.venv-benchmarks/.done: pyproject.toml requirements/benchmarks.txt
	$(call install,benchmarks,.venv-benchmarks)

lock: setup ## rewrite the lock files from pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 \
		pyproject.toml requirements/build.in -o requirements/core.txt
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 \
		--extra fast --extra http --extra postgres --extra dask --group dev pyproject.toml requirements/build.in -o requirements/dev.txt
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 \
		--extra fast --extra http --extra postgres --extra dask --group dev --group benchmark pyproject.toml \
		requirements/build.in -o requirements/benchmarks.txt

results: setup ## measure again the figures that docs/routing.md shows, then its tables
	$(BIN)/python -m tests.benchmarks.published
	$(BIN)/python -m tests.generated_docs

docs: setup ## rewrite the generated pages under docs/, then build the site in build/site
	$(BIN)/python -m tests.generated_docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

dist-check: setup ## build wheel and sdist, install the wheel into a clean environment, run it
	$(BIN)/python -m tests.dist_check

clean: ## remove environments and caches, but no results
	rm -rf $(VENV) .venv-models .venv-benchmarks .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
