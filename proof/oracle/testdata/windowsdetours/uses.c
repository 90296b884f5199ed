// A program that is linked with one DLL, and loads and unloads others, in which the same functions are.
#include <setjmp.h>
#include <stdio.h>
#include <windows.h>
#define NI __attribute__((noinline))
typedef int (*callback)(int);
__declspec(dllimport) int lib_work(int);
__declspec(dllimport) int lib_back(callback, int);
__declspec(dllimport) void stall(int);
__declspec(dllimport) void lib_jump(void *, int);

NI int own(int n) { return n * 2 + 1; }
NI int lands(int n) {
  jmp_buf at;
  volatile int v = 0;
  if (!setjmp(at)) lib_jump(at, n), v = 1;
  return v;
}
NI int outer(int ms) {
  stall(ms);
  return own(ms);
}
static HMODULE load(const char *name, int (**work)(int)) {
  HMODULE m = LoadLibraryA(name);
  *work = m ? (int (*)(int))GetProcAddress(m, "lib_work") : 0;
  return m;
}
NI int loads(const char *name, int rounds) {
  int s = 0, (*work)(int);
  for (int i = 0; i < rounds; i++) {
    HMODULE m = load(name, &work);
    if (!m) return -1;
    for (int k = 0; k < 10; k++) s += work(k);
    FreeLibrary(m);
    if (i % 5 == 1) VirtualAlloc(m, 1, MEM_RESERVE, PAGE_NOACCESS); // it is loaded elsewhere then
  }
  return s;
}
int main(void) {
  int s = 0;
  for (int i = 0; i < 100; i++) s += lib_work(i) + lib_back(own, i) + lands(i);
  printf("%d %d\n", s, outer(60));
  printf("%d\n", loads("two.dll", 20));
  return 5;
}
