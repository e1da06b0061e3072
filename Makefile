# A fresh machine needs Go, Python 3.10 or newer, and a package index. The
# Python environment is made in the user's data directory (XDG_DATA_HOME).

GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -X understudy/internal/app.version=$(VERSION)

# The tools are pinned here and nowhere else.
GOLANGCI_LINT := v2.15.0
RUFF := 0.17.6
UV := 0.13.9
CYCLONEDX_GOMOD := v1.10.0
MCP_REGISTRY := v1.8.9

PYTHON ?= $(shell command -v python3 || command -v python)
TOOLS := build/tools
CONFORMANCE := build/conformance
NOTEBOOKS := build/notebooks
KUBERNETES := build/kubernetes
PIP := $(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check

# The race detector needs a C compiler; without one the tests run without it.
CC_FOUND := $(shell command -v "$$($(GO) env CC)" 2>/dev/null)
RACE ?= $(if $(CC_FOUND),-race)

FUZZTIME ?= 10s
FUZZ_VERIFY ?= 60
SOAK ?= 10m
SOAK_HTTP ?= 1h

.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build ./understudy
	$(GO) build -ldflags '$(LDFLAGS)' -o understudy .

.PHONY: setup
setup: build ## Build, and prepare the Python environment with the scientific libraries
	@./understudy setup >/dev/null

.PHONY: run
run: setup ## Set up, and show the main job: understudy demo
	UNDERSTUDY_PYTHON="$$(./understudy setup 2>/dev/null)" ./understudy demo

.PHONY: test
test: test-python test-go cross ## Set up, and run every test

# Left out: what starts hundreds of interpreters, and the race detector.
QUICK_GO = $(shell $(GO) list ./... | grep -v -E '/(worker|e2e|conformance|soak)$$')
QUICK_SCRIPTS := crash|undo|branch|figures|project|variables|http|policy

.PHONY: test-quick
test-quick: setup ## Set up, and run in two minutes what finds most faults
	"$$(./understudy setup 2>/dev/null)" -m pyworker.tests pyworker.tests.test_cells pyworker.tests.test_session
	UNDERSTUDY_TEST_PYTHON="$$(./understudy setup 2>/dev/null)" $(GO) test $(QUICK_GO)
	UNDERSTUDY_TEST_PYTHON="$$(./understudy setup 2>/dev/null)" $(GO) test ./internal/e2e -run 'TestScripts/($(QUICK_SCRIPTS))$$'

.PHONY: test-python
test-python: setup ## Run the tests of the Python half
	"$$(./understudy setup 2>/dev/null)" -m pyworker.tests

.PHONY: test-go
test-go: setup ## Run the tests of the Go half
	$(GO) vet ./...
	@$(if $(RACE),,echo "No C compiler was found: the tests run without the race detector.")
	$(if $(RACE),CGO_ENABLED=1) UNDERSTUDY_TEST_PYTHON="$$(./understudy setup 2>/dev/null)" $(GO) test $(RACE) -timeout 25m ./...

.PHONY: cross
cross: ## Check that everything compiles for macOS and Windows
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...

.PHONY: lint
lint: build/bin/golangci-lint-$(GOLANGCI_LINT) $(TOOLS)/ruff-$(RUFF) ## Run golangci-lint and ruff
	build/bin/golangci-lint-$(GOLANGCI_LINT) run
	$(TOOLS)/bin/ruff check
	$(TOOLS)/bin/ruff format --check

.PHONY: format
format: build/bin/golangci-lint-$(GOLANGCI_LINT) $(TOOLS)/ruff-$(RUFF) ## Format the Go and the Python code
	build/bin/golangci-lint-$(GOLANGCI_LINT) fmt
	$(TOOLS)/bin/ruff format

# Built with a name that holds the version, so a new pin builds a new one. It
# takes a few minutes once.
build/bin/golangci-lint-$(GOLANGCI_LINT):
	GOBIN="$(CURDIR)/build/bin" $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT)
	mv build/bin/golangci-lint $@

build/bin/cyclonedx-gomod-$(CYCLONEDX_GOMOD):
	GOBIN="$(CURDIR)/build/bin" $(GO) install -trimpath github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX_GOMOD)
	mv build/bin/cyclonedx-gomod $@

$(TOOLS)/bin/python:
	$(PYTHON) -m venv $(TOOLS)

$(TOOLS)/ruff-$(RUFF): | $(TOOLS)/bin/python
	$(PIP) ruff==$(RUFF)
	touch $@

$(TOOLS)/uv-$(UV): | $(TOOLS)/bin/python
	$(PIP) uv==$(UV)
	touch $@

