/* A program that starts others: itself, by three ways, itself to be resumed, itself outside of the job that it is in, and another one. */
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>
#define NI __attribute__((noinline))

NI int start(const char *line, DWORD how, int wide, void *environment) {
  wchar_t text[1024];
  char copy[1024];
  STARTUPINFOA a = {sizeof a};
  STARTUPINFOW w = {sizeof w};
  PROCESS_INFORMATION p;
  DWORD code = 99;
  MultiByteToWideChar(CP_ACP, 0, line, -1, text, 1024);
  snprintf(copy, sizeof copy, "%s", line);
  if (!(wide ? CreateProcessW(0, text, 0, 0, 0, how, environment, 0, &w, &p) : CreateProcessA(0, copy, 0, 0, 0, how, environment, 0, &a, &p))) return -1;
  if (how & CREATE_SUSPENDED) ResumeThread(p.hThread);
  WaitForSingleObject(p.hProcess, INFINITE);
  GetExitCodeProcess(p.hProcess, &code);
  return (int)code;
}
NI void rest(void) { Sleep(60); }
NI int hooked(void) { return *(volatile unsigned char *)hooked == 0xe9; }
int main(int argc, char **argv) {
  char self[512], line[600];
  if (argc > 1) {
    rest();
    return 7 + hooked();
  }
  GetModuleFileNameA(0, self, sizeof self);
  snprintf(line, sizeof line, "\"%s\" child", self);
  const char *other = getenv("OTHER");
  printf("%d %d %d", start(line, 0, 0, 0), start(line, 0, 1, 0), system(line));
  printf(" %d", start(line, CREATE_BREAKAWAY_FROM_JOB, 0, 0));
  printf(" %d %d", start(line, CREATE_SUSPENDED, 0, 0), start(line, 0, 0, "A=B\0"));
  printf(" %d\n", other ? start(other, 0, 1, 0) : 0);
  return 4;
}
