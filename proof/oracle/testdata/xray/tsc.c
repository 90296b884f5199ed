/* tsc.c - moves between CPUs, and rests for longer than the difference of two
 * times fits into a record. Needs the CPU's time stamp counter as clock. */
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>

#include "truth.h"

SEEN static void leaf(void) {
  CALLED();
  sink = sink + 1;
}

SEEN static void on(int cpu) {
  CALLED();
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set)) perror("sched_setaffinity");
  leaf();
  leaf();
}

SEEN static void rest(void) {
  CALLED();
  usleep(1300000);
  leaf();
}

int main(void) {
  CALLED();
  for (int i = 0; i < 6; i++) on(i % 2);
  long start = nanoseconds();
  rest();
  printf("longer rest 1300000000\nshorter rest %ld\n", nanoseconds() - start);
  on(1);
  puts("stack main;on 7\nstack main;on;leaf 14\nstack main;rest 1\nstack main;rest;leaf 1\ncpus 2");
  return truth();
}
