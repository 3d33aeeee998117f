# Each target sets itself up: the virtual environment in .venv, pinned by constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test check docs dist bench clean

run: .venv/ready-run
	mkdir -p demo
	$(BIN)/sojourn study run studies/demo/study.toml --store demo/demo.sqlite --report demo/report.html

test: .venv/ready-dev
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup
	NUMBA_BOUNDSCHECK=1 XDG_CACHE_HOME=$(CURDIR)/.cache/boundscheck $(BIN)/python -m pytest -q -p no:cacheprovider -n 2 --dist loadfile tests/kernels
	@$(BIN)/python tests/not_run.py

check: .venv/ready-dev
	$(BIN)/ruff check src tests benchmarks examples docs
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n 2 -m "not slow"

docs: .venv/ready-dev
	$(BIN)/python -m sphinx -b html -q --fail-on-warning --keep-going docs docs/_build/html
	@echo "the book: docs/_build/html/index.html"

# A wheel and a source archive in dist/, each installed into an environment of its own and tried without the repository.
dist: .venv/ready-dev
	rm -rf dist && $(BIN)/python -m hatchling build --directory dist
	for made in dist/*.whl dist/*.tar.gz; do \
		rm -rf dist/env && $(PYTHON) -m venv dist/env \
		&& dist/env/bin/pip install --quiet --constraint constraints.txt "$$made[plot]" \
		&& dist/env/bin/pip check && (cd dist && env/bin/python ../tests/installed.py) || exit 1; done
	rm -rf dist/env

bench: .venv/ready-dev
	for file in benchmarks/[a-z]*.py; do $(BIN)/python $$file || exit 1; done

.venv/ready-run: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[plot]'
	@touch $@

.venv/ready-dev: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@ .venv/ready-run

clean:
	rm -rf .venv .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis demo dist docs/_build
