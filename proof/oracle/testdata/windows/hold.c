// Keeps a file open, so that it cannot be replaced, until its input ends.
#include <stdio.h>
#include <windows.h>

int main(int argc, char **argv) {
  HANDLE file = CreateFileA(argv[1], GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, 0, OPEN_EXISTING, 0, 0);
  if (file == INVALID_HANDLE_VALUE)
    return 1;
  puts("open");
  fflush(stdout);
  getchar();
  return 0;
}
