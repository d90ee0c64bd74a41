# Everything runs in an environment of its own, made from pyproject.toml. Needs python3 (3.11 or
# newer, with venv) and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Those that take no argument and need no file but the project's own.
EXAMPLES := audit_log audit_table clusters_and_strata measure_the_rule plan_then_audit propose_slices several_models

# Kernels that one step has compiled serve the others; tests/conftest.py does so within one run.
check wheel docs examples: export JAX_COMPILATION_CACHE_DIR := $(CURDIR)/build/kernels
check wheel docs examples: export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS := 0

.PHONY: help demo test lint types check wheel docs examples bench clean

help:
	@echo "make demo      audit the shipped results of a real model and show the table"
	@echo "make test      lint, type-check, test, and test the built wheel away from the tree"
	@echo "make check     the tests only"
	@echo "make docs      the documentation as pages: build/docs/index.html"
	@echo "make examples  every example that needs nothing else"
	@echo "make bench     this project beside what a user would pick instead (10 to 20 minutes)"
	@echo "make clean     remove the environment and build products"

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV) || { echo "No virtual environment: on Debian, apt-get install python3-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/janus-jax audit examples/data/gsm8k_openai_4models.csv --correct correct_175b_verification --out out/gsm8k
	@echo; echo "Written: out/gsm8k/report.html, report.md, findings.csv, result.json"

test: lint types check wheel

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/basedpyright

check: $(STAMP)
	$(BIN)/python -m pytest --quiet --doctest-modules janus_jax
	$(BIN)/python -m pytest --quiet -n auto --dist worksteal

wheel: $(STAMP)
	$(BIN)/python tests/check_wheel.py

docs: $(STAMP)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs build/docs
	@echo "Written: build/docs/index.html"

examples: $(STAMP)
	mkdir -p out/examples
	$(BIN)/python examples/own_table.py out/examples/runs.csv
	for name in $(EXAMPLES); do echo "== $$name"; $(BIN)/python examples/$$name.py || exit 1; done

bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python -m bench.run

clean:
	rm -rf $(VENV) build dist out .pytest_cache .ruff_cache .hypothesis
