#!/bin/bash
# debian-source.sh PACKAGE DIR: unpacks the sources of a Debian package into DIR, as apt
# verified them: what its authors wrote, and Debian's directory debian, where it has one
# apart. No patch is applied. The system's own apt lists are not touched; no rights are
# needed.
set -euo pipefail

package=$1 dir=$2
release=bookworm # whose versions the recipes fit
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial" "$tmp/src" "$dir"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb-src [signed-by=$keys] http://deb.debian.org/debian $release main" >"$tmp/sources.list"
apt() {
  apt-get -q -o Acquire::Retries=5 -o Dir::Etc::sourcelist="$tmp/sources.list" -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists="$tmp/lists" -o Dir::Cache="$tmp/cache" -o APT::Sandbox::User= "$@" >>"$tmp/log" 2>&1 || {
    tail -n 5 "$tmp/log" >&2
    echo "debian-source.sh: cannot fetch the source package $package" >&2
    exit 1
  }
}
apt update
(cd "$tmp/src" && apt source --download-only "$package")
tarball=$(find "$tmp/src" -name '*.orig.tar.*' ! -name '*.asc' | head -n 1)
tar -C "$dir" --strip-components=1 -xf "$tarball"
packaging=$(find "$tmp/src" -name '*.debian.tar.*' ! -name '*.asc' | head -n 1)
[ -z "$packaging" ] || tar -C "$dir" -xf "$packaging"
