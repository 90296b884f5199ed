#!/bin/bash
# first-hour.sh DIR [DOOR...]: follows the pages of docs/doors in a fresh Debian, as somebody would who has nothing but a
# compiler and the program, and prints how long each takes. DIR is where the Debian is made; a later call uses it again.
# Needs root, debootstrap and a mirror.
set -euo pipefail
cd "$(dirname "$0")/.."
root=${1:?usage: first-hour.sh DIR [DOOR...]}
shift
doors=("$@")
[ ${#doors[@]} -gt 0 ] || doors=(game service phone compiler ci)

if [ ! -e "$root/usr/bin/make" ]; then
  debootstrap --variant=minbase --include=gcc,libc6-dev,make,git,ca-certificates,curl,gcc-aarch64-linux-gnu,libc6-dev-arm64-cross,qemu-user,binutils,procps \
    "${SUITE:-bookworm}" "$root" "${MIRROR:-http://deb.debian.org/debian}" > "$root.log" 2>&1 || { tail -5 "$root.log"; exit 1; }
fi
# What the pages need of this machine: the program, and the compilers that Debian's own release does not have.
CGO_ENABLED=0 go build -trimpath -o "$root/usr/local/bin/cairn" ./cmd/cairn
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
trap 'umount "$root/proc"' EXIT
if [ ! -e "$root/usr/local/go" ]; then cp -a "$(go env GOROOT)" "$root/usr/local/go"; fi
ln -sf ../go/bin/go "$root/usr/local/bin/go"

status=0
for door in "${doors[@]}"; do
  if [ "$door" = compiler ] && ! chroot "$root" sh -c 'command -v clang' > /dev/null; then
    chroot "$root" sh -c 'apt-get update -q && apt-get install -q -y --no-install-recommends clang' > "$root.log" 2>&1 || { tail -5 "$root.log"; status=1; continue; }
  fi
  rm -rf "$root/checkout"
  mkdir -p "$root/checkout/docs"
  cp -a docs/doors "$root/checkout/docs/"
  { echo "set -eu -o pipefail"; sed -n '/^```sh$/,/^```$/{/^```/d;p}' "docs/doors/$door.md"; } > "$root/checkout/page.sh"
  begin=$(date +%s)
  if chroot "$root" env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root GOFLAGS=-mod=mod GOTOOLCHAIN=local GOROOT=/usr/local/go bash -c 'cd /checkout && bash page.sh' > "$root.$door.log" 2>&1; then
    echo "$door: $(($(date +%s) - begin)) s"
  else
    echo "$door: failed after $(($(date +%s) - begin)) s: $(tail -1 "$root.$door.log")"
    status=1
  fi
done
exit $status
