# make help lists the targets. make demo and make test install what they need.

SHELL := /bin/sh
BIN := bin/standin
GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
WITH_POSTGRES := go run ./internal/testing/withpostgres
ACTIONLINT := go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GOVULNCHECK := go run golang.org/x/vuln/cmd/govulncheck@v1.9.0

# Version of the Go vulnerability database, as a module.
VULNDB ?= v0.0.0-20261105234957-e22db6528018

# Duration of each fuzz target, or number of inputs such as 1000x.
FUZZTIME ?= 60s

# Number of processes that make kills kills.
KILLS ?= 50

# Number of faults of make chaos, and seed of its random choices.
FAULTS ?= 500
SEED ?=

# Number of jobs of make scale.
JOBS ?= 1000000

# Number of meetings of make fieldpages, number of the first, bots at a time, and named meetings instead,
# for example meet/denied/en/1.
MEETINGS ?= 500
FIRST ?= 0
BOTS ?= 2
MEETING ?=

# Commit that make bench-compare compares with.
BASE ?= HEAD

# Number of inputs per operation and phase of make schemathesis.
EXAMPLES ?= 100

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-14s %s\n", $$1, $$2 }'

.PHONY: setup
setup: ## Install Chromium, ffmpeg and Xvfb if they are missing
	@scripts/setup.sh run

.PHONY: build
build: ## Build bin/standin
	go build -o $(BIN) ./cmd/standin

.PHONY: demo
demo: ## Open a meeting in which people talk, and send a bot into it (ARGS="--platform teams"); installs what it needs
	@scripts/setup.sh run & setup=$$!; go build -o $(BIN) ./cmd/standin || { kill $$setup; exit 1; }; wait $$setup
	@$(BIN) practice $(ARGS)

.PHONY: people
people: ## Make the voices and videos of the people of make demo again (with flite)
	@scripts/setup.sh run
	cd internal/replica/people && go run ./generate

.PHONY: movie
movie: ## Make the moving picture of the README
	@scripts/setup.sh test
	STANDIN_TEST_MOVIE=$(CURDIR)/docs/practice.gif go test ./cmd/standin -run '^TestMovie$$' -count=1

.PHONY: test
test: ## Run the tests but the long ones; installs what they need
	@scripts/setup.sh test
	$(WITH_POSTGRES) go test -short ./...

.PHONY: test-long
test-long: ## Run all tests, with the long ones
	@scripts/setup.sh test
	$(WITH_POSTGRES) go test -timeout 60m ./...

.PHONY: race
race: ## Run the short tests of the packages that start goroutines, but browsers, with the race detector
	@scripts/setup.sh test
	$(WITH_POSTGRES) go test -race -short $$(grep -rlE --include='*.go' --exclude='*_test.go' '^\s+go [a-zA-Z.]+\(|\.Go\(' internal | \
		xargs -n 1 dirname | sort -u | grep -vE 'bot/(browser|recorder|session)|replica|testing' | sed 's|^|./|')

.PHONY: mutations
mutations: ## Change important lines, one at a time, and check that the short tests of each package notice (MUTATIONS="lease-valid")
	@scripts/setup.sh test
	$(WITH_POSTGRES) go run ./internal/testing/mutations $(MUTATIONS)

.PHONY: quickstart-check
quickstart-check: ## Run the README's quick start in a new clone of the last commit, play its recording, and print the times
	@scripts/setup.sh run
	STANDIN_TEST_QUICKSTART=1 go test ./cmd/standin -run '^TestQuickStart$$' -v -count=1 -timeout 20m

.PHONY: matrix
matrix: ## Run every bot scenario on every platform
	@scripts/setup.sh test
	STANDIN_TEST_MATRIX=full go test ./internal/bot/session -run '^(TestVisits|TestTextVisits|TestParticipantAudio)$$' -count=1 -timeout 30m

