/* A program whose calls take long after many short ones.
 *
 *   flight windows MS...   calls of so many milliseconds, one after the other
 *   flight fork            one in a child that lives long enough for a log of its own
 *   flight threads N       one in each of N threads with stacks of 16 KiB, then as
 *                          many threads again
 *   flight load LIBRARY    one in a library that is loaded
 *   flight closes FILE     closes all files that it does not know, and makes one */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN __attribute__((noinline, noclone))
#define NOW __asm__ volatile("")

OWN int stride(int x) { NOW; return x + 1; }
OWN int before(int n) { int s = 0; for (int i = 0; i < n; i++) s += stride(i); return s; }
OWN int prepare(int x) { NOW; return stride(x) + stride(x); }
OWN int planted(int ms) {
  int s = 0;
  for (int i = 0; i < 100; i++) s += prepare(i);
  usleep(1000u * (unsigned)ms);
  return s;
}

static void *thread(void *p) {
  volatile int s = before(1000) + planted(30);
  (void)p;
  return (void *)(long)(s & 0);
}

static void threads(long n) {
  static _Alignas(4096) char stacks[64][16384];
  pthread_t t[64];
  for (long i = 0; i < n; i++) {
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstack(&a, stacks[i], sizeof stacks[i]);
    if (pthread_create(&t[i], &a, thread, 0)) exit(3);
  }
  for (long i = 0; i < n; i++) pthread_join(t[i], 0);
}

#ifndef LIBRARY
static char buffer[4096];

int main(int argc, char **argv) {
  volatile int s = 0;
  if (!strcmp(argv[1], "windows")) {
    for (int i = 2; i < argc; i++) s += before(200000) + planted(atoi(argv[i]));
  } else if (!strcmp(argv[1], "fork")) {
    s += before(1000);
    if (!fork()) {
      usleep(300000);
      s += before(2000) + planted(40);
      return 0;
    }
    while (wait(0) > 0);
  } else if (!strcmp(argv[1], "threads")) {
    threads(atol(argv[2]));
    usleep(300000); /* the dead are buried */
    threads(atol(argv[2]));
  } else if (!strcmp(argv[1], "closes")) {
    for (int i = 3; i < 64; i++) close(i);
    int fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0666);
    for (int i = 0; i < 400; i++) s += (int)write(fd, memset(buffer, 'x', sizeof buffer), sizeof buffer);
    s += before(400000) + planted(40);
  } else if (!strcmp(argv[1], "load")) {
    void *l = dlopen(argv[2], RTLD_NOW);
    int (*f)(int) = l ? (int (*)(int))dlsym(l, "planted") : 0;
    if (!f) return fprintf(stderr, "%s\n", dlerror()), 1;
    s += f(40);
  }
  return 0;
}
#endif
