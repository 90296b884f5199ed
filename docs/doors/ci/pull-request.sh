#!/bin/sh
# Makes a repository of this directory, and a branch that adds a function which the tests call with one number only.
set -eu
git init -q -b main .
git add Makefile calc.c test.c
git -c user.name=you -c user.email=you@example.com commit -q -m 'a calculator'
git checkout -q -b clamp
cat >> calc.c <<'END'
int clamp(int n) {
  if (n > 100)
    return 100;
  return n;
}
END
sed -i 's/^int halve(int n);/&\nint clamp(int n);/; s/^  return 0;/  assert(clamp(7) == 7);\n&/' test.c
git -c user.name=you -c user.email=you@example.com commit -q -a -m 'clamp numbers'
