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
