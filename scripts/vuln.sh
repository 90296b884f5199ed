#!/bin/bash
# vuln.sh: the known vulnerabilities in what the program calls, built as releases are, by govulncheck. It fails if there
# are any. It takes the database from https://vuln.go.dev, or from the module golang.org/x/vulndb where only the module proxy can be
# reached, and says so and succeeds if there is neither.
set -eu
cd "$(dirname "$0")/.."

database=()
if ! curl -fsS --max-time 20 -o /dev/null https://vuln.go.dev/index/db.json 2>/dev/null; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  # In a directory of its own, where no go.mod is changed.
  source=$(cd "$work" && go mod download -json golang.org/x/vulndb@latest 2>/dev/null | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p') || source=
  if [ -z "$source" ] || ! (cd "$source" && go run ./cmd/indexdb -vulns data/osv -out "$work/db") >"$work/log" 2>&1; then
    echo "vuln.sh: skipped: the database can be had neither from vuln.go.dev nor from the module proxy" >&2
    exit 0
  fi
  echo "vuln.sh: the database is ${source##*/}" >&2
  database=(-db "file://$work/db")
fi

# What releases are built with; without it, with the Go that is installed.
toolchain=$(sed -n 's/^const toolchain = "\(.*\)"$/\1/p' release/main.go)
if GOTOOLCHAIN=$toolchain go version >/dev/null 2>&1; then
  export GOTOOLCHAIN=$toolchain
else
  echo "vuln.sh: $toolchain, which builds releases, cannot be had: checking $(go version)" >&2
fi
go tool -modfile=tools/go.mod govulncheck "${database[@]}" ./cmd/cairn
