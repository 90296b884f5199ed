/* life WHAT [LIBRARY]: calls functions of probes.S and ends, in ways of which the runtime is to
 * know. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern long (*const functions[64])(long) __attribute__((visibility("hidden")));
extern long function_0(long), function_2(long);
extern long registers_kept(long (*)(long), long);
extern int __cairn_dump(void) __attribute__((weak, visibility("hidden")));
extern void __cairn_reset(void) __attribute__((weak, visibility("hidden")));
extern char **environ;

/* The return address of a call that mode full has on record. */
extern const char called_here[] __attribute__((visibility("hidden")));

enum { THREADS = 4, ROUNDS = 1000 };
static pthread_barrier_t barrier;

static void *race(void *arg) {
  for (int i = 0; i < 64; i++) {
    pthread_barrier_wait(&barrier);
    for (int k = 0; k < ROUNDS; k++) functions[i](0);
  }
  return arg;
}

static void threads(void) {
  pthread_t t[THREADS];
  pthread_barrier_init(&barrier, 0, THREADS);
  for (int i = 0; i < THREADS; i++) pthread_create(&t[i], 0, race, 0);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
}

static void in_child(void (*f)(void)) {
  pid_t pid = fork();
  if (!pid) {
    f();
    exit(0);
  }
  waitpid(pid, 0, 0);
}

static void child(void) {
  functions[5](1);
  functions[4](1);
}

/* The environment and the arguments lie next to each other. */
static void forget(char **argv) {
  for (char **e = environ; *e; e++) memset(*e, 'x', strlen(*e));
  for (char **a = argv; *a; a++) memset(*a, 'y', strlen(*a));
  if (chdir("/")) abort();
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "", *library = argc > 2 ? argv[2] : "";
  functions[3](0);
  functions[1](7);
  __asm__ volatile("mov x0, 0\n\tbl function_2\n\t.globl called_here\n.hidden called_here\ncalled_here:"
                   : : : "x0", "x16", "x17", "x30", "cc", "memory");
  functions[3](1);
  if (!strcmp(what, "registers"))
    for (int i = 8; i < 10; i++)
      for (int k = 0; k < 3; k++)
        if (registers_kept(functions[i], i)) abort();
  if (!strcmp(what, "threads")) threads();
  if (!strcmp(what, "fork")) in_child(child);
  if (!strcmp(what, "abort")) abort();
  if (!strcmp(what, "kill")) kill(getpid(), SIGKILL);
  if (!strcmp(what, "_exit")) _exit(0);
  if (!strcmp(what, "dump")) {
    if (__cairn_dump()) abort();
    __cairn_reset();
    child();
  }
  if (!strcmp(what, "truncate")) {
    glob_t files;
    if (glob("d/*", 0, 0, &files) || files.gl_pathc != 1 || truncate(files.gl_pathv[0], 0)) abort();
    child();
  }
  if (!strcmp(what, "title")) {
    forget(argv);
    in_child(child);
  }
  if (!strcmp(what, "dlopen")) {
    void *lib = dlopen(library, RTLD_NOW);
    long (*f)(long) = lib ? dlsym(lib, "function_6") : 0;
    if (!f) {
      fputs(dlerror(), stderr);
      abort();
    }
    f(1);
    dlclose(lib);
  }
  return 0;
}
