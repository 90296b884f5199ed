#!/bin/sh
# Makes the compilers' output that the golden tests rewrite. Other versions of
# the compilers make other text; the committed files are from gcc 12 and clang 22.
set -e
gcc -O2 -S -o gcc_switch.s switch.c
gcc -O0 -S -o gcc_switch_O0.s switch.c
gcc -O2 -S -fPIC -fcf-protection=full -fpatchable-function-entry=4,2 -g -o gcc_odd.s odd.c
gcc -O2 -S -ffunction-sections -pg -fno-ident -fno-asynchronous-unwind-tables -o gcc_odd_pg.s odd.c
g++ -O2 -S -o gcc_throw.s throw.cc
clang-22 -O2 -S -fno-integrated-as -o clang_switch.s switch.c
clang-22 -O2 -S -fno-integrated-as -fPIC -fcf-protection=full -ffunction-sections -o clang_odd.s odd.c
clang++-22 -O2 -S -fno-integrated-as -o clang_throw.s throw.cc
a="aarch64-linux-gnu"
$a-gcc -O2 -S -mbranch-protection=standard -o ../../split/testdata/aarch64/gcc_switch.s switch.c
$a-gcc -O0 -S -o ../../split/testdata/aarch64/gcc_switch_O0.s switch.c
$a-gcc -O2 -S -fPIC -g -o ../../split/testdata/aarch64/gcc_odd.s ../../split/testdata/aarch64/odd.c
$a-g++ -O2 -S -mbranch-protection=standard -o ../../split/testdata/aarch64/gcc_throw.s throw.cc
$a-gcc -O2 -S -o ../../split/testdata/aarch64/gcc_table.s ../../split/testdata/table.c
clang-22 --target=$a -O2 -S -fno-integrated-as -o ../../split/testdata/aarch64/clang_switch.s switch.c
clang-22 --target=$a -O2 -S -fno-integrated-as -fPIC -g -ffunction-sections -o ../../split/testdata/aarch64/clang_odd.s ../../split/testdata/aarch64/odd.c
clang++-22 --target=$a -O2 -S -fno-integrated-as -mbranch-protection=standard -o ../../split/testdata/aarch64/clang_throw.s throw.cc
clang-22 --target=$a -O2 -S -fno-integrated-as -o ../../split/testdata/aarch64/clang_table.s ../../split/testdata/table.c
a="arm-linux-gnueabihf"
$a-gcc -O2 -S -o arm/gcc_switch.s switch.c
$a-gcc -O2 -S -marm -o arm/gcc_switch_arm.s switch.c
$a-gcc -Os -S -fPIC -o arm/gcc_odd.s arm/odd.c
$a-gcc -O2 -S -marm -ffunction-sections -o arm/gcc_odd_arm.s arm/odd.c
$a-g++ -O2 -S -o arm/gcc_throw.s throw.cc
clang-22 --target=$a -march=armv7-a -O2 -S -fno-integrated-as -o arm/clang_switch.s switch.c
clang-22 --target=$a -march=armv7-a -O2 -S -fno-integrated-as -fPIC -ffunction-sections -o arm/clang_odd.s arm/odd.c
clang++-22 --target=$a -march=armv7-a -O2 -S -fno-integrated-as -o arm/clang_throw.s throw.cc
