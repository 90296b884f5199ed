// A DLL: its functions are called by name, through pointers, and by each other; one of them jumps out to the program.
#include <setjmp.h>
#include <windows.h>
#define NI __attribute__((noinline, noipa))
typedef int (*callback)(int);

NI static int leaf(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) s += i * n ^ s;
  return s;
}
NI static int twice(int n) { return leaf(n) + leaf(n + 1); }
NI static int held(int n) { return leaf(n) * 3 + n; }
static int (*volatile table[])(int) = {twice, held};
__declspec(dllexport) NI int lib_work(int n) { return table[n & 1](n) + 1; }
__declspec(dllexport) NI int lib_back(callback f, int n) { return f(n) + leaf(2); }
__declspec(dllexport) volatile int stalls;
__declspec(dllexport) NI void stall(int ms) {
  Sleep(ms);
  stalls++;
}
__declspec(dllexport) NI void lib_jump(void *to, int n) {
  if (n % 3 == 0) longjmp(to, leaf(3) + 1);
}
