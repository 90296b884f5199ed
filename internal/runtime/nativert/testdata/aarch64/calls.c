/* calls WHAT [N]: calls functions of timed.S. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void outer(void (*)(long), long), nap(long), quick(long);
extern long registers_kept(void (*)(long), long), vectors_kept(void (*)(long), long);

static void *work(void *arg) {
  for (int i = 0; i < 3; i++) outer(nap, (long)arg);
  for (int i = 0; i < 20000; i++) quick(i);
  return arg;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  long n = argc > 2 ? atol(argv[2]) : 20;
  if (!strcmp(what, "plain")) work((void *)n);
  if (!strcmp(what, "threads")) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, (void *)n);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  }
  if (!strcmp(what, "fork")) {
    outer(nap, n);
    pid_t pid = fork();
    if (!pid) {
      work((void *)n);
      exit(0);
    }
    waitpid(pid, 0, 0);
  }
  if (!strcmp(what, "kill")) {
    work((void *)n);
    kill(getpid(), 9);
  }
  if (!strcmp(what, "registers")) {
    for (int i = 0; i < 3; i++)
      if (registers_kept(nap, 0) || vectors_kept(nap, n)) abort();
    for (int i = 0; i < 10000; i++)
      if (registers_kept(quick, 0)) abort();
  }
  return 0;
}
