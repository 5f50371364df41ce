# Everything a developer or CI does here, one or two lines each. It needs Go and
# Node; `make help` lists the targets.

# The patched Go of this project. Machines with GOTOOLCHAIN=local would ignore a
# toolchain line in go.mod.
export GOTOOLCHAIN = go1.27.3

# No C: the binaries run on any distribution. On a Mac, `make build CGO=1` is what
# brings the Keychain in.
CGO ?= 0
# gRPC's trace pages would link an HTTP server and templates into both daemons.
GO_BUILD = CGO_ENABLED=$(CGO) go build -trimpath -tags grpcnotrace

# Where races can be: everything that is linked into a daemon.
DAEMONS = ./shared/... ./mcpd/... ./signerd/...

# A time, or a number of inputs such as 5000x.
FUZZ ?= 10m
FUZZ_SHORT ?= 30s
FUZZ_REST ?= 5000x
SCHEDULES ?= 100000

.DEFAULT_GOAL := help
.PHONY: help build setup setup-test test race lint checks generate generate-check buf-lint vet fuzz fuzz-short fuzz-ci \
	bench soak demo dev dev-start dev-stop check clean deps-update

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## bin/mcpd and bin/signerd
	$(GO_BUILD) -o bin/ ./mcpd ./signerd

setup: scripts/devchain/node_modules/.stamp ## fetch what the local chain and the build need
	go mod download

setup-test: setup scripts/e2e/clients/node_modules/.stamp

# npm runs only when the lock file is newer than the last time.
scripts/%/node_modules/.stamp: scripts/%/package-lock.json
	cd scripts/$* && npm ci --no-audit --no-fund --no-update-notifier --loglevel=error
	touch $@

test: setup-test build ## every test, with all their set-up
	scripts/make/test.sh

soak: ## SCHEDULES (100000) random schedules of crashes, clocks, lies and lost answers
	SOAK_SCHEDULES=$(SCHEDULES) go test -count=1 -timeout 0 -v -run TestRandomSchedules ./signerd/internal/flow/soak

race: setup ## the daemons' packages under the race detector
	CGO_ENABLED=1 SOAK_SCHEDULES=100 go test -race -count=1 $(DAEMONS)

lint: ## golangci-lint for linux and darwin
	scripts/make/lint.sh

checks: ## the tests about the tree itself
	go test -count=1 ./scripts/checks

deps-update: ## write mcpd/deps.txt and signerd/deps.txt; review the difference
	go test -count=1 ./scripts/checks -run TestDependencyListsAreCommitted -update-deps

generate: ## the Go of proto/
	"$$(scripts/make/tool.sh buf)" generate

generate-check: ## fail where the committed Go of proto/ is not what generate writes
	scripts/make/generate-check.sh

buf-lint: ## the rules of proto/
	"$$(scripts/make/tool.sh buf)" lint

vet: ## go vet
	go vet ./...

fuzz: ## every fuzz target for FUZZ (10m) each
	scripts/make/fuzz.sh $(FUZZ)

fuzz-short: ## every fuzz target for FUZZ_SHORT (30s) each
	scripts/make/fuzz.sh $(FUZZ_SHORT)

fuzz-ci: ## what reads attackers' bytes for FUZZ_SHORT (30s) each, the rest for FUZZ_REST (5000x)
	scripts/make/fuzz.sh $(FUZZ_SHORT) $(FUZZ_REST)

bench: ## the speed table, and bench/latest.json
	go run ./scripts/bench

demo: setup build ## the main job on the local chain, told as a story
	go run ./scripts/demo

dev: setup build ## local chain, sandbox and signer, until Ctrl-C
	go run ./scripts/dev

dev-start: setup build ## the same in the background; returns when ready
	go run ./scripts/dev --background

dev-stop: ## stop what dev-start began
	go run ./scripts/dev --stop

check: ## what CI runs
	.ci/run

clean: dev-stop ## stop what dev-start began, and remove what building and running leaves behind
	rm -rf bin bench .dev scripts/devchain/node_modules scripts/e2e/clients/node_modules
