// Loads a DLL many times, and prints by how many handles and KB of memory the process has grown since the hundredth time. The last
// time it has no channel.
#ifdef MARKS
#include <cairn.h>
CAIRN_CHANNEL(net);
#else
#define cairn_channel_set(name, on) (void)0
#endif
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#include <psapi.h>

static jmp_buf back;

__attribute__((noinline)) static void leave(void) { longjmp(back, 1); }

__attribute__((noinline)) static int use(const char *dll, int ms, int left, int last) {
  HMODULE m = LoadLibraryA(dll);
  int (*work)(int) = (int (*)(int))(void *)GetProcAddress(m, "work");
  int (*leaves)(void (*)(void)) = (int (*)(void (*)(void)))(void *)GetProcAddress(m, "leaves");
  void (*starts)(void) = (void (*)(void))(void *)GetProcAddress(m, "starts");
  if (last) cairn_channel_set(net, 0);
  int r = work(ms);
  starts();
  if (left && !setjmp(back)) r += leaves(leave);
  FreeLibrary(m);
  return GetModuleHandleA(dll) ? -1 : r;
}

// deep waits in a call that is below those of the DLL that were left.
__attribute__((noinline)) static int deep(int n, int ms) {
  volatile char room[1000];
  room[n] = (char)n;
  if (!n) return Sleep(ms), room[n];
  return deep(n - 1, ms) + room[n];
}

static void size(DWORD *handles, SIZE_T *bytes) {
  PROCESS_MEMORY_COUNTERS_EX m;
  GetProcessHandleCount(GetCurrentProcess(), handles);
  GetProcessMemoryInfo(GetCurrentProcess(), (PROCESS_MEMORY_COUNTERS *)&m, sizeof m);
  *bytes = m.PrivateUsage;
}

int main(int argc, char **argv) {
  int times = atoi(argv[2]), ms = argc > 3 ? atoi(argv[3]) : 0, sum = 0, stays = 0;
  DWORD handles = 0, now = 0;
  SIZE_T bytes = 0, now_bytes = 0;
  for (int i = 1; i <= times; i++) {
    int r = use(argv[1], i == 1 || i == times ? ms : 0, i % 10 == 0 || i == times, i == times);
    stays += r < 0, sum += r;
    if (i == 100) size(&handles, &bytes);
  }
  for (int tries = 1000; tries--; Sleep(10)) { // states of threads that have ended are freed when the clock's thread runs
    size(&now, &now_bytes);
    if (now <= handles + 10 && now_bytes <= bytes + (2 << 20)) break;
  }
  fprintf(stderr, "%d %d\n", (int)(now - handles), (int)((INT64)(now_bytes - bytes) / 1024));
  if (ms) sum += deep(20, ms);
  printf("%d %d\n", sum, stays > 1);
  return 0;
}
