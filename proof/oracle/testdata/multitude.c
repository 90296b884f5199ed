/* Very many calls, every one of them timed by its caller. multitude THREADS CALLS US...
 * makes about CALLS calls in each thread, 500 of which are made to last the given
 * times in turn: by work, sleep, page faults and waiting for a lock. It prints
 *
 *   at FUNCTION ADDRESS
 *   call FUNCTION TID START END START END
 *
 * for each call that took half of the shortest time or more: the caller's
 * readings of the clock around it, in ns, and those within the last call that was
 * made to last. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define OWN __attribute__((noipa))
#define QUIET static inline __attribute__((always_inline))

enum { FAN = 100, PLANTED = 500, KINDS = 4 };

static uint64_t lengths[16], count, every, limit; /* limit in ticks of the TSC */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

struct self {
  uint64_t calls, planted, start, end;
  volatile uint64_t sum;
};

QUIET uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* TIMED makes a call and prints a line if it took long. */
#define TIMED(s, f)                                                                        \
  do {                                                                                     \
    uint64_t before = __rdtsc();                                                           \
    f(s);                                                                                  \
    uint64_t took = __rdtsc() - before;                                                    \
    if (took >= limit) report(#f, s, took);                                                \
  } while (0)

static double tsc_ns;

QUIET void report(const char *f, struct self *s, uint64_t took) {
  uint64_t end = now();
  printf("call %s %d %lu %lu %lu %lu\n", f, gettid(), end - (uint64_t)((double)took * tsc_ns) - 1000, end, s->start, s->end);
}

QUIET void last(uint64_t n, uint64_t ns) {
  uint64_t until = now() + ns;
  switch (n % KINDS) {
  case 0:
    while (now() < until) {
    }
    break;
  case 1: usleep((useconds_t)(ns / 1000)); break;
  case 2:
    while (now() < until) {
      char *m = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      for (int i = 0; i < 1 << 20; i += 4096) m[i] = 1;
      munmap(m, 1 << 20);
    }
    break;
  case 3: /* one thread asks at a time; the others wait for their turn, which lasts too */
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    break;
  }
}

OWN void unit(struct self *s) {
  if (++s->calls % every) {
    s->sum += s->calls;
    return;
  }
  uint64_t n = s->planted++;
  s->start = now();
  last(n, lengths[n / KINDS % count]);
  s->end = now();
}

OWN void row(struct self *s) {
  for (int i = 0; i < FAN; i++) TIMED(s, unit);
}

OWN void field(struct self *s) {
  for (int i = 0; i < FAN; i++) TIMED(s, row);
}

/* holder has the lock for some time, again and again. */
static void *holder(void *arg) {
  for (uint64_t n = 0; !arg; n++) {
    pthread_mutex_lock(&mutex);
    usleep((useconds_t)(lengths[n % count] / 1000));
    pthread_mutex_unlock(&mutex);
    usleep(500);
  }
  return arg;
}

static uint64_t calls;

static void *worker(void *arg) {
  struct self s;
  memset(&s, 0, sizeof s);
  while (s.calls < calls) TIMED(&s, field);
  return arg;
}

int main(int argc, char **argv) {
  static char buffer[1 << 16];
  pthread_t t[64];
  if (argc < 4 || atoi(argv[1]) > 64) return 1;
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  uint64_t shortest = ~0ul, start = now(), tsc = __rdtsc();
  calls = strtoull(argv[2], 0, 10);
  every = calls / PLANTED + 1;
  for (char **us = argv + 3; *us && count < 16; us++) {
    lengths[count] = strtoull(*us, 0, 10) * 1000;
    if (lengths[count] < shortest) shortest = lengths[count];
    count++;
  }
  while (now() - start < 20000000) {
  }
  tsc_ns = (double)(now() - start) / (double)(__rdtsc() - tsc);
  limit = (uint64_t)((double)shortest / 2 / tsc_ns);
  printf("at unit %p\nat row %p\nat field %p\nat main %p\n", (void *)unit, (void *)row, (void *)field, (void *)main);
  pthread_create(&t[0], 0, holder, 0);
  pthread_detach(t[0]);
  int threads = atoi(argv[1]);
  for (int i = 1; i < threads; i++) pthread_create(&t[i], 0, worker, 0);
  worker(0);
  for (int i = 1; i < threads; i++) pthread_join(t[i], 0);
  fflush(stdout);
  return 0;
}
