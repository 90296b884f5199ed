// A thread that blocks all signals cannot be stopped, and so nothing is changed until
// it ends. A child made by fork changes its own code.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int cairn_detours(int on) __attribute__((weak));

static volatile int ready, end;

static void *deaf(void *arg) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, 0);
  for (ready = 1; !end;) usleep(1000);
  return arg;
}

int main(void) {
  pthread_t t;
  int first, second, child;
  pthread_create(&t, 0, deaf, 0);
  while (!ready) usleep(1000);
  first = cairn_detours(0);
  end = 1;
  pthread_join(t, 0);
  second = cairn_detours(0);
  if (!fork()) _exit(cairn_detours(1) && cairn_detours(0) ? 7 : 1);
  wait(&child);
  printf("%d %d %d\n", first, second, WEXITSTATUS(child));
}
