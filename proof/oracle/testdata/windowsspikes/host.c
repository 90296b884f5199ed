// Loads a DLL again and again, and is then ended in a call that nothing returns from.
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

__attribute__((noinline)) static int use(const char *dll, int ms) {
  HMODULE m = LoadLibraryA(dll);
  int (*f)(int) = (int (*)(int))(void *)GetProcAddress(m, "plugin");
  int r = f ? f(ms) : -1;
  FreeLibrary(m);
  return r;
}

#ifndef SLOTS
#define SLOTS 0 // of thread-local storage
#endif

int main(int argc, char **argv) {
  for (int i = 0; i < SLOTS; i++) TlsAlloc();
  const char *ms = getenv("MS"), *seconds = getenv("WAIT");
  for (int i = 1; i < argc; i++) printf("%d\n", use(argv[i], (ms ? atoi(ms) : 30) * i));
  fflush(stdout);
  Sleep(seconds ? 1000 * atoi(seconds) : 300);
  TerminateProcess(GetCurrentProcess(), 7);
  return 0;
}
