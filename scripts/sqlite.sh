#!/bin/bash
# sqlite.sh DIR: puts SQLite's amalgamation into DIR as sqlite3.c and sqlite3.h.
# It comes through the Go module proxy, inside a Go package that carries it.
set -euo pipefail

module=github.com/mattn/go-sqlite3@v1.14.52
sum=h1:wVbm2Qnf4OXkqhBTSPuCRZDRnxfbVrrmiCEroVdog8U=

answer=$(go mod download -json "$module") || {
  echo "sqlite.sh: cannot download $module: $answer" >&2
  exit 1
}
field() { printf '%s\n' "$answer" | sed -n "s/^[[:space:]]*\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p"; }
if [ "$(field Sum)" != "$sum" ]; then
  echo "sqlite.sh: $module has checksum $(field Sum), not $sum" >&2
  exit 1
fi

mkdir -p "$1"
# The file includes its own header by the name it has there.
sed 's/"sqlite3-binding\.h"/"sqlite3.h"/' "$(field Dir)/sqlite3-binding.c" >"$1/sqlite3.c"
cp "$(field Dir)/sqlite3-binding.h" "$1/sqlite3.h"
chmod u+w "$1/sqlite3.h"
