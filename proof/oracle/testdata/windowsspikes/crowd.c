// More threads than are looked at, which all wait when the program ends.
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

static HANDLE event;
static volatile int sum;

__attribute__((noinline)) int hangs(int n) {
  for (int i = 0; i < 3; i++) sum += n;
  WaitForSingleObject(event, INFINITE);
  return sum;
}

static DWORD WINAPI run(void *p) { return hangs(1) + 1; }

int main(void) {
  const char *seconds = getenv("WAIT");
  event = CreateEventA(0, 1, 0, 0);
  for (int i = 0; i < 200; i++) CreateThread(0, 0, run, 0, 0, 0);
  Sleep(seconds ? 1000 * atoi(seconds) : 1000);
  puts("ends");
  return 0;
}
