// Counts the memory that calls on many fibers need.
#include <stdio.h>
#include <windows.h>

enum { FIBERS = 1000 };

static void *own, *fibers[FIBERS];
static volatile int sum;

__attribute__((noinline)) static void runs(int n) {
  sum += n;
  SwitchToFiber(own);
}

static void WINAPI body(void *p) {
  for (;;) runs(1);
}

// committed returns the bytes of memory of this process that are not of files.
__attribute__((no_instrument_function)) static size_t committed(void) {
  MEMORY_BASIC_INFORMATION m;
  size_t all = 0;
  for (char *at = 0; VirtualQuery(at, &m, sizeof m); at = (char *)m.BaseAddress + m.RegionSize)
    if (m.State == MEM_COMMIT && m.Type == MEM_PRIVATE) all += m.RegionSize;
  return all;
}

int main(void) {
  own = ConvertThreadToFiber(NULL);
  for (int i = 0; i < FIBERS; i++) fibers[i] = CreateFiber(65536, body, NULL);
  size_t before = committed();
  for (int i = 0; i < FIBERS; i++) SwitchToFiber(fibers[i]);
  printf("%d switches, less than 8 KB each: %d\n", sum, committed() - before < FIBERS * 8192);
  return 0;
}
