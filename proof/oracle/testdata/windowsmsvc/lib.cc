#include "shared.h"

__declspec(noinline) void last(int x) { printf("last %d\n", x); }
struct Last {
  int n = 4;
  ~Last() { last(n); } // when the library is unloaded
};
static Last at_end;

struct Problem {
  virtual int code() { return 2; }
};

extern "C" __declspec(dllexport) int dllfn(int x) {
  try {
    if (x == 2) throw Problem();
  } catch (Problem &p) {
    return shared(x) + p.code() + at_end.n;
  }
  return 0;
}
