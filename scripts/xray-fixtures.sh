#!/bin/bash
# xray-fixtures.sh: records the XRay logs in format/xray/testdata again,
# with clang-22 and its runtime. As root it records the one with the time stamp
# counter as clock too.
set -eu
cd "$(dirname "$0")/.."
exec go test -C proof -count=1 ./oracle -run '^TestXRayRenew$' -renew-xray -v
