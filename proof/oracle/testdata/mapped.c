/* What a program with a runtime that is a file does in its life: mapped WHAT [LIBRARY]. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cairn.h"

__attribute__((noinline)) int twice(int n) {
  __asm__("");
  return 2 * n;
}
__attribute__((noinline)) int child(int n) {
  __asm__("");
  return n + 1;
}

#ifdef LIBRARY
__attribute__((noinline)) int thrice(int n) { return 3 * n; }
#else
static int load(const char *path) {
  void *library = dlopen(path, RTLD_NOW);
  int (*f)(int) = library ? (int (*)(int))dlsym(library, "thrice") : 0;
  int n = f ? f(1) : -1;
  if (library) dlclose(library);
  return n;
}

int main(int argc, char **argv) {
  int sum = 0;
  for (int i = 0; i < 10; i++) sum += twice(i);
  printf("%d\n", sum);
  fflush(stdout);
  if (!strcmp(argv[1], "kill")) raise(SIGKILL);
  if (!strcmp(argv[1], "dump")) {
    if (cairn_dump() && getenv("CAIRN_DIR")) puts("no dump");
    cairn_reset();
    child(1);
  }
  if (!strcmp(argv[1], "directory") && cairn_set_dir(argv[2]) && getenv("CAIRN_DIR")) puts("no directory");
  if (!strcmp(argv[1], "dlopen"))
    for (int i = 0; i < 5; i++) printf("%d\n", load(argv[2]));
  if (!strcmp(argv[1], "fork")) {
    if (!fork()) {
      child(1);
      _exit(0);
    }
    wait(0);
  }
  return 0;
}
#endif
