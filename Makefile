# What can be done here: make help

BIN             := bin/leasehold
LINT_VERSION    := v2.15.0
LINT            := .bin/golangci-lint-$(LINT_VERSION)
VULN_VERSION    := v1.9.0
VULN            := .bin/govulncheck-$(VULN_VERSION)
# A copy of the database, such as file:///srv/vulndb; empty: https://vuln.go.dev.
VULNDB          ?=
VERSION         ?= $(shell git describe --tags --dirty 2>/dev/null || echo dev)
COMMIT          ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS         := -X main.linkedVersion=$(VERSION) -X main.linkedCommit=$(COMMIT)
FUZZTIME        ?= 10s
# The fleet tests measure times, so nothing else runs beside them.
FLEET           := ./test/fleet/...
OTHERS          = $$(go list ./... | grep -v '/test/fleet')
TIMEOUT         := 15m
# Simulated fleets: make sim SEED=7, HOURS=500 or MINUTES=10; without any, two
# minutes from a random seed. LENGTH=8 cuts each fleet to at most so many hours.
SEED            ?=
HOURS           ?=
MINUTES         ?=
LENGTH          ?=
# Benchmarks: how long each runs; which lines of test/bench, how often, whether the
# largest sizes too, and a file for JSON.
BENCHTIME       ?= 300ms
ONLY            ?=
RUNS            ?= 1
FULL            ?=
OUT             ?=
# Fleet tests wait more than they work.
FLEETS          ?= 8

.DEFAULT_GOAL := help
.PHONY: help build demo run test fleet soak sim sim-mutants race lint vuln bench bench-fleet fuzz fmt docs redis postgres python promtool clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/leasehold
	@echo "building $(BIN) (the first time takes a minute)"
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/node

demo: build ## show a whole fleet at work; needs nothing but Go
	./$(BIN) demo $(ARGS)

run: build ## run one node; needs a Redis, see LEASEHOLD_REDIS_URL
	./$(BIN) run $(ARGS)

test: redis postgres python promtool build ## run all tests; installs redis-server, PostgreSQL and Python where none is
	go test -timeout $(TIMEOUT) $(OTHERS)
	go -C deploy/check test ./...
	go -C test/bench test ./...
	go test -timeout $(TIMEOUT) -p 1 $(FLEET)

fleet: redis python ## run all trials on real processes, the long ones too
	LONG=1 go test -count=1 -timeout $(TIMEOUT) -parallel $(FLEETS) ./test/fleet

soak: redis ## run a fleet under churn and faults for MINUTES (10) and see that it does not grow
	SOAK=$(or $(MINUTES),10) go test -count=1 -timeout 0 -run '^TestSoak$$' -v ./test/fleet

sim: ## simulate fleets under random faults: SEED, HOURS, MINUTES (2), LENGTH
	SIM=1 SEED=$(SEED) HOURS=$(HOURS) MINUTES=$(MINUTES) LENGTH=$(LENGTH) go test -count=1 -timeout 0 -run '^TestSim$$' -v ./test/sim

sim-mutants: ## see that the simulation convicts each of a set of broken builds
	go run ./test/sim/mutants

race: redis postgres python build ## run all tests with the race detector; needs a C compiler
	go test -race -timeout $(TIMEOUT) $(OTHERS)
	go test -race -timeout $(TIMEOUT) -p 1 $(FLEET)

lint: $(LINT) ## check style, imports and modules
	go mod tidy -diff
	go -C deploy/check mod tidy -diff
	go -C test/bench mod tidy -diff
	go vet ./...
	$(LINT) config verify
	$(LINT) run --allow-serial-runners

vuln: $(VULN) ## look for known vulnerabilities; asks vuln.go.dev, or VULNDB=file:///a/copy
	@$(VULN) $(if $(VULNDB),-db $(VULNDB)) ./... || { code=$$?; [ $$code -eq 3 ] || \
		echo 'vuln: nothing was checked. Without https://vuln.go.dev, name a copy of its database: make vuln VULNDB=file:///a/copy' >&2; \
		exit $$code; }

bench: ## run the microbenchmarks, BENCHTIME (300ms) each
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) $(OTHERS)

bench-fleet: redis ## measure real fleets beside their peers: ONLY=crash,join RUNS=3 FULL=1 OUT=bench.json
	BENCH=1 ONLY=$(ONLY) RUNS=$(RUNS) FULL=$(FULL) OUT=$(if $(OUT),$(abspath $(OUT))) \
		go -C test/bench test -count=1 -timeout 0 -run '^TestFleet$$' -v .

fuzz: ## run each fuzz target for FUZZTIME (10s)
	@for pkg in $(OTHERS); do \
		all=$$(go test -list '^Fuzz' $$pkg) || { echo "$$all"; exit 1; }; \
		for target in $$(echo "$$all" | grep '^Fuzz'); do \
			echo "$$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

fmt: $(LINT) ## format the code
	$(LINT) fmt

docs: ## write what is made from the code into docs/
	WRITE_DOCS=1 go test -count=1 -run Documentation ./config ./eventlog ./metrics ./httpapi ./cmd/node
	WRITE_DOCS=1 go -C deploy/check test -count=1 -run Documentation ./...

redis: ## install redis-server where none is
	@scripts/ensure-redis.sh

postgres: ## install PostgreSQL, for the tests of an example, where none is
	@scripts/ensure-postgres.sh

python: ## install Python, for the tests of an example, where none is
	@scripts/ensure-python.sh

promtool: ## unpack promtool, for the tests of the alert rules, where none is
	@scripts/ensure-promtool.sh

clean: ## remove what was built
	rm -rf bin .bin

# Built once, and again when the version changes.
$(LINT):
	@mkdir -p .bin
	GOBIN="$(CURDIR)/.bin" go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	mv .bin/golangci-lint $(LINT)

$(VULN):
	@mkdir -p .bin
	GOBIN="$(CURDIR)/.bin" go install golang.org/x/vuln/cmd/govulncheck@$(VULN_VERSION)
	mv .bin/govulncheck $(VULN)
