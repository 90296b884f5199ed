// late.cc - an exception leaves a function, and its caller goes on for long.
#include <stdexcept>

#include "truth.h"

extern "C" {

SEEN void thrower() {
  CALLED();
  throw std::runtime_error("late");
}

SEEN void work() {
  CALLED();
  long start = nanoseconds();
  try {
    thrower();
  } catch (const std::runtime_error &) {
    printf("shorter thrower %ld\n", nanoseconds() - start);
  }
  long caught = nanoseconds();
  while (nanoseconds() - caught < 20000000) {
  }
}
}

int main() {
  CALLED();
  work();
  puts("deduced 1");
  return truth();
}
