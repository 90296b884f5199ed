// Waits for a moment, and ends by its return, or at once.
#include <windows.h>

int main(int argc, char **argv) {
  Sleep(8);
  if (argc > 1 && argv[1]) ExitProcess(4);
  return 4;
}
