// A program without a C library, which has no start files that call the runtime.
#include <cairn.h>

__declspec(dllimport) void ExitProcess(unsigned code);

// No compiler knows what it returns.
__attribute__((noinline)) int work(int n) {
  __asm__ volatile("" : "+r"(n));
  return n * 3;
}

__attribute__((noinline)) int idle(int n) { return n * 4; }

void start(void) {
  int n = work(4);
  if (n == 5) n = idle(n);
  ExitProcess(cairn_dump() ? 9 : n);
}
