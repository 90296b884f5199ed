/* A program that starts two others, of which one leaves the job that it is in. */
#include <stdio.h>
#include <windows.h>
#define NI __attribute__((noinline))

NI int start(const char *self, DWORD how) {
  char line[1024];
  STARTUPINFOA s = {sizeof s};
  PROCESS_INFORMATION p;
  DWORD code = 99;
  snprintf(line, sizeof line, "\"%s\" child", self);
  if (!CreateProcessA(0, line, 0, 0, 0, how, 0, 0, &s, &p)) return -1;
  WaitForSingleObject(p.hProcess, INFINITE);
  GetExitCodeProcess(p.hProcess, &code);
  return (int)code;
}
int main(int argc, char **argv) {
  char self[512];
  if (argc > 1) return 7;
  GetModuleFileNameA(0, self, sizeof self);
  int a = start(self, 0), b = start(self, CREATE_BREAKAWAY_FROM_JOB);
  printf("%d %d\n", a, b);
  return 4;
}
