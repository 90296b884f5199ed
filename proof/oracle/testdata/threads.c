/* Functions that several threads call. In the relay one thread runs at a time,
 * so that the order of first executions is certain; in the race all start at
 * once, and first calls collide. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

enum { THREADS = 4, ROUNDS = 2000 };

static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static unsigned sums[THREADS];

NOINLINE static unsigned even_step(unsigned v) { return v / 2; }
NOINLINE static unsigned odd_step(unsigned v) { return 3 * v + 1; }
NOINLINE static unsigned step(unsigned v) { return v & 1 ? odd_step(v) : even_step(v); }
NOINLINE static unsigned collatz(unsigned v) {
  unsigned n = 0;
  for (; v != 1; n++) v = step(v);
  return n;
}

NOINLINE static void only_in_0(void) { sums[0] += 5; }
NOINLINE static void only_in_1(void) { sums[1] += 6; }
NOINLINE static void only_in_2(void) { sums[2] += 7; }
NOINLINE static void only_in_3(void) { sums[3] += 8; }
static void (*const only_in[THREADS])(void) = {only_in_0, only_in_1, only_in_2, only_in_3};

static void thread_ends(void *arg) { *(unsigned *)arg += 1; }
static void make_key(void) { pthread_key_create(&key, thread_ends); }

static void work(unsigned me) {
  pthread_once(&once, make_key);
  pthread_setspecific(key, &sums[me]);
  only_in[me]();
  for (unsigned i = 1; i <= ROUNDS; i++) sums[me] += collatz(i + me);
}

static void *in_relay(void *arg) {
  work((unsigned)(unsigned long)arg);
  return 0;
}

static void *in_race(void *arg) {
  pthread_barrier_wait(&barrier);
  work((unsigned)(unsigned long)arg);
  return 0;
}

static void relay(void) {
  pthread_t t;
  for (unsigned long i = THREADS; i-- > 0;) {
    pthread_create(&t, 0, in_relay, (void *)i);
    pthread_join(t, 0);
  }
}

static void race(void) {
  pthread_t t[THREADS];
  pthread_barrier_init(&barrier, 0, THREADS);
  for (unsigned long i = 0; i < THREADS; i++) pthread_create(&t[i], 0, in_race, (void *)i);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "relay") == 0)
    relay();
  else
    race();
  for (int i = 0; i < THREADS; i++) printf("%d: %u\n", i, sums[i]);
  return 0;
}