.PHONY: conformance
conformance: setup $(CONFORMANCE)/npm.ready $(CONFORMANCE)/python.ready $(CONFORMANCE)/pythonv1.ready ## Run the official conformance suite, the Inspector, real clients and other servers; UPDATE=1 notes how it went
	UNDERSTUDY_CONFORMANCE="$(CURDIR)/$(CONFORMANCE)" UNDERSTUDY_TEST_PYTHON="$$(./understudy setup 2>/dev/null)" \
		$(GO) test -count=1 -timeout 20m -parallel 4 ./internal/conformance $(if $(UPDATE),-update)
	UNDERSTUDY_CONFORMANCE="$(CURDIR)/$(CONFORMANCE)" UNDERSTUDY_TEST_PYTHON="$$(./understudy setup 2>/dev/null)" \
		$(GO) test -count=1 -run '^TestRealServers' ./internal/e2e $(if $(UPDATE),-update)

# Scripts of packages are not run: what we use needs none.
$(CONFORMANCE)/npm.ready: testdata/conformance/package.json testdata/conformance/package-lock.json
	@command -v npm >/dev/null || { echo "make conformance needs npm, which comes with Node (https://nodejs.org)." >&2; exit 1; }
	mkdir -p $(CONFORMANCE)
	cp $^ $(CONFORMANCE)
	cd $(CONFORMANCE) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

# The clients need Python 3.11. Those of the two lines of the Python SDK can't be in
# one environment.
$(CONFORMANCE)/python.ready: testdata/conformance/requirements.lock
$(CONFORMANCE)/pythonv1.ready: testdata/conformance/v1/requirements.lock
$(CONFORMANCE)/python%ready: | $(TOOLS)/uv-$(UV)
	$(TOOLS)/bin/uv venv --quiet --clear --python $(PYTHON) $(@:.ready=)
	$(TOOLS)/bin/uv pip install --quiet --python $(@:.ready=)/bin/python -r $<
	touch $@

.PHONY: notebooks
notebooks: setup $(NOTEBOOKS)/ready ## Export a session and an experiment as notebooks, run them in Jupyter, and compare the outputs; the dialect's cells too
	UNDERSTUDY_NOTEBOOKS="$(CURDIR)/$(NOTEBOOKS)" UNDERSTUDY_TEST_PYTHON="$$(./understudy setup 2>/dev/null)" \
		$(GO) test -count=1 -run '^(TestNotebook|TestExperiment$$)' ./internal/e2e

# Jupyter's kernel finds the scientific libraries where setup has put them.
$(NOTEBOOKS)/ready: testdata/notebooks/requirements.lock | setup
	@set -e; python="$$(./understudy setup 2>/dev/null)"; \
	place='import sysconfig; print(sysconfig.get_path("purelib"))'; \
	"$$python" -m venv --clear $(NOTEBOOKS); \
	$(NOTEBOOKS)/bin/python -m pip install --quiet --disable-pip-version-check -r $<; \
	"$$python" -c "$$place" >"$$($(NOTEBOOKS)/bin/python -c "$$place")/understudy.pth"
	touch $@

.PHONY: kubernetes
kubernetes: kubernetes-machine setup $(KUBERNETES)/ready ## Run understudy on a real Kubernetes of one node, which is gone afterwards; needs root and Debian's containerd
	UNDERSTUDY_KUBERNETES="$(CURDIR)/$(KUBERNETES)" UNDERSTUDY_TEST_PYTHON="$$(./understudy setup 2>/dev/null)" \
		$(GO) test -count=1 -timeout 15m -v ./internal/e2e/kubernetes

.PHONY: kubernetes-machine
kubernetes-machine:
	@[ "$$(id -u)" = 0 ] || { echo "make kubernetes needs root: it makes namespaces, mounts and cgroups." >&2; exit 1; }
	@command -v containerd >/dev/null && command -v ip >/dev/null && [ -e /usr/lib/cni/bridge ] || { \
		echo "make kubernetes needs containerd, its plugins for networks, and ip. On Debian:" >&2; \
		echo "apt-get install --no-install-recommends containerd containernetworking-plugins iproute2" >&2; exit 1; }