.PHONY: kills
kills: ## Kill processes of recordings (KILLS=50, 10 to 20 minutes)
	@scripts/setup.sh test
	STANDIN_TEST_KILLS=$(KILLS) go test ./cmd/standin -run '^(TestKills|TestZoomKills)$$' -v -count=1 -timeout 60m

.PHONY: time
time: ## Take the machine and the network away from recordings, and compare their beeps with their manifests (BOTS=2 at once)
	@scripts/setup.sh test
	STANDIN_TEST_TIME=1 go test ./cmd/standin -run '^TestTime$$' -v -count=1 -timeout 60m -parallel $(or $(BOTS),2)

.PHONY: cost
cost: ## Measure the CPU and memory of bots, concurrent recordings, and delays (about an hour)
	@scripts/setup.sh test
	STANDIN_TEST_COST=30 go test ./cmd/standin -run '^(TestCost|TestCodecCost|TestConcurrentRecordings|TestVisitTimes)$$' -v -count=1 -timeout 120m

.PHONY: beat
beat: ## Record one minute and 30 minutes, and measure audio/video sync and live sound
	@scripts/setup.sh test
	STANDIN_TEST_SECONDS=60 go test ./cmd/standin -run '^TestBeat$$' -v -count=1
	STANDIN_TEST_QUALITY=exact go test ./internal/bot/recorder -count=1 -parallel 1
	STANDIN_TEST_SECONDS=60 go test ./internal/bot/session -run '^TestParticipantAudio$$' -count=1
	STANDIN_TEST_QUALITY=exact go test ./internal/bot/session -run '^TestBargeIn$$' -count=1
	STANDIN_TEST_SECONDS=1800 go test ./cmd/standin -run '^TestBeat$$' -v -count=1 -timeout 60m
	STANDIN_TEST_SECONDS=1800 go test ./internal/bot/session -run '^TestLiveSound$$/^meet$$' -v -count=1 -timeout 60m

.PHONY: lint
lint: ## Run golangci-lint and actionlint
	$(GOLANGCI) run ./...
	cd client && $(GOLANGCI) run ./...
	$(ACTIONLINT)

.PHONY: vulnerabilities
vulnerabilities: ## Look for calls of functions with known vulnerabilities, with the Go version of releases (VULNDB=latest)
	@toolchain=$$(sed -n 's/^toolchain //p' go.mod); \
	database=$$(go mod download -json golang.org/x/vulndb@$(VULNDB) | sed -n 's/^\t"Dir": "\(.*\)",$$/\1/p'); \
	if test -n "$$database" && GOTOOLCHAIN=$$toolchain go version; then \
		GOTOOLCHAIN=$$toolchain $(GOVULNCHECK) -db "file://$$database/data/osv" ./...; \
	else \
		echo "vulnerabilities: not checked: the database or the Go version of releases cannot be downloaded"; \
	fi

.PHONY: fuzz
fuzz: ## Fuzz every decoder and parser, FUZZTIME each
	scripts/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## Measure the service beside bare servers (needs PostgreSQL; ARGS="-rows create,fetch")
	go run ./bench $(ARGS)

PODS ?= 500,1000
.PHONY: hour
hour: ## Simulate a full hour: recording bots of one instant (BOTS=200), and their pods on a real cluster (PODS=500,1000), also with nodes that come late (RESERVE=1000)
	go run ./bench -rows hour -databases PostgreSQL -hour-bots $(or $(BOTS),200) $(ARGS)
	STANDIN_TEST_HOUR=$(PODS) STANDIN_TEST_RESERVE=$(or $(RESERVE),1000) \
		go test -count=1 -timeout 90m -run '^(TestHour|TestReserve)$$' -v ./internal/launch/kubernetes

.PHONY: bench-rtms
bench-rtms: ## Measure a service in Zoom's media streams, 720p25 with two people each (SESSIONS=40 SECONDS=600)
	@scripts/setup.sh run
	STANDIN_TEST_STREAMS=$(or $(SESSIONS),40) STANDIN_TEST_SECONDS=$(or $(SECONDS),600) \
		go test ./cmd/standin -run '^TestZoomStreams$$' -v -count=1 -timeout 120m

