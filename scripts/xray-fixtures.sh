#!/bin/bash
# xray-fixtures.sh [DIRECTORY]: records the XRay logs in format/xray/testdata again,
# with clang-22 and its runtime. As root it records the one with the time stamp
# counter as clock too. With the directory lib/clang/22 of LLVM for AArch64
# (libclang-rt-22-dev:arm64, with clang's include beside its lib) it records
# those of that machine in qemu.
set -eu
cd "$(dirname "$0")/.."
exec go test -C proof -count=1 ./oracle -run '^TestXRayRenew$' -renew-xray "-xray-aarch64=${1-}" -v