# Kubernetes takes ten minutes of a processor once. Its version is said at the link.
TESTCLUSTER := deploy/kubernetes/testcluster
$(KUBERNETES)/ready: $(wildcard $(addprefix $(TESTCLUSTER)/,go.mod go.sum main.go pause/main.go))
	rm -rf $(KUBERNETES)
	mkdir -p $(KUBERNETES)/crds
	cd $(TESTCLUSTER) && CGO_ENABLED=0 $(GO) build -trimpath -o $(CURDIR)/$(KUBERNETES)/ -ldflags "-s -w $$($(GO) list -m \
		-f '-X k8s.io/component-base/version.gitVersion={{.Version}}' k8s.io/kubernetes)" \
		. ./pause sigs.k8s.io/agent-sandbox/cmd/agent-sandbox-controller
	cp "$$(cd $(TESTCLUSTER) && $(GO) list -m -f '{{.Dir}}' sigs.k8s.io/agent-sandbox)"/k8s/crds/*.yaml $(KUBERNETES)/crds
	touch $@

.PHONY: bench
bench: setup ## Measure speed and memory beside ipykernel and jupyter-mcp-server; renews docs/benchmarks.md
	"$$(./understudy setup 2>/dev/null)" bench/bench.py -write

.PHONY: soak
soak: setup ## For SOAK (10m), end interpreters in every way and compare all answers with a model
	UNDERSTUDY_PYTHON="$$(./understudy setup 2>/dev/null)" $(GO) run ./bench/soak -for $(SOAK)

.PHONY: soak-http
soak-http: setup ## For SOAK_HTTP (1h), have many clients use HTTP and SSE, hang up and come back, and compare all answers with a model
	UNDERSTUDY_PYTHON="$$(./understudy setup 2>/dev/null)" $(GO) run ./bench/soak -network -sessions 24 -for $(SOAK_HTTP)

.PHONY: update
update: ## Rewrite the committed schemas and the generated parts of the documentation
	$(GO) test ./tools ./tools/answer -update
	$(GO) test . -run TestDocsAreTrue -update
	$(GO) test . -run TestDocsAreTrue -update

.PHONY: lock
lock: $(TOOLS)/uv-$(UV) ## Pin the newest libraries, and anew what package.json asks for
	@set -e; for place in pyworker testdata/conformance testdata/conformance/v1 testdata/notebooks; do \
		case $$place in testdata/conformance*) python=3.11;; *) python=3.10;; esac; \
		$(TOOLS)/bin/uv pip compile --quiet --universal --python-version $$python --upgrade \
			--custom-compile-command "make lock" $$place/requirements.in -o $$place/requirements.lock; \
	done
	cd testdata/conformance && rm package-lock.json && \
		npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved --loglevel=error

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (10s)
	@set -e; for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$package; \
		done; \
	done

.PHONY: fuzz-verify
fuzz-verify: setup ## For FUZZ_VERIFY (60) seconds, run random code that the policy's checker lets pass, and watch it
	"$$(./understudy setup 2>/dev/null)" -W ignore -m pyworker.tests.policy.verify_fuzz $(FUZZ_VERIFY)

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
SCHEMAS := github.com/CycloneDX/cyclonedx-gomod@$(CYCLONEDX_GOMOD) github.com/modelcontextprotocol/registry@$(MCP_REGISTRY)
SBOM := build/bin/cyclonedx-gomod-$(CYCLONEDX_GOMOD)

# The binaries are static, and the same wherever and from whatever copy of the sources
# they are built.
.PHONY: dist
dist: setup $(SBOM) $(CONFORMANCE)/npm.ready ## Make what people download, in dist/, for PLATFORMS (all), and try it
	rm -rf dist build/dist
	mkdir -p build/dist/completions
	./understudy completion bash >build/dist/completions/understudy.bash
	./understudy completion fish >build/dist/completions/understudy.fish
	./understudy completion zsh >build/dist/completions/_understudy
	@set -e; export CGO_ENABLED=0; for platform in $(PLATFORMS); do \
		export GOOS=$${platform%/*} GOARCH=$${platform#*/}; place=build/dist/$$GOOS-$$GOARCH; echo $$place; \
		$(GO) build -trimpath -buildvcs=false -ldflags '-s -w $(LDFLAGS)' -o $$place/ .; \
		$(SBOM) bin -json -std -licenses -noserial -notimestamp -version '$(VERSION)' -output $$place/sbom.json $$place/understudy* 2>$$place/sbom.log || { cat $$place/sbom.log >&2; exit 1; }; \
	done
	SOURCE_DATE_EPOCH="$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null)}" $(GO) run ./deploy/dist -describe '$(VERSION)'
	UNDERSTUDY_DIST="$(CURDIR)/dist" UNDERSTUDY_CONFORMANCE="$(CURDIR)/$(CONFORMANCE)" UNDERSTUDY_TEST_PYTHON="$$(./understudy setup 2>/dev/null)" \
		UNDERSTUDY_SCHEMAS='$(SCHEMAS)' $(GO) test -count=1 -run '^TestDist' ./internal/conformance

.PHONY: clean
clean: ## Remove what was built here; the Python environment stays
	rm -rf understudy understudy.exe build dist .ruff_cache understudy-demo
