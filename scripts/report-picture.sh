#!/bin/bash
# report-picture.sh: makes docs/report.png anew: the report of SQLite, in Chromium.
set -euo pipefail
cd "$(dirname "$0")/.."
repo=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/cairn" ./cmd/cairn
cd "$work"
export CAIRN_CACHE=$work/cache
unset CAIRN_DIR CAIRN_SCENARIO
"$repo/scripts/sqlite.sh" .
cp "$repo"/demo/shell.c "$repo"/demo/*.sql .
./cairn cc --mode full gcc -O1 -g -w -o sqlite shell.c sqlite3.c -lm
for scenario in load query vacuum; do
  CAIRN_SCENARIO=$scenario CAIRN_DIR=raws ./sqlite weather.db $scenario.sql >/dev/null
done
./cairn report sqlite raws -o report.html
chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --user-data-dir="$work/user" \
  --hide-scrollbars --window-size=1280,860 --virtual-time-budget=100000 --screenshot="$repo/docs/report.png" "file://$work/report.html" 2>/dev/null
