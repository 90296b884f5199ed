#!/bin/sh
# ninja.sh DIR N HEADERS: a build of N programs of two objects each, every object from a
# source with HEADERS headers of a pool.
mkdir -p "$1" && cd "$1" || exit 1
awk -v n="$2" -v headers="$3" 'BEGIN {
  print "cflags = -O2 -Iinclude\nrule cc\n  command = cc $cflags -MD -MF $out.d -c $in -o $out\n  description = CC $out"
  print "rule link\n  command = cc -o $out $in $libs\n  description = LINK $out\nrule generate\n  command = generate $in > $out"
  for (h = 0; h < 200; h++) print "build include/h" h ".h: generate root.txt"
  for (i = 0; i < n; i++) {
    for (k = 0; k < 2; k++) {
      line = "build out/dir" i % 17 "/object" i "_" k ".o: cc root.txt |"
      for (h = 0; h < headers; h++) line = line " include/h" (i * 7 + k + h * 13) % 200 ".h"
      print line
      if (i % 3 == 0) print "  cflags = -O3 $\n      -DNAME=" i " -Iinclude"
    }
    print "build bin/program" i ": link out/dir" i % 17 "/object" i "_0.o out/dir" i % 17 "/object" i "_1.o" (i ? " || bin/program" int(i / 2) : "")
    print "  libs = -lm"
  }
}' >build.ninja
echo root >root.txt
