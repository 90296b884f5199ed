#!/bin/bash
# need.sh WHAT: installs the Debian packages that WHAT (test, proof, long, demo, torture, bench or corpus) uses and
# that are not there. Where apt cannot be used it names what is missing and
# succeeds: tests skip what they cannot run.
set -u

base=(binutils gcc g++ libc6-dev)
peers=(clang-22 lld-22 llvm-22 libclang-rt-22-dev valgrind)
# What runs under the recorder.
recorded=(bc bison busybox curl dc ed emacs-nox expect flex gawk git gnuplot-nox graphviz guile-3.0 jq lua5.4 luajit m4 mawk mujs
  nasm nginx-light openssl perl php-cli pigz python3 redis-server ruby sbcl sqlite3 swi-prolog-nox tcc vim-tiny zsh)
tests=("${base[@]}" "${peers[@]}" zstd gfortran nasm git ccache cmake meson ninja-build mold musl-tools libpth-dev lcov gcovr libxml2-utils libc6-dbg strace bolt-22 graphviz dwz elfutils csmith libcsmith-dev
  gcc-aarch64-linux-gnu g++-aarch64-linux-gnu gfortran-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
  gcc-arm-linux-gnueabihf g++-arm-linux-gnueabihf gcc-arm-linux-gnueabi libc6-dev-armhf-cross libc6-dev-armel-cross)
# Programs for Windows, and Wine, which runs them.
windows=(gcc-mingw-w64-x86-64-posix g++-mingw-w64-x86-64-posix wine wine64)
case "${1:-}" in
  test) want=("${tests[@]}") ;;
  proof) want=("${tests[@]}" "${windows[@]}") ;;
  long) want=("${tests[@]}" "${windows[@]}" gdc ldc fp-compiler ocaml-nox g++-arm-linux-gnueabi qemu-user-static rustc-web librust-regex-syntax-dev librust-aho-corasick-dev librust-miniz-oxide-dev ruby buildah luajit mujs guile-3.0 rpm cpio debhelper dpkg-dev chromium nodejs npm) ;;
  demo) want=("${base[@]}" clang-22 libclang-rt-22-dev curl) ;;
  torture) want=("${base[@]}" clang-22 csmith libcsmith-dev) ;;
  bench) want=("${base[@]}" "${peers[@]}" tcl xz-utils zlib1g-dev zstd uftrace npm postgresql memcached mosquitto "${recorded[@]}") ;;
  corpus) want=("${base[@]}" clang-22 lld-22 llvm-22 autopoint gettext libncurses-dev libreadline-dev gfortran cmake ninja-build meson ccache autoconf automake libtool bison flex libonig-dev libgtest-dev libgmock-dev texinfo tcl curl debhelper dpkg-dev golang-go
    gcc-aarch64-linux-gnu g++-aarch64-linux-gnu gcc-arm-linux-gnueabihf g++-arm-linux-gnueabihf libc6-dev-arm64-cross libc6-dev-armhf-cross qemu-user) ;;
  *) echo "usage: need.sh test|proof|long|demo|torture|bench|corpus" >&2; exit 2 ;;
esac

missing() {
  for package in "${want[@]}"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
  done
}

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "need.sh: no apt here; the tests use, where they find it: ${want[*]}" >&2
  exit 0
fi

mapfile -t lack < <(missing)
[ ${#lack[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
    echo "need.sh: going on without: ${lack[*]} (neither root nor sudo without a password)" >&2
    exit 0
  fi
  as_root=(sudo -n)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=5 -o DPkg::Lock::Timeout=600 "$@" >>"$log" 2>&1; }

echo "need.sh: installing ${lack[*]}" >&2
apt update || echo "need.sh: apt-get update failed, trying with the package lists that are here" >&2
# One package that cannot be had must not cost the others.
if ! apt install --no-install-recommends "${lack[@]}"; then
  for package in "${lack[@]}"; do
    apt install --no-install-recommends "$package"
  done
fi

mapfile -t lack < <(missing)
if [ ${#lack[@]} -gt 0 ]; then
  tail -n 20 "$log" >&2
  echo "need.sh: going on without: ${lack[*]}" >&2
fi
