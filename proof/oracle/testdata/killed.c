// A library that ends a program, loaded before it, where its main returns or calls exit: no code of the program runs after that.
// With KILLED in the environment, the process is killed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int (*program)(int, char **, char **);

void exit(int status) {
  fflush(0);
  if (getenv("KILLED")) kill(getpid(), SIGKILL);
  _exit(status);
}

static int run(int argc, char **argv, char **envp) { exit(program(argc, argv, envp)); }

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack) {
  int (*start)(void *, int, char **, void *, void *, void *, void *) = dlsym(RTLD_NEXT, "__libc_start_main");
  program = main;
  return start(run, argc, argv, init, fini, rtld_fini, stack);
}
