# cairn: what there is to do with this repository. `make help` lists it.

# Prerequisite tools are pinned in tools/go.mod, apart from the program's own
# modules.
TOOL     := go tool -modfile=tools/go.mod
PACKAGES := ./...

# The packages that work on several processors, for the race detector. cmd/cairn
# is not among them: with all that it imports it takes minutes to compile. Long tests
# of one goroutine go without it. Of format/xray one test has several.
CONCURRENT := ./internal/profile/rawfiles ./internal/profile/coverage ./internal/calls/account ./internal/samples/unwind ./internal/verb ./format/perfscript ./format/sampleprof
UNRACED    := '^(TestDeepChain|TestOrphansBelowMany)$$'

# The module of the tests beside independent programs, of the benchmarks, and of real and random programs.
PROOF := proof

# Compiled runtimes and the command, once for all packages.
CACHED = cache=$$(mktemp -d) && chmod 755 "$$cache" && trap 'rm -rf "$$cache"' EXIT INT TERM && export CAIRN_TEST_CACHE="$$cache"

# A number of executions, as Go 1.26 may report the end of a time limit as a
# failure (golang/go#75804).
FUZZTIME ?= 100000x
TIMEOUT  ?= 60m

# Every fuzz target, as package:name.
FUZZ = $(shell grep -rho --include='*_test.go' -H '^func Fuzz[A-Za-z0-9_]*' . | \
	sed -E 's,^(.*)/[^/]+:func (.*),\1:\2,')

.DEFAULT_GOAL := help
.PHONY: help build demo docs test proof long go lint bench corpus torture fuzz release vuln outdated clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name what; do \
		printf '  make %-8s %s\n' "$$name" "$$what"; done

build: ## the program, as ./cairn
	CGO_ENABLED=0 go build -trimpath -o cairn ./cmd/cairn

demo: build ## SQLite instrumented, run, laid out, traced, sampled and collected from a fleet, with a report
	@./scripts/need.sh demo
	@./demo/demo.sh

# Where the site of the documentation goes.
SITE ?= $(CURDIR)/dist/docs

docs: ## the documentation as a site, in dist/docs; the first time its generator is compiled, which takes minutes
	go tool -modfile=tools/site/go.mod hugo --quiet --noBuildLock --source tools/site --destination $(SITE) --cleanDestinationDir --panicOnWarning

test: ## what the tests need (from apt), the lint and the tests that take seconds
	@./scripts/need.sh test
	@$(MAKE) --no-print-directory lint
	@$(CACHED); set -x; CAIRN_TESTS=quick go test -vet=off -short -timeout $(TIMEOUT) $(PACKAGES)

proof: ## the tests beside independent programs, compilers and emulators, and the race detector: more minutes
	@./scripts/need.sh proof
	@if [ "$$(go env CGO_ENABLED)" = 1 ] && command -v "$$(go env CC)" >/dev/null; then \
		set -x; go test -race -vet=off -short -timeout $(TIMEOUT) -skip $(UNRACED) $(CONCURRENT) && \
			go test -race -vet=off -short -run '^TestConcurrent$$' ./format/xray; fi
	@$(CACHED); set -x; export CAIRN_TESTS=proof; \
		go test -C $(PROOF) -vet=off -short -timeout $(TIMEOUT) $(PACKAGES) && \
		go test -vet=off -short -timeout $(TIMEOUT) -run "$$(./scripts/proofs.sh names)" $$(./scripts/proofs.sh packages)

long: ## the tests that make test has a sample of: SQLite by all compilers, every mode with every option: an hour
	@./scripts/need.sh long
	go test -timeout 3h $(PACKAGES) # TestSoak takes an hour
	go test -C $(PROOF) -timeout 3h $(PACKAGES)
	cd release && go vet ./... && go test -timeout $(TIMEOUT) ./...

go: ## Go programs from the module proxy, whose counts must be those of go build -covermode=atomic
	go test -timeout $(TIMEOUT) ./internal/gobuild -real

lint: ## go vet, gofumpt and staticcheck
	go vet $(PACKAGES)
	go vet -C $(PROOF) $(PACKAGES)
	@bad=$$(find . -path ./proof/bench/out -prune -o -path ./proof/corpus/out -prune -o -path ./demo/out -prune -o -path '*/testdata' -prune -o \
		-name '*.go' -print | xargs $(TOOL) gofumpt -l) || exit 1; \
		if [ -n "$$bad" ]; then echo "gofumpt would change:"; echo "$$bad"; exit 1; fi
	$(TOOL) staticcheck $(PACKAGES)
	cd $(PROOF) && go tool -modfile=../tools/go.mod staticcheck $(PACKAGES)

bench: build ## cost and speed next to gcc's and LLVM's own tools
	@./scripts/need.sh bench
	go run -C $(PROOF) ./bench

corpus: ## real programs built as they come, in each mode and by their profiles: hours
	@./scripts/need.sh corpus
	go run -C $(PROOF) ./corpus

# Arguments of the command, as -programs 100, or -gcc-tests DIR for gcc's own tests
# (gcc.c-torture/execute in its sources; Debian has them in gcc-12-source).
TORTURE ?= -report ../bench/TORTURE.md

torture: build ## random programs in every mode, until it is told to stop
	@./scripts/need.sh torture
	go run -C $(PROOF) ./torture $(TORTURE)

fuzz: ## each fuzz target for FUZZTIME (100000x) executions
	@set -e; for target in $(FUZZ); do \
		echo "fuzz $$target"; \
		go test -run '^$$' -fuzzminimizetime 10x -fuzz "^$${target##*:}\$$" -fuzztime $(FUZZTIME) "$${target%%:*}"; done

# The semantic version of the release, such as v1.2.3; by default the one that git describe gives.
VERSION ?=

release: ## the files of a release, in dist/: archives, .deb, .rpm, checksums (VERSION=v1.2.3)
	cd release && go run . $(if $(VERSION),-version $(VERSION)) -o ../dist

vuln: ## known vulnerabilities in what a release calls; skipped with a word where their database cannot be had
	@./scripts/vuln.sh

outdated: ## modules of which there is a newer version that could be used
	@./scripts/outdated.sh

clean: ## remove what the targets above made here
	rm -rf cairn dist demo/out proof/bench/out proof/corpus/out
