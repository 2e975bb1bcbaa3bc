# make help lists what there is. README's two commands are make demo and make
# test; they install what is missing.

SHELL := /bin/sh
BIN := bin/standin
GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# What each fuzz target gets: a time, or a number of inputs such as 1000x.
FUZZTIME ?= 60s

# How often make chaos breaks something, and what its choices follow from.
FAULTS ?= 500
SEED ?=

# How many jobs make scale schedules at the most.
JOBS ?= 1000000

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-14s %s\n", $$1, $$2 }'

.PHONY: setup
setup: ## Install Chromium and ffmpeg if they are missing
	@scripts/setup.sh run

.PHONY: build
build: ## Build bin/standin
	go build -o $(BIN) ./cmd/standin

.PHONY: demo
demo: setup build ## Send a bot into a local meeting and watch (ARGS="--once --seconds 20")
	$(BIN) demo $(ARGS)

.PHONY: test
test: ## Run all tests, installing what they need
	@scripts/setup.sh test
	scripts/test.sh

.PHONY: matrix
matrix: ## Send bots into every kind of meeting on every platform (about 8 minutes)
	@scripts/setup.sh test
	STANDIN_TEST_MATRIX=full go test ./internal/bot -run '^TestVisits$$' -count=1 -timeout 30m

.PHONY: kills
kills: ## Kill parts of recordings, 50 times (about 20 minutes)
	@scripts/setup.sh test
	STANDIN_TEST_KILLS=50 go test ./cmd/standin -run '^TestKills$$' -v -count=1 -timeout 60m

.PHONY: cost
cost: ## Measure what a bot costs, and three side by side (about 8 minutes)
	@scripts/setup.sh test
	STANDIN_TEST_COST=30 go test ./cmd/standin -run '^(TestCost|TestSideBySide)$$' -v -count=1 -timeout 30m

.PHONY: beat
beat: ## Record a minute and half an hour, and measure beep against flash
	@scripts/setup.sh test
	STANDIN_TEST_SECONDS=60 go test ./cmd/standin -run '^TestBeat$$' -v -count=1
	STANDIN_TEST_SECONDS=1800 go test ./cmd/standin -run '^TestBeat$$' -v -count=1 -timeout 60m

.PHONY: lint
lint: ## Check style with golangci-lint (.golangci.yml gives its reasons)
	$(GOLANGCI) run ./...

.PHONY: fuzz
fuzz: ## Fuzz every decoder and parser, FUZZTIME each
	scripts/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## Run the benchmarks
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: launchers
launchers: ## Run the launchers' tests on Podman and on a real kube-apiserver (needs podman, runc, catatonit; ten minutes to build the first time)
	STANDIN_TEST_PODMAN=1 STANDIN_TEST_KUBERNETES=1 go test -count=1 -timeout 60m ./internal/launch/docker ./internal/launch/kubernetes

.PHONY: chaos
chaos: ## Break running services and look for broken promises (FAULTS=500 SEED=n)
	STANDIN_TEST_FAULTS=$(FAULTS) STANDIN_TEST_SEED=$(SEED) go test -count=1 -v -timeout 6h -run TestChaos ./internal/testing/chaos

.PHONY: scale
scale: ## Measure lateness and growth with many scheduled jobs (JOBS=1000000)
	STANDIN_TEST_JOBS=$(JOBS) go test -count=1 -v -timeout 6h -run TestScale ./internal/testing/chaos

.PHONY: scale-dashboard
scale-dashboard: ## Hold the dashboard's list to its p95 with many jobs (JOBS=1000000)
	STANDIN_TEST_JOBS=$(JOBS) go test -count=1 -v -timeout 2h -run TestScale ./internal/dashboard

.PHONY: screenshots
screenshots: ## Take pictures of the dashboard's pages, into docs/dashboard
	STANDIN_SCREENSHOTS=$(CURDIR)/docs/dashboard go test -count=1 -timeout 10m -run TestScreenshots ./internal/dashboard

.PHONY: webhooks-crash
webhooks-crash: ## Kill the webhook sender at random while 50,000 events flow
	STANDIN_TEST_EVENTS=50000 go test -count=1 -timeout 2h -v -run TestNothingIsLostInCrashes ./internal/testing/deliverytest

.PHONY: check
check: ## What CI runs: formatting, vet, lint, tests, short fuzzing
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	go vet ./...
	$(MAKE) lint
	$(MAKE) test
	$(MAKE) fuzz FUZZTIME=1000x
