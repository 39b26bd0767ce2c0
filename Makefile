# run · test · check · bench · conform · fuzz · docs · clean. .ci/run calls the same targets.
# Everything lives in .venv and target; nothing is installed outside this folder.

PYTHON ?= python3
RESULTS ?= results
# Of the wheel. `dev`, optimised as the tests are, shares what it compiles with them; it runs slower.
PROFILE ?= release
VENV := .venv
BIN := $(VENV)/bin
MINIMUM_RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
MAKEFLAGS += --no-print-directory
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# What the wheel is made of.
SOURCES := $(shell find crates python studies scenarios -type f \
	! -name '*.pyc' ! -name '*.so' ! -path '*/tests/*' ! -path '*/benches/*' 2>/dev/null) \
	Cargo.toml Cargo.lock pyproject.toml README.md

.DELETE_ON_ERROR:
.PHONY: help setup run test test-rust test-python check check-rust check-python bench conform fuzz docs lock format clean

help: ## Say what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(VENV)/.airperf-$(PROFILE) ## Build airperf and install it into .venv (does nothing when nothing changed)

run: setup ## Run the study's first experiment on every testbed that works here, and write its report
	@.ci/partial $(BIN)/airperf study bai2006 --only E1 --testbed all --out $(RESULTS)/bai2006

test: test-rust test-python ## Run every test

test-rust:
	@.ci/needs rust $(MINIMUM_RUST)
	cargo test --locked --quiet --workspace

test-python: setup
	$(BIN)/pytest --numprocesses logical --maxprocesses 4 --dist loadfile -m "not alone and not conform"
	$(BIN)/pytest -m "alone and not conform"

check: check-rust check-python ## Formatters, linters, types, layer rules

check-rust:
	@.ci/needs rust $(MINIMUM_RUST)
	cargo fmt --all --check
	cargo clippy --locked --quiet --workspace --all-targets -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" cargo doc --locked --quiet --workspace --no-deps --document-private-items
	@if command -v cargo-deny >/dev/null; then cargo deny --log-level error check; \
	else echo "check: cargo-deny is not installed, so licences and advisories were not checked"; fi

check-python: setup
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest airperf._core
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/pytest --quiet tests/house

bench: ## Measure speed beside peers in one run (QUICK=1: shorter; CAPTURES=1: captures only; LOAD=1: load generation, as root)
	@.ci/needs rust $(MINIMUM_RUST)
	@$(PYTHON) $(if $(LOAD),benches/load.py $(if $(QUICK),--quick) $(if $(FIFO),--fifo),benches/run.py $(if $(QUICK),--quick) $(if $(CAPTURES),--captures))

conform: ## Closed forms, published tables and peers, each with our value, as a table (slow ones too)
	@.ci/needs rust $(MINIMUM_RUST)
	@$(PYTHON) benches/keep.py conform "what|ours|anchor|off|tolerance" \
		cargo test --locked --quiet --release --package airperf-tests -- --include-ignored --nocapture
	@$(MAKE) setup
	@$(PYTHON) benches/keep.py conform-pages "what|ours|anchor|off|tolerance" \
		$(BIN)/pytest --quiet --capture=no -m conform tests/python

fuzz: ## Feed the parsers damaged input (SECONDS=60 for each, SEED=1)
	@.ci/needs rust $(MINIMUM_RUST)
	@cargo build --locked --quiet --release --package airperf-fuzz
	@$(PYTHON) benches/keep.py fuzz "" cargo run --locked --quiet --release --package airperf-fuzz -- \
		$(or $(SECONDS),60) $(or $(SEED),1) target/fuzz

docs: ## Build the Rust reference under target/doc
	cargo doc --locked --quiet --workspace --no-deps
	@echo "target/doc/airperf_link/index.html"

format: $(VENV)/.tools ## Format everything
	cargo fmt --all
	$(BIN)/ruff check --quiet --fix
	$(BIN)/ruff format --quiet

lock: ## Renew requirements.lock from pyproject.toml
	$(PYTHON) -m venv target/lock
	target/lock/bin/pip install --quiet pip-tools
	CUSTOM_COMPILE_COMMAND="make lock" target/lock/bin/pip-compile --quiet --upgrade --extra dev \
		--generate-hashes --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		--output-file requirements.lock pyproject.toml

clean: ## Remove everything that was built (results stay)
	rm -rf $(VENV) target dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find python tests benches -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.tools: requirements.lock
	@.ci/needs python $(PYTHON)
	@echo "setup: Python packages into $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/pip install --quiet --require-hashes --requirement requirements.lock
	@touch $@

$(VENV)/.airperf-$(PROFILE): $(VENV)/.tools $(SOURCES)
	@.ci/needs rust $(MINIMUM_RUST)
	@echo "setup: building airperf (the first time takes some minutes)"
	@mkdir -p target && rm -rf target/wheels $(VENV)/.airperf-*
	@$(BIN)/maturin build --profile $(PROFILE) --locked --interpreter $(BIN)/python --out target/wheels \
		>target/setup.log 2>&1 || { cat target/setup.log >&2; exit 1; }
	@$(BIN)/pip install --quiet --no-index --no-deps --force-reinstall target/wheels/airperf-*.whl
	@touch $@
