/* A thread that waits for a lock of the runtime whose holder does not run. It prints the
 * processor time that it used for that, and the time that it waited, in microseconds. */
#define _GNU_SOURCE
#include "kernel.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

static unsigned guard = 1;

static long microseconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void *waiter(void *none) {
  long cpu = microseconds(CLOCK_THREAD_CPUTIME_ID), time = microseconds(CLOCK_MONOTONIC);
  (void)none;
  lock(&guard);
  unlock(&guard);
  printf("%ld %ld\n", microseconds(CLOCK_THREAD_CPUTIME_ID) - cpu, microseconds(CLOCK_MONOTONIC) - time);
  return 0;
}

int main(void) {
  pthread_t t;
  struct timespec nap = {0, 300000000};
  if (pthread_create(&t, 0, waiter, 0)) return 1;
  nanosleep(&nap, 0);
  unlock(&guard);
  return pthread_join(t, 0);
}
