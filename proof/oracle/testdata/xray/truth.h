/* truth.h - what the programs whose calls are traced know of themselves. A
 * function that begins with CALLED() is counted; truth() prints the counts, one
 * "calls NAME N" a line, and programs add lines of what else they know. */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdio.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What must not be in the trace. */
#define UNSEEN __attribute__((xray_never_instrument, noinline))
/* What must be there as a call of its own. */
#define SEEN __attribute__((xray_always_instrument, noinline))

struct tally {
  const char *name;
  unsigned long calls;
};
extern struct tally __start_tallies[], __stop_tallies[];

#define CALLED()                                                                             \
  do {                                                                                       \
    static struct tally here __attribute__((section("tallies"), used)) = {__FUNCTION__, 0};  \
    __atomic_fetch_add(&here.calls, 1, __ATOMIC_RELAXED);                                    \
  } while (0)

/* truth prints the counts and returns 0, for the end of main. */
UNSEEN __attribute__((unused)) static int truth(void) {
  for (struct tally *t = __start_tallies; t < __stop_tallies; t++) printf("calls %s %lu\n", t->name, t->calls);
  fflush(stdout);
  return 0;
}

/* nanoseconds is the time on a clock of no defined start. */
UNSEEN __attribute__((unused)) static long nanoseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* Work that is not optimised away. */
static volatile unsigned long sink;

#ifdef __cplusplus
}
#endif
#endif
