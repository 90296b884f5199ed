#include <windows.h>

volatile int sum;

__declspec(dllexport) int plugin(int ms) {
  for (int i = 0; i < 3; i++) sum += i;
  Sleep(ms);
  return sum;
}
