# The course's front door: each target sets up what it needs first. `make` alone lists them.

PYTHON ?= python3
EDITABLE := --editable
LAB_ARGS ?=
TEST_ARGS ?=
DEMO_ARGS ?=
BENCH_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
SITE_INSTALLED := $(VENV)/installed-site
HUB_INSTALLED := $(VENV)/installed-hub
# A class server's Python stands beside the course's folder, which students may not enter.
CLASS := $(abspath ..)
JUPYTER := $(CURDIR)/etc/jupyter

.DEFAULT_GOAL := help
.PHONY: help lab install install-site install-hub install-class class-server formgrader demo build docs site test bench lint format lock clean

help:
	@echo "make lab         take the course: JupyterLab in a folder of your own"
	@echo "make install     install the course and start nothing"
	@echo "make formgrader  for instructors: JupyterLab at the project's root, with nbgrader's panels"
	@echo "make install-class, make class-server  for a school: docs/class-server.md"
	@echo "make demo        the instructor's loop on a class of made-up students"
	@echo "make build       build the notebooks from the sources under solutions/"
	@echo "make docs        write what of the documents is made from the code"
	@echo "make site        the course as a static site to read, in build/site/html"
	@echo "make test        run every test"
	@echo "make bench       measure how long grading a class takes (some ten minutes)"
	@echo "make lint        ruff's rules and format, types by ty, imports;  make format mends the former"
	@echo "make lock        renew requirements.lock and the locks of the extras"
	@echo "make clean       remove .venv and everything that tools leave behind"
	@echo
	@echo "Linux without a GPU, the small PyTorch build:  UV_TORCH_BACKEND=cpu make lab"
	@echo "Another Python, 3.11 to 3.13:                  make clean, make PYTHON=python3.12 lab"
	@echo "Options for JupyterLab or pytest:              make lab LAB_ARGS=--no-browser"

# The exec lets Ctrl-C reach JupyterLab with no shell in between.
lab: $(INSTALLED)
	@exec $(BIN)/course lab $(LAB_ARGS)

install: $(INSTALLED)

# What the site and its tests need beyond that.
install-site: $(SITE_INSTALLED)

# What a class server and its tests need beyond that.
install-hub: $(HUB_INSTALLED)

# As root, in a folder that holds nothing else: again after each new state of the course.
install-class:
	@$(MAKE) --no-print-directory VENV="$(CLASS)/python" EDITABLE= install-hub
	@"$(CLASS)/python/bin/uv" pip install --quiet --python "$(CLASS)/python/bin/python" \
		--compile-bytecode --no-deps --reinstall-package pytorch-notebook-course .
	@"$(CLASS)/python/bin/python" hub/install.py

class-server:
	@exec "$(CLASS)/python/bin/python" hub/start.py

formgrader: $(INSTALLED)
	@JUPYTER_CONFIG_PATH="$(JUPYTER)" exec $(BIN)/jupyter lab $(LAB_ARGS)

demo: $(INSTALLED)
	@PYTHONPATH=tests $(BIN)/python -m support.classroom $(DEMO_ARGS)

build: $(INSTALLED)
	@$(BIN)/course build

# Two processes, as tests/conftest.py deals the tests out; one thread each, or the two get in each
# other's way: torch would take every core twice.
test: $(INSTALLED)
	@OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadgroup --no-loadscope-reorder $(TEST_ARGS)

# What of the documents is made from the code: README's map, tables, the page of rules.
docs: $(INSTALLED)
	@PYTHONPATH=tests $(BIN)/python -m support.documents

# From the committed notebooks: nothing is executed. Pages that did not change stay.
site: $(SITE_INSTALLED)
	@PYTHONPATH=site OMP_NUM_THREADS=1 $(BIN)/python -m course_site

bench: $(INSTALLED)
	@PYTHONPATH=tests $(BIN)/python benchmarks/grading.py $(BENCH_ARGS)

lint: $(INSTALLED)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/ty check --python .venv
	@$(BIN)/lint-imports --no-cache --no-logo

format: $(INSTALLED)
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

# Without the variable for one machine's torch build: the lock serves every machine.
lock: $(BIN)/uv
	@unset UV_TORCH_BACKEND; UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile --quiet --upgrade --universal \
		--extra test --python-version 3.11 pyproject.toml --output-file requirements.lock
	@for extra in site hub; do \
		$(BIN)/python -c "$$ONE_EXTRA" $$extra | UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip \
			compile --quiet --upgrade --universal --python-version 3.11 \
			--constraint requirements.lock - --output-file requirements-$$extra.lock || exit 1; \
	done

# One extra alone: what it shares with the course is held to the first lock.
define ONE_EXTRA
import sys, tomllib
with open("pyproject.toml", "rb") as file:
    print(*tomllib.load(file)["project"]["optional-dependencies"][sys.argv[1]], sep="\n")
endef
export ONE_EXTRA

clean:
	rm -rf .venv .pytest_cache .ruff_cache build dist
	find . \( -name __pycache__ -o -name .ipynb_checkpoints \) -type d -prune -exec rm -rf {} +

# One pinned set for everybody. What the tests add weighs little beside torch, and a second set
# would be a second thing to keep right.
$(INSTALLED): pyproject.toml requirements.lock | $(BIN)/uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode \
		--requirement requirements.lock $(EDITABLE) . || { \
		echo "The installation stopped. With a network it goes on: run make again." \
			"If it stops once more: make clean, then make again."; exit 1; }
	@touch $@

$(SITE_INSTALLED): requirements-site.lock $(INSTALLED)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode \
		--requirement requirements-site.lock
	@touch $@

$(HUB_INSTALLED): requirements-hub.lock $(INSTALLED)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode \
		--requirement requirements-hub.lock
	@touch $@

# Without ensurepip, which Debian and Ubuntu keep in a package of its own.
$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || { \
		echo "The course needs Python 3.11 to 3.13, and $(PYTHON) is not: name one that is," \
			"for instance make PYTHON=python3.12 lab"; exit 1; }
	@$(PYTHON) -m venv --without-pip "$(VENV)"
	@$(PYTHON) -m pip --python $(BIN)/python install --quiet uv pip || { \
		echo "uv, which installs the rest, could not be installed: is there a network?" \
			"Run make again when there is."; exit 1; }
