#!/bin/bash
# proofs.sh names|packages: the tests that shorttest.Proof marks, as a pattern for go test -run, or the packages that
# they are in. TestScript has marked scripts.
set -eu
cd "$(dirname "$0")/.."

# marked prints FILE NAME of each.
marked() {
  git ls-files '*_test.go' ':!proof' | xargs awk '
    FNR == 1 { name = "" }
    /^func Test/ { name = $2; sub(/\(.*/, "", name) }
    /^\tshorttest\.Proof\(t\)$/ && name != "" { print FILENAME, name }'
  echo cmd/cairn/script_test.go TestScript
}

case "${1:-}" in
  names) marked | awk '!seen[$2]++ { printf "%s%s", sep, $2; sep = "|" } END { print "" }' | sed 's/.*/^(&)$/' ;;
  packages) marked | awk '{ sub(/\/[^\/]*$/, "", $1); if (!seen[$1]++) print "./" $1 }' ;;
  *) echo "usage: proofs.sh names|packages" >&2; exit 2 ;;
esac
