#include "shared.h"
#include <stdexcept>

__attribute__((noinline)) int last(int x) { __asm__ volatile(""); return x ^ 1; }
struct Last {
  int n = 4;
  ~Last() { n = last(n); } // after main
};
static Last at_end;

__declspec(dllexport) int dllfn(int x) {
  try {
    if (x == 2) throw std::runtime_error("two");
  } catch (std::exception &) {
    return shared(x) + at_end.n;
  }
  return 0;
}
