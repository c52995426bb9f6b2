# Two commands matter: `make run` and `make test`. Everything else is behind them.
PORT ?= 8501
PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/uv pip install --python $(BIN)/python --quiet --compile-bytecode

.PHONY: run setup test browser check format bench clean

run: setup
	@$(BIN)/python -m streamlit run app.py --server.port $(PORT)

setup: .venv/ready

.venv/ready: requirements.txt requirements.lock requirements-local.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tiebreak needs Python 3.11 or newer")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet uv
	@$(UV) -r requirements.txt -c requirements.lock
	@$(UV) --no-deps -r requirements-local.txt || echo "The local judge could not be installed; all else works."
	@touch $@

.venv/ready-for-tests: .venv/ready requirements-test.txt
	@$(UV) -r requirements-test.txt -c requirements.lock
	@touch $@

test: .venv/ready-for-tests check browser
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile

browser:
	@command -v chromium >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "Installing chromium for the browser tests"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; \
	  else echo "No chromium: the browser tests will be skipped (apt-get install chromium)"; fi; }

check: .venv/ready-for-tests
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet . || { echo "Some files are not formatted: make format"; exit 1; }
	@$(BIN)/mypy

format: .venv/ready-for-tests
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format --quiet .

bench: .venv/ready-for-tests
	@for file in tests/bench/bench_*.py; do $(BIN)/python -m tests.bench.$$(basename $$file .py); done

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache
