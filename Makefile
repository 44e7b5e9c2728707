# make demo   plays 2,000 matches on a local Ray      make test   runs the test suite
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check format bench clean

demo: .venv/ready
	@rm -rf runs/demo
	$(BIN)/quorum run game=provision_point/full agents=provision_point/mixed runtime=ray num_matches=2000 seed=1 out=runs/demo

test: .venv/ready
	$(BIN)/pytest

check: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/ready
	$(BIN)/quorum bench

clean:
	rm -rf .venv build dist *.egg-info

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@
