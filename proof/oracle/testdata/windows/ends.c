#include <cairn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

CAIRN_SKIP __attribute__((noinline)) int skipped(int x) { return x + 2; }
__attribute__((noinline)) void early(void) { puts("early"); }
__attribute__((noinline)) void late(void) { puts("late"); }

int main(int argc, char **argv) {
  const char *how = argc > 2 ? argv[1] : "";
  if (!strcmp(how, "move") && cairn_set_dir(argv[2])) return 9;
  early();
  if (!strcmp(how, "dump")) {
    if (cairn_dump()) return 9;
    cairn_reset();
  }
  if (!strcmp(how, "exit")) exit(3);
  if (!strcmp(how, "kill")) {
    const char *seconds = getenv("WAIT");
    Sleep(seconds ? 1000 * atoi(seconds) : 0);
    TerminateProcess(GetCurrentProcess(), 7);
  }
  if (!strcmp(how, "crash")) *(volatile int *)(long long)(skipped(-2)) = 1;
  late();
  return 0;
}
