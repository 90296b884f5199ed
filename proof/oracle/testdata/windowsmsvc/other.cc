#include "shared.h"

int unused(int x) { return x * 7; }

// A handler in a function that other files may have.
template <class T> __declspec(noinline) T guarded(T (*f)(T), T x) {
  try {
    return f(x);
  } catch (T n) {
    return n;
  }
}

__declspec(noinline) int fails(int x) { throw x; }
int other(int x) { return shared(x + 5) + guarded(fails, x) - x; }