.PHONY: bench-compare
bench-compare: ## Compare the working tree with another commit in the same rounds (BASE=main ARGS="-rows create -rounds 10")
	scripts/bench-compare.sh $(BASE) $(ARGS)

.PHONY: launchers
launchers: ## Test the launchers on Podman and a real kube-apiserver (needs podman, runc, catatonit; the first build takes ten minutes)
	STANDIN_TEST_PODMAN=1 STANDIN_TEST_KUBERNETES=1 go test -count=1 -timeout 60m ./internal/launch/docker ./internal/launch/kubernetes

.PHONY: deb
deb: ## Build the Debian package bin/standin_VERSION-1_ARCH.deb, and check it with lintian
	@scripts/setup.sh deb
	@rm -f bin/standin_*.deb
	scripts/deb.sh
	lintian --fail-on error,warning --info bin/standin_*.deb

.PHONY: release
release: ## Build bin/release: binaries, packages, clients, SBOMs and checksums
	@scripts/setup.sh clients
	@scripts/setup.sh deb
	scripts/release.sh

.PHONY: release-check
release-check: ## Build the release of the last commit twice, in different environments, and compare (PLATFORMS="linux/amd64")
	scripts/release-check.sh $(PLATFORMS)

.PHONY: packages-test
packages-test: ## Install and upgrade the Debian package in a new Debian system while a bot records (needs root)
	@scripts/setup.sh packages
	STANDIN_TEST_PACKAGES=1 go test -count=1 -v -timeout 60m -run TestDebianPackage ./deploy

.PHONY: chaos
chaos: ## Inject faults into running services and check the history (FAULTS=500 SEED=n)
	STANDIN_TEST_FAULTS=$(FAULTS) STANDIN_TEST_SEED=$(SEED) go test -count=1 -v -timeout 6h -run TestChaos ./internal/testing/chaos

.PHONY: fieldpages
fieldpages: ## Send bots into generated meetings and check their outcomes (MEETINGS=500 SEED=n BOTS=2)
	@scripts/setup.sh test
	STANDIN_TEST_MEETINGS=$(MEETINGS) STANDIN_TEST_FIRST=$(FIRST) STANDIN_TEST_SEED=$(SEED) STANDIN_TEST_BOTS=$(BOTS) STANDIN_TEST_MEETING='$(MEETING)' go test -count=1 -v -timeout 6h -run TestFieldPages ./internal/testing/fieldpages

.PHONY: doors
doors: ## Send bots to each door of generated meetings, and write docs/reference/doors.md
	@scripts/setup.sh test
	STANDIN_TEST_DOORS=$(CURDIR)/docs/reference/doors.md go test -count=1 -timeout 30m -run TestDoors ./internal/testing/fieldpages

.PHONY: clients
clients: ## Make the transports of the clients from the API description
	@scripts/setup.sh clients
	@scripts/clients.sh setup
	scripts/clients.sh generate

.PHONY: clients-test
clients-test: ## Test the clients in Go, Python and TypeScript against a running service (clients/conformance.json)
	@scripts/setup.sh clients
	@scripts/clients.sh setup
	scripts/clients.sh check
	STANDIN_TEST_CLIENTS=1 go test -count=1 -timeout 10m ./internal/testing/conformance

.PHONY: guide
guide: ## Write the guide and the API reference as a static site to bin/guide (BASE_URL=https://docs.example.com)
	go run ./internal/server/guide/build -version "$$(git describe --tags --always)" -base "$(or $(BASE_URL),https://standin.example)" bin/guide

.PHONY: scale
scale: ## Measure lateness and memory with many scheduled jobs (JOBS=1000000)
	STANDIN_TEST_JOBS=$(JOBS) go test -count=1 -v -timeout 6h -run TestScale ./internal/testing/chaos

