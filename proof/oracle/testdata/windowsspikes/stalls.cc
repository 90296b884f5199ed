// Calls that take too long in each of the ways in which a call can end, for Windows and, so that both can be compared, for
// Linux.
#include <atomic>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#ifdef _WIN32
#include <windows.h>
#else
#include <unistd.h>
#define Sleep(ms) usleep((ms) * 1000)
#endif

#define KEEP __attribute__((noinline))

volatile int sink;

KEEP int stall(int ms) {
  for (int i = 0; i < 3; i++) sink += i;
  Sleep(ms);
  return sink;
}

KEEP int middle(int ms) {
  int r = 0;
  for (int i = 0; i < 2; i++) r += stall(i ? ms : 0);
  return r;
}

KEEP int outer(int ms) {
  int r = 0;
  for (int i = 0; i < 3; i++) r += sink;
  return middle(ms) + r;
}

KEEP int tail(int ms) {
  for (int i = 0; i < 3; i++) sink += i;
  return middle(ms);
}

KEEP int thrower(int ms) {
  for (int i = 0; i < 3; i++) sink += i;
  Sleep(ms);
  throw std::runtime_error("thrown");
}

struct Cleanup {
  ~Cleanup() {
    for (int i = 0; i < 3; i++) sink += i;
  }
};

KEEP int through(int ms) {
  Cleanup c;
  int r = 0;
  for (int i = 0; i < 2; i++) r += thrower(ms) + i;
  return r;
}

KEEP int catcher(int ms) {
  try {
    for (int i = 0; i < 2; i++) sink += through(ms);
  } catch (std::exception &e) {
    puts(e.what());
    return 1;
  }
  return 0;
}

static jmp_buf place;

KEEP void jumper(int ms) {
  for (int i = 0; i < 3; i++) sink += i;
  Sleep(ms);
  longjmp(place, 1);
}

KEEP int lander(int ms) {
  for (int i = 0; i < 3; i++) sink += i;
  if (setjmp(place)) {
    puts("landed");
    return 1;
  }
  jumper(ms);
  return 0;
}

KEEP int grows(int ms) {
  char *p = (char *)__builtin_alloca(ms * 10);
  memset(p, 1, ms);
  for (int i = 0; i < 3; i++) sink += p[i];
  Sleep(ms);
  return p[ms / 2];
}

KEEP double vectors(double a, double b, int ms) {
  double s = 0;
  for (int i = 0; i < 20; i++) s += a * sink - b;
  Sleep(ms);
  return s * 0 + a - b;
}

KEEP int many(int a, int b, int c, int d, int e, int f, int ms) {
  for (int i = 0; i < 3; i++) sink += a + i;
  Sleep(ms);
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}

int main(int argc, char **argv) {
  int sum = 0, ms = argc > 1 ? atoi(argv[1]) : 60;
  outer(ms);
  tail(ms);
  sum += catcher(ms);
  sum += lander(ms);
  sum += grows(ms);
  printf("%g\n", vectors(5.5, 2.25, ms));
  printf("%d\n", many(1, 2, 3, 4, 5, 6, ms));
  std::thread joined([ms] { outer(ms); });
  joined.join();
  static std::atomic<int> done;
  std::thread([ms] {
    outer(ms);
    done = 1;
  }).detach();
  while (!done) Sleep(1);
  printf("%d\n", sum);
  return 0;
}
