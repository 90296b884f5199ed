/* jumps.c - functions that end by a jump to another, in C and in C++. Compiled with
 * -fno-optimize-sibling-calls it makes the same calls without jumps. */
#include <stdlib.h>
#include <unistd.h>

#define NO __attribute__((noinline, noclone))
#define LOCAL static NO

static volatile int sink;

LOCAL int leaf(int x) { return sink += x; }
LOCAL int inner(int x) { return sink ^= x; }

/* A chain of jumps, and its caller calls every part of it as well. */
LOCAL int third(int x) { sink++; return leaf(x + 1); }
LOCAL int second(int x) { leaf(x); return third(x + 1); }
LOCAL int first(int x) { sink--; return second(x * 2); }

/* A jump on a condition, and one of two. */
LOCAL int perhaps(int x) {
  sink += x;
  if (x & 1) return inner(x);
  return x;
}
LOCAL int either(int x) {
  if (x & 1) return inner(x + sink);
  sink = x;
  return leaf(x);
}

/* A function of the C library is jumped to, or one of ours that nobody else calls. */
LOCAL int only(int x) { return sink += 2 * x; }
LOCAL int mixed(int x) {
  sink++;
  if (x % 3 == 0) return isatty(-1 - x);
  return only(x);
}
/* The same, and the caller calls what may have been jumped to: it stays open. */
LOCAL int doubtful(int x) {
  sink++;
  if (x % 3 == 0) return isatty(-1 - x);
  return inner(x);
}

/* Round and round. */
LOCAL int odd(int x);
LOCAL int even(int x) { sink++; return x <= 0 ? 1 : odd(x - 1); }
LOCAL int odd(int x) { sink--; return x <= 0 ? 0 : even(x - 1); }

/* Through a pointer, and what the pointer leads to. */
LOCAL int pointed(int x) { return leaf(x - 1); }
static int (*volatile pointer)(int) = pointed;
LOCAL int through(int x) { sink++; return pointer(x); }

/* Called back by the C library. */
LOCAL int order(int a, int b) { sink++; return a < b ? -1 : a > b; }
LOCAL int compare(const void *a, const void *b) { sink--; return order(*(const int *)a, *(const int *)b); }
LOCAL void sort(void) {
  int list[] = {5, 3, 8, 1, 9, 2};
  qsort(list, 6, sizeof *list, compare);
  sink += list[0];
}

#ifdef __cplusplus
struct Shape {
  NO Shape() { sink++; }
  virtual NO int area(int x) { return base(x); }
  virtual NO ~Shape() { sink--; }
  NO int base(int x) { return sink += x; }
};
struct Square : Shape {
  NO int area(int x) override { sink++; return base(x * x); }
};
template <class T> NO int measure(T *s, int x) { sink++; return s->area(x); }
LOCAL int objects(int x) {
  Shape *s = x & 1 ? new Shape : new Square;
  int n = measure(s, x) + s->base(1);
  delete s;
  return n + 1;
}
#else
LOCAL int objects(int x) { return sink += x; }
#endif

LOCAL int work(int x) {
  int n = leaf(x) + third(x) + second(x) + first(x);
  n += perhaps(x) + either(x) + inner(x);
  n += mixed(x) + doubtful(x);
  n += even(x & 7) + odd(x & 7);
  n += through(x) + objects(x);
  sort();
  return n + 1;
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 10, n = 0;
  for (int i = 0; i < rounds; i++) n += work(i);
  return n == 42;
}
