/* recursion.c - a function below itself, two below each other, and a recursion
 * of 100 frames. */
#include "truth.h"

SEEN static unsigned tree(unsigned depth) {
  CALLED();
  if (depth == 0) return 1;
  unsigned left = tree(depth - 1);
  sink = sink + left;
  return left + tree(depth - 1) + 1;
}

SEEN static unsigned ping(unsigned n);
SEEN static unsigned pong(unsigned n) {
  CALLED();
  unsigned x = n ? ping(n - 1) : 0;
  sink = sink + x;
  return x + 1;
}
static unsigned ping(unsigned n) {
  CALLED();
  unsigned x = n ? pong(n - 1) : 0;
  sink = sink + x;
  return x + 1;
}

SEEN static unsigned deep(unsigned n) {
  CALLED();
  unsigned x = n ? deep(n - 1) : 0;
  sink = sink + x;
  return x + 1;
}

int main(void) {
  CALLED();
  sink = tree(4);
  sink = ping(5);
  sink = deep(99);
  puts("stack main;tree 1\nstack main;tree;tree 2\nstack main;tree;tree;tree 4\nstack main;tree;tree;tree;tree;tree 16");
  puts("stack main;ping 1\nstack main;ping;pong;ping;pong;ping;pong 1\nstack main;deep 1\nstack main;deep;deep;deep 1");
  puts("depth 101");
  return truth();
}
