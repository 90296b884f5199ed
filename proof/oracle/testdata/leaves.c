// A program that ends, or becomes another, in the way that its argument says, and
// without the C library's exit.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOW __asm__ volatile("")
__attribute__((noinline)) void leaf(void) { NOW; }
__attribute__((noinline)) void work(void) {
  for (int i = 0; i < 100; i++) leaf();
  NOW;
}
__attribute__((noinline)) void tail(int n) {
  work();
  _exit(n);
}
int main(int argc, char **argv) {
  (void)argc;
  work();
  switch (argv[1][0]) {
  case 'x': _exit(0);
  case 't': tail(0); break;
  case 'a': abort();
  case 'q': quick_exit(0);
  case 'e': execl(argv[0], argv[0], "x", (char *)0); break;
  case 'f':
    if (!fork()) {
      work();
      work();
      _exit(0);
    }
    wait(0);
    break;
  case 'g':
    if (!fork()) {
      work();
      execl(argv[0], argv[0], "x", (char *)0);
    }
    wait(0);
    break;
  case 'v':
    if (!vfork()) _exit(0);
    wait(0);
  }
  return 0;
}
