#!/bin/bash
# race.sh prints -race where the race detector can be used: it needs cgo.
if [ "$(go env CGO_ENABLED)" = 1 ] && command -v "$(go env CC)" >/dev/null; then
  echo -race
fi
