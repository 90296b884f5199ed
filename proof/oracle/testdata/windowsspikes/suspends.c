// Suspends all its other threads again and again, as collectors of garbage do, that of the clock too, while one waits.
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#include <tlhelp32.h>

static volatile LONG over;
static int changed; // how often a call that suspended a thread has changed the number of the last error

__attribute__((noinline)) static DWORD WINAPI waits(void *of) {
  while (!over) Sleep(100);
  return of != 0;
}

__attribute__((noinline)) static int stop_all(HANDLE *thread, int room) {
  HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
  THREADENTRY32 t = {.dwSize = sizeof t};
  int n = 0;
  for (BOOL more = Thread32First(all, &t); more && n < room; more = Thread32Next(all, &t)) {
    if (t.th32OwnerProcessID != GetCurrentProcessId() || t.th32ThreadID == GetCurrentThreadId()) continue;
    HANDLE h = OpenThread(THREAD_SUSPEND_RESUME, FALSE, t.th32ThreadID);
    SetLastError(77);
    if (h && SuspendThread(h) != (DWORD)-1) thread[n++] = h, changed += GetLastError() != 77;
    else if (h) CloseHandle(h);
  }
  CloseHandle(all);
  return n;
}

int main(int argc, char **argv) {
  HANDLE thread[64], waiter = CreateThread(0, 0, waits, 0, 0, 0);
  int most = 0;
  for (int i = argc > 1 ? atoi(argv[1]) : 500; i--;) {
    int n = stop_all(thread, 64);
    most = n > most ? n : most;
    while (n) ResumeThread(thread[--n]), CloseHandle(thread[n]);
    if (i % 4 == 0) Sleep(1);
  }
  over = 1;
  WaitForSingleObject(waiter, INFINITE);
  printf("%d\n", most > 0);
  return changed ? 4 : 3;
}
