# make help lists what there is. README's two commands are make demo and make
# test; they install what is missing.

SHELL := /bin/sh
BIN := bin/standin
GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# What each fuzz target gets: a time, or a number of inputs such as 1000x.
FUZZTIME ?= 60s

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-10s %s\n", $$1, $$2 }'

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

.PHONY: lint
lint: ## Check style with golangci-lint (.golangci.yml gives its reasons)
	$(GOLANGCI) run ./...

.PHONY: fuzz
fuzz: ## Fuzz every decoder and parser, FUZZTIME each
	scripts/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## Run the benchmarks
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: check
check: ## What CI runs: formatting, vet, lint, tests, short fuzzing
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	go vet ./...
	$(MAKE) lint
	$(MAKE) test
	$(MAKE) fuzz FUZZTIME=1000x
