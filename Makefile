# Toolgate's commands. `make help` lists them; `make demo` and `make test` install what they need.
SHELL := /usr/bin/env bash -euo pipefail
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# -trimpath shares compiled packages with the Kubernetes binaries of hack/k8s; -p bounds memory on small machines.
export GOFLAGS := -trimpath -buildvcs=false
export CGO_ENABLED ?= 0

BIN := $(CURDIR)/bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
TOOL := go tool -modfile=hack/tools/go.mod
IMAGE ?= toolgate.dev/toolgate:dev

##@ Try it

.PHONY: demo
demo: ## Start a cluster with real MCP servers and show a call allowed and a call refused (CLUSTER=current uses the current kube context)
	@hack/demo/demo.sh

.PHONY: demo-down
demo-down: ## Stop the demo's cluster and leave nothing behind
	@hack/demo/down.sh

##@ Test

.PHONY: test
test: ## Run every test that needs no kubelet, on a real API server
	@hack/test.sh

.PHONY: e2e
e2e: ## Run the tests that need a real cluster
	@hack/e2e.sh

.PHONY: conformance
conformance: ## Run MCP's official conformance suite through the dispatcher, as server and as client
	@hack/conformance.sh

.PHONY: corpus
corpus: ## Run the tests of every fault of another proxy (docs/corpus.md)
	@hack/corpus.sh

.PHONY: clients
clients: ## Let real clients (MCP Inspector, TypeScript SDKs) use a dozen real servers through the dispatcher
	@hack/clients.sh

.PHONY: soak
soak: ## Full load with kills for SOAK (30m): flat memory, every call in the audit records, nothing left behind
	@SOAK=$${SOAK:-30m} go test -count=1 -timeout 24h -v ./test/soak

.PHONY: faults
faults: ## Sweep the manager with injected faults, in some hours (FAULTS=medium|small, SEED=n, SWEEP=name; docs/faults.md)
	@hack/faults.sh

.PHONY: bench
bench: ## Measure the dispatcher beside other proxies, in some minutes (BENCH=full: all combinations)
	@hack/bench.sh

.PHONY: bench-go
bench-go: ## Run the Go benchmarks of the engines and the data plane
	@go test -run '^$$' -bench . -benchmem ./internal/...

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (20s)
	@hack/fuzz.sh

##@ Build

.PHONY: build
build: ## Build the manager and the dispatcher into bin/
	@go build -p 2 -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/...

.PHONY: image
image: ## Build the container image as an OCI archive, without a container engine
	@GOOS=linux CGO_ENABLED=0 go build -p 2 -ldflags '$(LDFLAGS)' -o $(BIN)/linux/ ./cmd/...
	@hack/image/build.sh toolgate $(BIN)/linux

.PHONY: build-installer
build-installer: ## Make dist/install.yaml, all of Toolgate in one file, with the image IMAGE
	@IMAGE=$(IMAGE) hack/installer.sh

.PHONY: docker-build
docker-build: ## Build the container image with the engine at hand (ENGINE=docker)
	@$${ENGINE:-docker} build --build-arg VERSION=$(VERSION) -t $(IMAGE) .

##@ Cluster

.PHONY: cluster-up
cluster-up: ## Start the one-node cluster that demo and e2e use
	@hack/k8s/up.sh

.PHONY: cluster-down
cluster-down: ## Stop the one-node cluster and leave nothing behind
	@hack/k8s/down.sh

.PHONY: install
install: ## Install the CRDs into the current kube context
	@kubectl apply -f config/crd/bases

.PHONY: deploy
deploy: ## Install Toolgate into the current kube context
	@kubectl apply -k config/default

##@ Keep it right

.PHONY: generate
generate: ## Generate deep copies, CRDs, roles and the API reference
	@hack/generate.sh

.PHONY: lint
lint: ## Lint the code and the API
	@hack/lint.sh

.PHONY: fmt
fmt: ## Format the code
	@$(TOOL) golangci-lint fmt ./...

.PHONY: verify
verify: ## Check that modules are tidy, generated files current, the code clean and the docs true
	@hack/verify.sh

.PHONY: clean
clean: ## Remove what was built here (caches outside the clone stay)
	@rm -rf bin dist

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "; printf "Usage: make <target>\n"} \
	  /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-zA-Z0-9_-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
