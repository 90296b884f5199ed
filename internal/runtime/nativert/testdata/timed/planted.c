/* Calls of known length. planted KIND COUNT USEC... makes COUNT calls of each
 * length and prints a line for each, of the caller's readings around the call
 * and of the callee's within it: outer start and end, inner start and end. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "timed.h"

struct job {
  char kind;
  uint64_t ns, start, end;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t hold; /* ns that the other thread shall hold the mutex for */
static volatile int held;

static inline __attribute__((always_inline)) void spin(uint64_t until) {
  while (now() < until) {
  }
}

static void *holder(void *arg) {
  (void)arg;
  for (;;) {
    while (!hold) usleep(50);
    pthread_mutex_lock(&mutex);
    uint64_t until = now() + hold;
    hold = 0;
    held = 1;
    spin(until);
    pthread_mutex_unlock(&mutex);
  }
}

void BODY(work)(struct job *j) {
  j->start = now();
  uint64_t until = j->start + j->ns;
  switch (j->kind) {
  case 'b': spin(until); break;
  case 's': usleep((useconds_t)(j->ns / 1000)); break;
  case 'p': /* page faults until it is over */
    while (now() < until) {
      char *m = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      for (int i = 0; i < 1 << 20; i += 4096) m[i] = 1;
      munmap(m, 1 << 20);
    }
    break;
  case 'm':
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    break;
  }
  j->end = now();
}
void work(struct job *j);
TIMED(work);

static void *worker(void *arg) {
  char **argv = arg;
  struct job j = {argv[1][0], 0, 0, 0};
  for (int n = atoi(argv[2]); n-- > 0;)
    for (char **us = argv + 3; *us; us++) {
      j.ns = strtoull(*us, 0, 10) * 1000;
      if (j.kind == 'm') {
        held = 0;
        hold = j.ns;
        while (!held) {
        }
      }
      uint64_t start = now();
      work(&j);
      uint64_t end = now();
      printf("%ld %llu %llu %llu %llu\n", (long)gettid(), (unsigned long long)start, (unsigned long long)end,
             (unsigned long long)j.start, (unsigned long long)j.end);
      usleep(300 + (useconds_t)(end / 1000 % 1000)); /* ticks shall not keep in step */
    }
  return 0;
}

int main(int argc, char **argv) {
  pthread_t t[64];
  int threads = 1;
  if (argc > 4 && argv[1][0] == '-') threads = atoi(argv[1] + 1), argv++;
  if (argv[1][0] == 'm') pthread_create(&t[0], 0, holder, 0);
  for (int i = 1; i < threads; i++) pthread_create(&t[i], 0, worker, argv);
  worker(argv);
  for (int i = 1; i < threads; i++) pthread_join(t[i], 0);
  return 0;
}