.PHONY: scale-dashboard
scale-dashboard: ## Check the dashboard's p95 latency with many jobs (JOBS=1000000)
	STANDIN_TEST_JOBS=$(JOBS) go test -count=1 -v -timeout 2h -run TestScale ./internal/server/dashboard

.PHONY: screenshots
screenshots: ## Take screenshots of the dashboard into bin/screenshots
	STANDIN_TEST_BROWSER=full STANDIN_SCREENSHOTS=$(CURDIR)/bin/screenshots go test -count=1 -timeout 10m -run TestScreenshots ./internal/server/dashboard

.PHONY: webhooks-crash
webhooks-crash: ## Kill a node at random while it inserts and sends webhooks: 50,000 events
	STANDIN_TEST_EVENTS=50000 go test -count=1 -timeout 2h -v -run TestNothingIsLostInCrashes ./internal/testing/deliverytest

.PHONY: schemathesis
schemathesis: ## Test a running service against its API description (EXAMPLES=100)
	@scripts/setup.sh schemathesis
	scripts/schemathesis.sh $(EXAMPLES)

.PHONY: rtms-library
rtms-library: ## Let Zoom's own client library join the server of media streams that the tests use (Python 3.10 to 3.13)
	@scripts/setup.sh schemathesis
	python3 -m venv bin/rtms
	bin/rtms/bin/pip install --quiet --disable-pip-version-check rtms==1.1.0
	STANDIN_TEST_RTMS_PYTHON=$(CURDIR)/bin/rtms/bin/python go test ./internal/replica/rtmsdouble -run '^TestZoomLibrary$$' -v -count=1

.PHONY: clients-check
clients-check: ## Generate clients from the API description and run them (GENERATORS="oapi-codegen hey-api")
	@scripts/setup.sh generators
	scripts/clients-check.sh $(GENERATORS)

.PHONY: integrations
integrations: ## Test the packages for n8n, Pipecat, LiveKit, LangChain and Zapier in their hosts, which it downloads
	@scripts/setup.sh run
	cd integrations/n8n && npm install && npm run build && npm run lint && npm test && test/n8n.sh
	integrations/practice.sh integrations/pipecat
	integrations/practice.sh integrations/livekit
	integrations/langchain/test.sh
	integrations/zapier/test.sh

.PHONY: collection
collection: ## Write the JSON form, the Postman collection and the JSON Schemas that are made from api/openapi.yaml
	go test ./api -run '^TestDescriptionFile$$' -count=1 -update
	go test ./api -run '^(TestCollection|TestSchemaFiles)$$' -count=1 -update

.PHONY: check
check: ## What CI runs: formatting, vet, lint, vulnerabilities, tests, the race detector, clients, two generated ones, short fuzzing
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	go vet ./...
	cd client && go vet ./...
	$(MAKE) lint
	$(MAKE) vulnerabilities
	$(MAKE) test
	$(MAKE) race
	@scripts/setup.sh clients
	@if scripts/clients.sh setup; then $(MAKE) clients-test; else echo "clients: not tested: their tools cannot be installed from PyPI and npm"; fi
	@scripts/setup.sh generators
	scripts/clients-check.sh --compile
	$(MAKE) fuzz FUZZTIME=1000x

.PHONY: check-long
check-long: check ## The long form of CI: make check, new vulnerabilities, all tests, schemathesis, generated clients, every bot scenario, 10 kills, and 60 faults
	$(MAKE) vulnerabilities VULNDB=latest
	$(MAKE) test-long
	$(MAKE) mutations
	$(MAKE) schemathesis
	$(MAKE) clients-check
	$(MAKE) integrations
	$(MAKE) rtms-library
	$(MAKE) matrix
	$(MAKE) kills KILLS=10
	$(MAKE) chaos FAULTS=60
	$(MAKE) deb
	$(MAKE) packages-test
