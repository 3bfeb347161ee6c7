# make run: the app · make test: all tests, the browser's included · make check: what CI runs

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: run test check lint bench pictures lock clean

run: $(VENV)/.run
	$(BIN)/streamlit run app.py

test: $(VENV)/.dev
	$(BIN)/python scripts/browser.py
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint test

bench: $(VENV)/.dev
	$(BIN)/python -m tests.bench

pictures: $(VENV)/.dev
	$(BIN)/python scripts/browser.py
	$(BIN)/python scripts/pictures.py

# Each environment is made anew only when its requirements change.
$(VENV)/.run: requirements.txt constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -r requirements.txt
	touch $@

$(VENV)/.dev: requirements.txt requirements-dev.txt constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -r requirements-dev.txt
	touch $@ $(VENV)/.run

# The newest versions within the bounds of the requirements, written down exactly.
lock:
	$(PYTHON) scripts/lock.py

clean:
	rm -rf $(VENV) .hypothesis .mypy_cache .pytest_cache .ruff_cache
