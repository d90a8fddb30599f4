# The project's commands. `make` alone lists them.
PYTHON ?= python3
VENV := .venv/bin
COMPILER := $(VENV)/python -m compiler
# As many test processes as the smallest machine that this is run on has cores.
JOBS ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup images-setup demo rehearse test test-images lint golden docs tools e2e-tools e2e e2e-matrix bench lock

help: ## List the targets
	@sed -n 's/^\([a-z0-9 -]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

setup: ## Make .venv from requirements/dev.lock; does nothing when it is up to date
	@$(PYTHON) tools/setup.py

tools: setup ## Get the pinned kustomize, the oldest supported one, and actionlint
	@$(VENV)/python tools/install.py kustomize kustomize-oldest actionlint

demo: setup ## Check this repository, render a job, build all overlays into build/, rehearse a job
	@$(VENV)/python tools/install.py --if-missing kustomize
	@sh tools/demo.sh $(COMPILER)

rehearse: images-setup ## Run a job small on this machine: JOB=llm-sft ARGS=--nodes=1
	@$(COMPILER) rehearse $(or $(JOB),llm-sft --processes 1 --timeout 900) $(ARGS)

images-setup: setup ## Make .venv-images, with torch, from images/requirements.lock
	@$(VENV)/python tools/images.py

# The images first, so that the last lines are those of the larger part; both run whatever happens.
test: setup tools ## Run all tests
	@status=0; \
	$(MAKE) --no-print-directory test-images || status=1; \
	$(VENV)/python -m pytest -n $(JOBS) $(ARGS) || status=1; \
	exit $$status

test-images: images-setup ## Run the tests of the images only
	@.venv-images/bin/python -m pytest -c images/pytest.ini --rootdir images images $(IMAGES_ARGS)

lint: setup ## Check format, style, types, generated files and workflows
	@$(VENV)/ruff format --check .
	@$(VENV)/ruff check .
	@$(VENV)/pyright
	@if [ -x .venv-images/bin/python ]; then $(VENV)/pyright --project images; \
	else echo "lint: no .venv-images here (make images-setup); types of the images left out"; fi
	@$(COMPILER) schema --check
	@$(COMPILER) codeowners --check
	@$(VENV)/python -m compiler.docgen --check
	@$(VENV)/python tools/argument_schemas.py --check
	@$(VENV)/zizmor --offline --quiet --no-progress .github/workflows
	@if ls .cache/compiler/tools/actionlint-*/actionlint >/dev/null 2>&1; then \
	  .cache/compiler/tools/actionlint-*/actionlint; \
	else echo "lint: no actionlint here (make tools builds it with Go); left out"; fi

golden: setup tools ## Write the golden files anew from what the compiler now does
	@$(VENV)/python -m pytest --update-golden $(ARGS)

docs: setup ## Write schemas/, docs/rules/ and the schemas of images' arguments anew
	@$(COMPILER) schema
	@$(VENV)/python -m compiler.docgen
	@$(VENV)/python tools/argument_schemas.py

bench: setup tools ## Measure check and build against their floors
	@$(VENV)/python benchmarks/run.py $(ARGS)

e2e-tools: setup tools ## Build the servers of a control plane with Go: half an hour, once
	@$(VENV)/python tools/install.py control-plane

e2e: images-setup e2e-tools ## Test against a real control plane, operator, Kueue, Flux and Argo CD
	@$(VENV)/python -m pytest tests/controlplane -n 3 $(ARGS)

e2e-matrix: images-setup e2e-tools ## Test against sets of versions, into docs/tested-with.md: SETS=newest
	@$(VENV)/python tools/matrix.py $(SETS) $(ARGS)

lock: setup ## Write requirements/*.lock anew; UPGRADE=--upgrade takes newer versions
	@for lock in runtime dev; do \
	  inputs=pyproject.toml; [ $$lock = runtime ] || inputs="pyproject.toml requirements/dev.in"; \
	  $(VENV)/uv pip compile $$inputs --output-file requirements/$$lock.lock $(UPGRADE) \
	    --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-emit-find-links --custom-compile-command "make lock" --quiet || exit 1; \
	done
	@cd images && for at in requirements.in ddp-mini/pyproject.toml llm-sft/pyproject.toml \
	    pretrain/pyproject.toml; do \
	  into=$$(dirname $$at)/requirements.lock; \
	  python=3.12; [ $$at != requirements.in ] || python=3.11; \
	  without="--override requirements.overrides"; \
	  case $$at in llm-sft/*|pretrain/*) without=;; esac; \
	  ../$(VENV)/uv pip compile $$at $$without --output-file $$into \
	    $(UPGRADE) --universal --python-version $$python --generate-hashes --no-emit-index-url \
	    --no-emit-find-links --custom-compile-command "make lock" --quiet || exit 1; \
	done
	@$(VENV)/uv pip compile tools/peers/kcl.in --output-file tools/peers/kcl.lock $(UPGRADE) \
	  --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --custom-compile-command "make lock" --quiet
