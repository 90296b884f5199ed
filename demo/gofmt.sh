#!/bin/bash
# gofmt.sh: the scene of a Go program. demo.sh sources it for go_scene; started itself it shows
# that scene alone, in demo/out/go. It needs the go command and no network: gofmt is a part of
# Go's sources.

# go_scene builds gofmt in mode stacks, with probes in it and in the packages go/..., formats
# some of the standard library, and shows the time of its goroutines. It uses section and run.
go_scene() {
  section "A Go program" \
    "gofmt, from Go's own sources: with probes in it and in the packages that it parses and prints
by. No source is edited. It formats two directories of the standard library, in goroutines whose
stacks go on in who started them."
  run "cairn go --mode stacks --only 'cmd/gofmt,go/...' build -o gofmt cmd/gofmt"
  local src
  src=$(go env GOROOT)/src
  run "CAIRN_DIR=go-logs ./gofmt -l $src/net $src/crypto"
  run "cairn stacks functions go-logs --sort calls --top 8 2>/dev/null"
  run "cairn stacks go-logs --top 1 2>/dev/null"
  run "cairn flame go-logs -o gofmt.html 2>/dev/null && ls gofmt.html"
  shown "go build -o gofmt.plain cmd/gofmt   # the output is that of the plain program"
  go build -o gofmt.plain cmd/gofmt
  CAIRN_DIR=other-logs ./gofmt "$src"/net/http/*.go >probed.out
  ./gofmt.plain "$src"/net/http/*.go >plain.out
  cmp probed.out plain.out && echo "  equal"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  set -euo pipefail
  repo=$(cd "$(dirname "$0")/.." && pwd)
  out=$repo/demo/out/go
  rm -rf "$out"
  mkdir -p "$out"
  cd "$out"
  cairn() { "$repo/cairn" "$@"; }
  section() { printf '%s\n%s\n\n' "$1" "$2"; }
  shown() { printf '  $ %s\n' "$1"; }
  run() {
    shown "$1"
    eval "$1" 2>&1 | sed 's/^/  /'
  }
  go_scene
fi
