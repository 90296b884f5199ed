// exceptions.cc - exceptions leave frames without exits: what is called after
// one is caught belongs below the function that caught it.
#include <stdexcept>

#include "truth.h"

extern "C" {

SEEN void thrower(int n) {
  CALLED();
  if (n % 2) throw std::runtime_error("odd");
  sink = sink + n;
}

SEEN void middle(int n) {
  CALLED();
  thrower(n);
  sink = sink + n;
}

SEEN void leaf() {
  CALLED();
  sink = sink + 1;
}

SEEN void catcher(int n) {
  CALLED();
  try {
    middle(n);
  } catch (const std::runtime_error &) {
    sink = sink + 1;
  }
}

SEEN int work() {
  CALLED();
  for (int i = 0; i < 10; i++) {
    catcher(i);
    leaf();
  }
  return 0;
}
}

int main() {
  CALLED();
  work();
  puts("stack main;work 1\nstack main;work;catcher 10\nstack main;work;catcher;middle 10");
  puts("stack main;work;catcher;middle;thrower 10\nstack main;work;leaf 10\ndeduced 10");
  return truth();
}
