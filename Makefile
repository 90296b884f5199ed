# cairn: what there is to do with this repository. `make help` lists it.

# Prerequisite tools are pinned in tools/go.mod, apart from the program's own
# modules.
TOOL     := go tool -modfile=tools/go.mod
PACKAGES := ./...

# The packages with goroutines or locks, for the race detector. The scripts of
# internal/cli go without it: they start thousands of processes, and one that
# looks for races takes a second to start and end. So do long tests of one goroutine.
CONCURRENT := ./internal/cli ./internal/objfile ./internal/account ./format/calls ./format/xray ./format/perfscript ./internal/unwind
UNRACED    := '^(TestScript|TestHostileSizes|TestLLVMRealLogs|TestMutants)$$'

# A number of executions, as Go 1.26 may report the end of a time limit as a
# failure (golang/go#75804).
FUZZTIME ?= 100000x
TIMEOUT  ?= 30m

# Every fuzz target, as package:name.
FUZZ = $(shell grep -rho --include='*_test.go' -H '^func Fuzz[A-Za-z0-9_]*' . | \
	sed -E 's,^(.*)/[^/]+:func (.*),\1:\2,')

.DEFAULT_GOAL := help
.PHONY: help build demo test lint bench fuzz clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name what; do \
		printf '  make %-7s %s\n' "$$name" "$$what"; done

build: ## the program, as ./cairn
	CGO_ENABLED=0 go build -trimpath -o cairn ./cmd/cairn

demo: build ## SQLite instrumented, run, laid out anew, traced and sampled, in about a minute
	@./demo/demo.sh

test: ## what the tests need (from apt), the lint and all tests
	@./scripts/need.sh test
	@$(MAKE) --no-print-directory lint
	@if [ "$$(go env CGO_ENABLED)" = 1 ] && command -v "$$(go env CC)" >/dev/null; then \
		set -x; go test -race -timeout $(TIMEOUT) -skip $(UNRACED) $(CONCURRENT); fi
	go test -timeout $(TIMEOUT) $(PACKAGES)

lint: ## go vet, gofumpt and staticcheck
	go vet $(PACKAGES)
	@bad=$$(find . -path ./bench/out -prune -o -path ./demo/out -prune -o -path '*/testdata' -prune -o \
		-name '*.go' -print | xargs $(TOOL) gofumpt -l) || exit 1; \
		if [ -n "$$bad" ]; then echo "gofumpt would change:"; echo "$$bad"; exit 1; fi
	$(TOOL) staticcheck $(PACKAGES)

bench: build ## cost and speed next to gcc's and LLVM's own tools
	@./scripts/need.sh bench
	go run ./bench

fuzz: ## each fuzz target for FUZZTIME (100000x) executions
	@set -e; for target in $(FUZZ); do \
		echo "fuzz $$target"; \
		go test -run '^$$' -fuzzminimizetime 10x -fuzz "^$${target##*:}\$$" -fuzztime $(FUZZTIME) "$${target%%:*}"; done

clean: ## remove what the targets above made here
	rm -rf cairn demo/out bench/out
