# One entry for everything: `make demo`, `make test`, `make lint`. CI runs the same targets.
PYTHON ?= python3
VENV ?= .venv
# What is installed beside the lab itself; CI says EXTRAS=dev,postgres,dashboard,ray.
EXTRAS ?= dev
BIN := $(VENV)/bin
comma := ,
READY := $(VENV)/.ready-$(subst $(comma),-,$(EXTRAS))

.PHONY: setup demo test lint format bench docs clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt torch
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[$(EXTRAS)]'
	touch $@

demo: $(READY)  ## tune recorded kernels, show what a winner costs elsewhere, write the report
	$(BIN)/python studies/quickstart.py

# The suite starts hundreds of processes: with bytecode written, each starts half a second sooner.
test: $(READY)  ## the whole test suite, without a GPU
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: $(READY)  ## style, types, layers, spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## what can be measured without a GPU
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/store.py
	$(BIN)/python benchmarks/search.py

clean:
	rm -rf out dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
