# The two commands of the README, and the habits behind them. State lives in .venv and .make.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.PHONY: help demo docs c miri wheel licences reference test test-python test-rust test-slow check unit-tests attack build programs \
  lint format clippy types cargo-test bench clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PATH := $(CURDIR)/$(BIN):$(PATH)

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name '*.md' -o -name Cargo.toml) $(wildcard crates/kernel/objects/*)

# Tests and lints use the extension's profile, so that what is not ours is compiled once; in our crates tests have debug
# assertions and overflow checks (Cargo.toml).
CHECKED := CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true
# Several times what either half takes; past it a run is ended, and says where it stands.
LIMIT_S := 3600
# One program of Rust tests, of which all but the one that hangs have ended by then (tests/own_world.sh).
PROGRAM_LIMIT_S := 1800
# The Rust half's; beside busy processes it would get next to no time (tests/repeatedly.sh).
NICE := nice
# Folders of Python tests that start few programs and simulate next to nothing (make check).
UNIT := files house simulate/scenario simulate/stats split
WORKERS := $(shell echo $$((2 * $$(nproc 2>/dev/null || echo 2))))

DEMO_TRACE := examples/datacenter.pcap.zst
DEMO_REPORT := demo.html
DEMO_STUDY := examples/study.toml
DEMO_STUDY_RESULTS := runs/one-slow-link
DEMO_STUDY_REPORT := demo-study.html

help:
	@sed -nE 's/^([a-z-]+):.* ## (.*)/make \1|\2/p' Makefile | sort | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

demo: build ## a split, a study and its report, into two pages
	anabranch split $(DEMO_TRACE) --weights 4,3,2 --change 4,3,1 --fail 2 --add 5 --report $(DEMO_REPORT)
	anabranch sweep $(DEMO_STUDY)
	anabranch report $(DEMO_STUDY_RESULTS) --out $(DEMO_STUDY_REPORT)
	@echo "make demo: open $(DEMO_REPORT) and $(DEMO_STUDY_REPORT)"

# The documentation as a site, with packages of its own: nothing else needs them.
docs: .make/docs/environment build ## the documentation as a site
	@rm -rf build/recorded
	@anabranch reproduce --all --recorded --quiet --output build/recorded
	@NO_MKDOCS_2_WARNING=1 .make/docs/bin/mkdocs build --strict --quiet
	@echo "make docs: open build/site/index.html"

# The C library for programs of others: header, static and shared library, anabranch.pc (docs/c.md).
PREFIX ?= build/c
c: .make/tools ## the C library, into PREFIX: make c PREFIX=/usr/local
	@cargo build --release --locked --package anabranch-c
	@crates/c/install.sh $(or $(CARGO_TARGET_DIR),target)/release $(PREFIX)
	@echo "make c: $(PREFIX) has include/anabranch.h and lib/"

# What is published, in dist/: a wheel for any Linux on x86-64 with glibc 2.17 (zig links it for that version, whatever is
# installed here), and the source distribution; both are installed into an environment of their own and tried.
wheel: export VIRTUAL_ENV := $(CURDIR)/.make/wheel
wheel: export PYO3_PYTHON := $(CURDIR)/.make/wheel/bin/python
wheel: export PATH := $(CURDIR)/.make/wheel/bin:$(PATH)
wheel: .make/wheel/environment ## what is published, in dist/
	@rm -rf dist
	@maturin build --release --locked --strip --zig --compatibility manylinux2014 --out dist
	@maturin sdist --out dist
	@python packaging/check.py dist
	@echo "make wheel: dist/ has what would be published"

# Licences of what the wheel's extension module is linked of; a test says when they are stale.
licences: ## THIRD-PARTY.md anew, when a crate changes its version
	@command -v cargo-about >/dev/null || \
	  { echo "make: cargo-about is missing: cargo install --locked --features cli cargo-about" >&2; exit 1; }
	@cargo about generate --locked --offline --fail --config packaging/about.toml --manifest-path crates/py/Cargo.toml \
	  --output-file THIRD-PARTY.md packaging/third-party.hbs

# The pages of docs/ that are made of the code; tests compare them.
reference: build ## pages and tables of the documentation that are made of the code
	@cargo run --release --quiet --package anabranch-scenario --example reference >.make/scenario.md
	@mv .make/scenario.md docs/scenario.md
	@cargo run --release --quiet --package anabranch-c --example header >.make/anabranch.h
	@mv .make/anabranch.h crates/c/include/anabranch.h
	@python -m anabranch.cli.reference

# The Python half waits for traffic and switches most of the time, so the Rust half, which does not, runs beside it.
test: ## every check and test, as CI runs them
	@$(MAKE) --no-print-directory --jobs=2 build programs
	@$(MAKE) --no-print-directory format
	@$(MAKE) --no-print-directory --jobs=2 test-python test-rust
	@tests/skipped.sh .make/python.log .make/rust.log
	@echo "make test: all checks and tests passed"

test-python:
	@echo "Python tests; beside them clippy, mypy and Rust tests write into .make/rust.log"
	@tests/limit.sh $(LIMIT_S) pytest --quiet --numprocesses $(WORKERS) --dist loadgroup -rs | tee .make/python.log

test-rust:
	@$(NICE) $(MAKE) --no-print-directory clippy types cargo-test >.make/rust.log 2>&1 || { cat .make/rust.log >&2; exit 1; }

cargo-test:
	$(CHECKED) ANABRANCH_LIMIT_S=$(PROGRAM_LIMIT_S) tests/limit.sh $(LIMIT_S) \
	  cargo test --release --workspace --exclude anabranch-bench --quiet

# Of Rust the unit tests of crates up to the load balancers: tests of those above link every engine.
check: build format ## formats, lints, types and fast unit tests, in under two minutes: for the daily loop
	@$(MAKE) --no-print-directory --jobs=2 types clippy unit-tests
	@echo "make check: passed; make test has the rest"

unit-tests:
	$(CHECKED) cargo test --release --lib $(addprefix --package anabranch-,split fabric work traffic plan form sim balancers) --quiet
	pytest --quiet --numprocesses $(WORKERS) -m "not root and not ovs" $(addprefix tests/,$(UNIT))

test-slow: build ## what takes minutes: crates outside the tree, built from nothing
	pytest --quiet -m slow
	$(CHECKED) cargo test --release --package anabranch-kernel --test it --quiet -- --ignored objects
	$(CHECKED) cargo test --release --package anabranch-proxies --quiet -- --ignored

# Random scenarios for as long as asked for: make attack SEED=7 MINUTES=60, or COUNT=100000 (docs/attack.md).
attack: .make/tools ## random scenarios: SEED=7 MINUTES=60, or COUNT=100000
	@ATTACK_SEED="$(SEED)" ATTACK_FIRST="$(FIRST)" ATTACK_COUNT="$(COUNT)" ATTACK_MINUTES="$(MINUTES)" $(CHECKED) \
	  cargo test --release --package anabranch-record --test attack --quiet -- --ignored --nocapture on_demand

# Miri interprets the tests of the splitter's unsafe code: all of AVX2, and of AVX-512 what it knows. It starts in /
# because .cargo/config.toml has a runner, and Miri brings its own.
MIRI := cd / && MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-strict-provenance -Zmiri-symbolic-alignment-check" \
  PROPTEST_CASES=4 CARGO_TARGET_DIR=$(CURDIR)/.make/miri cargo +nightly miri test --quiet --lib \
  --manifest-path $(CURDIR)/Cargo.toml --package anabranch-split --

miri: .make/tools ## the splitter's unsafe code, interpreted by Miri: needs nightly Rust
	@cargo +nightly miri --version >/dev/null 2>&1 || \
	  { echo "make: Miri is missing: rustup toolchain install nightly --component miri,rust-src" >&2; exit 1; }
	@export RUSTFLAGS="-C target-feature=+avx2,+fma"; $(MIRI) picks::lanes picks::rendezvous_bound
	@export RUSTFLAGS="-C target-feature=+avx512f"; $(MIRI) picks::lanes::tests::scores

programs:
	@tests/system_programs.sh

lint: build format clippy types ## formats, lints and types

format:
	cargo fmt --all --check
	cargo fmt --manifest-path ebpf/Cargo.toml --check
	ruff check .
	ruff format --check .

# All of it with every feature, then what kernel programs take, which is `no_std` (tests/house/test_feature_sets.py).
clippy:
	$(CHECKED) cargo clippy --release --workspace --all-targets --quiet
	$(CHECKED) cargo clippy --release $(addprefix --package anabranch-,split balancers kernel) --no-default-features --quiet

types:
	mypy

bench: build ## the benchmarks
	cargo bench --workspace --exclude anabranch-py

build: .make/extension ## the environment in .venv and the extension

clean: ## everything that was built goes
	rm -rf .make $(VENV) target build dist $(DEMO_REPORT) $(DEMO_STUDY_REPORT)

.make/tools:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || \
	  { echo "make: $(PYTHON) is missing or older than 3.10: apt install python3, or make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "make: $(PYTHON) has no venv module: apt install python3-venv" >&2; exit 1; }
	@command -v cargo >/dev/null || \
	  { echo "make: cargo is missing: install Rust 1.89 or newer from https://rustup.rs" >&2; exit 1; }
	@command -v cc >/dev/null || \
	  { echo "make: there is no C linker: apt install build-essential" >&2; exit 1; }
	@mkdir -p $(@D) && touch $@

.make/environment: requirements.lock | .make/tools
	@echo "installing the locked Python packages into $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --require-hashes -r requirements.lock
	@mkdir -p $(@D) && touch $@

.make/docs/environment: docs/requirements.lock
	@echo "installing the locked packages of the documentation into .make/docs"
	@test -x .make/docs/bin/python || $(PYTHON) -m venv .make/docs
	@.make/docs/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --require-hashes -r $<
	@touch $@

.make/wheel/environment: packaging/requirements.lock | .make/tools
	@echo "installing the locked packages that build wheels into .make/wheel"
	@test -x .make/wheel/bin/python || $(PYTHON) -m venv .make/wheel
	@.make/wheel/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --require-hashes -r $<
	@touch $@

.make/extension: .make/environment pyproject.toml $(RUST_SOURCES)
	@echo "building the extension: two minutes the first time, seconds later"
	@maturin develop --release >.make/build.log 2>&1 || { cat .make/build.log >&2; exit 1; }
	@touch $@
