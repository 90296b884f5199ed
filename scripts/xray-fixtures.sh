#!/bin/bash
# xray-fixtures.sh: records the XRay logs in internal/oracle/testdata/xray again,
# with clang-22 and its runtime. As root it records the one with the time stamp
# counter as clock too.
set -eu
cd "$(dirname "$0")/.."
exec go test -count=1 ./internal/oracle -run '^TestXRayRenew$' -renew-xray -v
