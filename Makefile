# make demo   from nothing to an answered question; EXTRAS=ocr reads scans and pictures too,
#             EXTRAS=multilingual embeds many languages, EXTRAS="ocr multilingual" does both
# make serve  the service alone                          make test    the whole suite
# make check  lint, types, import contracts               make lock    the locks again
# make audit  known advisories of the locked packages     make test-adapters   the client in each agent framework
# make dist   wheels and sdists of service and client
# make fuzz   10,000 requests made from the description   make faults  the long version of the fault tests

VENV := .venv
BIN := $(VENV)/bin
RECENT := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c '$(RECENT)' >/dev/null 2>&1 && echo $$p && break; done)
UV := $(BIN)/python -m uv
COMPILE := $(UV) pip compile pyproject.toml --group tools --group weights --universal --python-version 3.11 --generate-hashes --quiet --no-header
PIP_AUDIT := 2.10.1
EXTRAS ?=
LOCKS := requirements.lock $(EXTRAS:%=requirements-%.lock)
STAMP := $(VENV)/.run$(subst $() ,,$(EXTRAS:%=-%))
RUN := $(if $(wildcard $(VENV)/.dev),$(VENV)/.dev,$(STAMP))
ifneq (,$(filter multilingual,$(EXTRAS)))
export STEPWELL_EMBEDDER ?= e5
endif

# Empty means unset: Python keeps its bytecode. The suite starts hundreds of processes, and each would compile them.
export PYTHONDONTWRITEBYTECODE :=

ADAPTERS := langchain llamaindex pydantic-ai adk openai-agents

.PHONY: demo serve test test-adapters image-proof fuzz faults check format lock audit schema openapi examples screenshots dist clean

demo: $(RUN)
	$(BIN)/stepwell demo $(ARGS)

serve: $(RUN)
	$(BIN)/stepwell serve $(ARGS)

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder $(ARGS)

# The frameworks' requirements conflict, so each adapter is tested in an environment of its own, outside `test`.
test-adapters: $(RUN)
	for extra in $(ADAPTERS); do \
		$(UV) venv --quiet --clear .venv-adapters/$$extra && \
		$(UV) pip install --quiet --python .venv-adapters/$$extra/bin/python "./client[$$extra]" pytest pytest-asyncio && \
		.venv-adapters/$$extra/bin/python -m pytest -c client/pyproject.toml client/tests -q -rs $(ARGS) || exit 1; \
	done
	$(UV) venv --quiet --clear .venv-adapters/vendors
	$(UV) pip install --quiet --python .venv-adapters/vendors/bin/python ./client openai anthropic google-genai pytest pytest-asyncio
	.venv-adapters/vendors/bin/python -m pytest -c client/pyproject.toml client/tests -q -k definitions
	npm install --silent --prefix .venv-adapters/vercel $$($(BIN)/python client/tests/frameworks.py vercel-ai-sdk) || \
		echo "vercel-ai-sdk was not installed, and is not tested"
	for name in $$($(BIN)/python client/tests/frameworks.py); do \
		$(UV) venv --quiet --clear .venv-adapters/$$name && \
		$(UV) pip install --quiet --python .venv-adapters/$$name/bin/python ./client pytest pytest-asyncio \
			$$($(BIN)/python client/tests/frameworks.py $$name) || \
			{ echo "$$name was not installed, and is not tested"; continue; }; \
		.venv-adapters/$$name/bin/python -m pytest -c client/pyproject.toml client/tests/test_frameworks.py -q $(ARGS) || exit 1; \
	done

# Builds the Dockerfile and runs the image without a Docker engine, as root, with Debian's buildah, crun, podman and debootstrap:
# make image-proof ARGS='--work FOLDER --stand-in PREFIX'
image-proof: $(RUN)
	$(BIN)/python .ci/image-proof $(ARGS)

fuzz: $(VENV)/.dev
	STEPWELL_FUZZ_CASES=10000 $(BIN)/python -m pytest tests/http/contract/test_fuzz.py -s $(ARGS)

faults: $(VENV)/.dev
	STEPWELL_FAULTS=full STEPWELL_TEST_KILLS=20 $(BIN)/python -m pytest tests/faults tests/test_durability.py tests/benchmarks/test_soak.py tests/benchmarks/test_attacks.py tests/text/test_linear_time.py tests/agents/mcp/test_mcp_cli.py tests/entities/linking tests/search/steps/entity_guidance/test_guidance_does_no_harm.py tests/access/api/test_restricted_keys.py -s -o faulthandler_timeout=3600 $(ARGS)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

openapi schema: $(VENV)/.dev
	$(BIN)/stepwell openapi > openapi/openapi.json
	$(BIN)/stepwell openapi --contract tools > openapi/tools.json
	$(BIN)/stepwell openapi --contract mcp > openapi/mcp.json
	STEPWELL_WRITE_SCHEMA=1 $(BIN)/python -m pytest -q tests/migrations/test_migrations.py -k schema_sql
	$(BIN)/python client/generate.py

# The successful responses that the OpenAPI document shows; run `make openapi` afterwards.
examples: $(VENV)/.dev
	STEPWELL_WRITE_EXAMPLES=1 $(BIN)/python -m pytest tests/http/contract/test_success_examples.py

screenshots: $(VENV)/.dev
	$(BIN)/python docs/screenshots.py

lock: $(BIN)/uv
	$(COMPILE) -o requirements.lock
	$(COMPILE) --extra ocr -o requirements-ocr.lock
	$(COMPILE) --extra multilingual -o requirements-multilingual.lock
	$(COMPILE) --extra ocr --extra multilingual --group dev -o requirements-dev.lock
	echo uv | $(UV) pip compile - --constraint requirements.lock --universal --python-version 3.11 --generate-hashes --quiet \
		--no-header --output-file requirements-uv.lock

# Compares the locked packages with the advisories on PyPI. It needs a network, and stays out of `check` and CI: a new
# advisory must not stop a change that has nothing to do with it.
audit: $(BIN)/uv
	$(UV) tool run pip-audit==$(PIP_AUDIT) --requirement requirements.lock --disable-pip --require-hashes --progress-spinner off

dist: $(RUN)
	$(BIN)/python -m hatchling build -d dist
	cd client && ../$(BIN)/python -m hatchling build -d ../dist

clean:
	rm -rf $(VENV) dist

$(BIN)/uv: requirements-uv.lock
	@test -n "$(PYTHON)" && $(PYTHON) -c '$(RECENT)' || { echo "Stepwell needs Python 3.11 or newer."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-uv.lock
	@touch $@

# A sync removes what its lock does not name; uv and pip stay.
$(STAMP): $(LOCKS) pyproject.toml | $(BIN)/uv
	$(UV) pip sync --quiet --python $(BIN)/python --require-hashes $(LOCKS)
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements-dev.lock pyproject.toml | $(BIN)/uv
	$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements-dev.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@
