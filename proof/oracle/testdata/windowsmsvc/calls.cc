// Calls of many kinds, the same in each run, for MSVC's system and Linux: recursion, tail calls, virtual functions, and exceptions: what
// they destroy, handlers that call, that throw on, and that have handlers within.
extern "C" int printf(const char *, ...);
#ifdef _WIN32
extern "C" __declspec(dllimport) void Sleep(unsigned);
#define sleep_ms Sleep
#else
extern "C" int usleep(unsigned);
static void sleep_ms(unsigned ms) { usleep(1000 * ms); }
#endif
#define KEEP __attribute__((noinline))

static volatile int sink;

KEEP int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

KEEP int odd(int n);
KEEP int even(int n) { return n == 0 ? 1 : odd(n - 1); }
KEEP int odd(int n) { return n == 0 ? 0 : even(n - 1); }

struct Shape {
  virtual int area(int n) = 0;
};
struct Square : Shape {
  KEEP int area(int n) override { return n * n + fib(3); }
};
struct Line : Shape {
  KEEP int area(int n) override { return n > 5 ? -1 : fib(n); }
};

KEEP int shapes(int n) {
  Square square;
  Line line;
  Shape *all[] = {&square, &line};
  int sum = 0;
  for (int i = 0; i < n; i++) sum += all[i % 2]->area(i);
  return sum;
}

struct Problem {
  int n;
};

KEEP void nap(int ms) { sleep_ms(ms), sink = sink + 1; }

KEEP void deepest(int n, int ms) {
  if (ms) nap(ms);
  if (n % 3 == 0) throw Problem{n};
  if (n % 5 == 0) throw n;
  sink = sink + n;
}

KEEP void guard() { sink = sink + 1; }

struct Guard {
  KEEP ~Guard() { guard(); }
};

KEEP void descend(int depth, int n, int ms) {
  Guard g;
  if (depth) descend(depth - 1, n, ms);
  else deepest(n, ms);
  sink = sink + 1;
}

KEEP int catches(int n) {
  int caught = 0;
  for (int i = 0; i < n; i++) {
    try {
      descend(i % 4, i, 0);
      fib(2);
    } catch (Problem &p) {
      caught += fib(4) > 0;
    } catch (int x) {
      caught += even(x);
    }
    guard();
  }
  return caught;
}

KEEP int rethrows(int n) {
  try {
    try {
      descend(n, 3, 0);
    } catch (...) {
      fib(1);
      throw;
    }
  } catch (Problem &) {
    return fib(5);
  }
  return 0;
}

// A handler that calls a function that throws, and one within that handler.
KEEP int within(int n) {
  int sum = 0;
  try {
    descend(1, 5, 0);
  } catch (int x) {
    try {
      fib(2);
      descend(n, 3, 0);
    } catch (Problem &p) {
      sum += fib(3) + p.n;
    }
    sum += catches(3) + x;
  }
  return sum + even(n);
}

KEEP int late(int ms) {
  try {
    descend(2, 6, ms);
  } catch (Problem &p) {
    if (ms) nap(ms);
    return p.n;
  }
  return 0;
}

int main(int argc, char **argv) {
  int sum = 0;
  for (int i = 0; i < 5; i++) sum += fib(i + 4) + even(i) + shapes(i + 3) + catches(16) + rethrows(i) + within(i);
  int ms = 0;
  for (const char *p = argc > 1 ? argv[1] : ""; *p; p++) ms = 10 * ms + *p - '0';
  sum += late(ms);
  printf("%d %d\n", sum, sink);
  return sum & 3;
}
