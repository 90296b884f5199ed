// A DLL that is loaded again and again: it has a channel, a section that longjmp leaves, and a thread of its own.
#ifdef MARKS
#include <cairn.h>
CAIRN_CHANNEL(net);
#else
#define CAIRN_SECTION_IF(yes, name)
#define CAIRN_SECTION(name)
#endif
#include <windows.h>

volatile int sum;

__attribute__((noinline)) static void waits(int ms) {
  for (int i = 0; i < 3; i++) sum += i;
  if (ms) Sleep(ms);
}

__declspec(dllexport) int work(int ms) {
  CAIRN_SECTION_IF(cairn_channel(net), "net") { waits(ms); }
  return sum;
}

__declspec(dllexport) int leaves(void (*leave)(void)) {
  CAIRN_SECTION("left") { leave(); }
  return 1;
}

static DWORD WINAPI runs(void *of) {
  waits(0);
  return of != 0;
}

__declspec(dllexport) void starts(void) {
  HANDLE thread = CreateThread(0, 0, runs, 0, 0, 0);
  WaitForSingleObject(thread, INFINITE);
  CloseHandle(thread);
}
