# Everything lives in .venv and is made from the package registries alone.
# Stamp files record what is installed, so that a second call starts at once.

.DEFAULT_GOAL := help
.PHONY: help demo test lint eval bench proto model postgres-url postgres-stop clean

ifndef PYTHON
PYTHON := $(shell python3.11 -c 'print("python3.11")' 2>/dev/null || echo python3)
endif
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
INSTALL := $(PIP) install -c constraints.txt
export SOURCEBOOK_DATA ?= ../shared/data
# In three parts side by side; threads below them would only wait for each other.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/base.stamp model ## Set everything up, index examples/ and answer a few questions
	@$(BIN)/python examples/demo.py

test: lint model ## Set everything up, check the code and run every test
	@$(PYTEST) tests/serve & serve=$$!; $(PYTEST) tests/stores tests/page & stores=$$!; \
	  $(PYTEST) --ignore=tests/serve --ignore=tests/stores --ignore=tests/page; failed=$$?; \
	  wait $$serve || failed=1; wait $$stores || failed=1; exit $$failed

lint: .venv/dev.stamp ## Check style, formatting, types and the import contract
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy --strict src
	@$(BIN)/lint-imports --no-cache

eval: .venv/bench.stamp model ## Measure retrieval quality on the test collections (SOURCEBOOK_DATA)
	@$(BIN)/python -m evals

bench: .venv/bench.stamp model ## Measure speed, next to other engines
	@$(BIN)/python -m benchmarks

proto: .venv/dev.stamp ## Generate the code of the gRPC schema again, after a change of it
	@$(BIN)/python -m grpc_tools.protoc -I src --python_out=src --pyi_out=src \
	  --grpc_python_out=src src/sourcebook/serve/proto/sourcebook/v1/*.proto

model: .venv/base.stamp ## Install the embedding models into the user's cache
	@$(BIN)/sourcebook model install

postgres-url: ## Start the bundled PostgreSQL with pgvector and print its URL
	@$(MAKE) -s .venv/dev.stamp >&2
	@$(BIN)/python -m tests.postgres start

postgres-stop: .venv/dev.stamp ## Stop the bundled PostgreSQL
	@$(BIN)/python -m tests.postgres stop

clean: ## Remove the environment and every derived file (models stay in the cache)
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist
	find src tests evals benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 2; }
	@echo "Creating .venv"
	@$(PYTHON) -m venv .venv

.venv/base.stamp: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing Sourcebook and what it needs"
	@$(INSTALL) -e .
	@touch $@

.venv/dev.stamp: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing Sourcebook and the development tools"
	@$(INSTALL) -e '.[dev]'
	@touch .venv/base.stamp $@

.venv/bench.stamp: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing Sourcebook and the engines that it is compared with"
	@$(INSTALL) -e '.[bench]'
	@touch .venv/base.stamp $@
