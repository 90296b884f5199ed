// Threads call functions, throw through them and jump out of them, while all
// functions are unhooked and hooked again. What threads compute is checked, and
// that code is that of the file while nothing is hooked.
#include <atomic>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "differences.h"

extern "C" int cairn_detours(int on) __attribute__((weak));

#define NOINLINE __attribute__((noinline))

NOINLINE long leaf(long x) { return x * 3 + 1; }
NOINLINE long small(long *x) { return *x ? leaf(*x) : 0; }
NOINLINE long recursive(long n) { return n < 2 ? n : recursive(n - 1) + recursive(n - 2); }
NOINLINE double vector(double a, float b) { return a * 2 + b; }
NOINLINE long thrower(long n) {
  if (n % 3 == 0) throw std::runtime_error("three");
  return n;
}
NOINLINE long middle(long n) {
  struct guard {
    long &n;
    ~guard() { n++; }
  };
  long m = n;
  guard g{m};
  return thrower(m) + m;
}
NOINLINE long catcher(long n) {
  try {
    return middle(n);
  } catch (const std::exception &e) {
    return (long)strlen(e.what());
  }
}
NOINLINE void jumper(jmp_buf to, long n) {
  if (n & 1) longjmp(to, (int)n);
}
NOINLINE long jumps(long n) {
  jmp_buf here;
  volatile long got = n;
  int v = setjmp(here);
  if (v) return v + 1;
  jumper(here, n);
  return got;
}
NOINLINE long choose(long n) {
  switch (n % 7) {
  case 0: return leaf(n);
  case 1: return recursive(5);
  case 2: return catcher(n);
  case 3: return jumps(n);
  case 4: return (long)vector((double)n, 1);
  case 5: return small(&n);
  }
  return -n;
}
NOINLINE long round_of(long seed) {
  long sum = 0;
  for (long i = seed; i < seed + 200; i++) sum = sum * 31 + choose(i);
  return sum;
}

static std::atomic<long> wrong, rounds;
static std::atomic<bool> stop;

static void work(long seed, long want) {
  while (!stop) {
    if (round_of(seed) != want) wrong++;
    rounds++;
  }
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 4, times = argc > 2 ? atoi(argv[2]) : 10;
  if (!cairn_detours) {
    puts("not preloaded");
    return 0;
  }
  long hooked = differences();
  if (!cairn_detours(0) || differences()) return printf("%ld bytes differ at the start\n", differences()), 1;
  std::vector<long> want;
  for (int i = 0; i < threads; i++) want.push_back(round_of(i * 200));
  std::vector<std::thread> all;
  for (int i = 0; i < threads; i++) all.emplace_back(work, i * 200, want[i]);
  for (int i = 0; i < times; i++) {
    if (!cairn_detours(1) || differences() != hooked) return printf("hooked: %ld bytes, not %ld\n", differences(), hooked), 1;
    for (long r = rounds; rounds < r + threads;) std::this_thread::yield();
    if (!cairn_detours(0) || differences()) return printf("unhooked: %ld bytes differ\n", differences()), 1;
    for (long r = rounds; rounds < r + threads;) std::this_thread::yield();
  }
  stop = true;
  for (auto &t : all) t.join();
  printf("hooked %s, wrong %ld\n", hooked ? "some" : "none", (long)wrong);
  return wrong != 0 || !hooked;
}
