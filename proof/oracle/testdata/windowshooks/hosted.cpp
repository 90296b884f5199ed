// What a hosted machine with Visual Studio compiles with /Gh /GH: calls that take long, one of which an exception leaves.
#include <cstdio>
#include <stdexcept>
#include <windows.h>

#ifdef _MSC_VER
#define KEEP __declspec(noinline)
#else
#define KEEP __attribute__((noinline))
#endif

static volatile int sink;

KEEP int stall(int ms) {
  Sleep(ms);
  return sink++;
}

KEEP int middle(int ms) { return stall(ms) + sink; }

KEEP int outer(int ms) { return middle(ms) + sink; }

KEEP int thrower(int ms) {
  Sleep(ms);
  if (ms) throw std::runtime_error("thrown");
  return sink++;
}

KEEP int catcher(int ms) {
  try {
    return thrower(ms);
  } catch (const std::exception &) {
    return outer(0);
  }
}

KEEP double many(double a, int b, double c, int d, double e, int f, double g, int h, int ms) {
  stall(ms);
  return a + b * c + d * e + f * g + h;
}

int main() {
  for (int i = 0; i < 100000; i++) sink = 0;
  outer(60);
  catcher(60);
  double sum = many(1, 2, 3, 4, 5, 6, 7, 8, 60);
  std::printf("%g\n", sum);
  return sum != 77;
}
