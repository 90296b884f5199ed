/* frames.c - a program with frames, as games have them. Most take a millisecond.
 * Every hundredth has a texture to fetch, deep down, and takes twenty. */
#include <stdio.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* work keeps the processor busy for a time, in milliseconds. */
static __attribute__((noinline)) long work(double ms) {
  long n = 0;
  for (double until = now() + ms; now() < until; n++) {
  }
  return n;
}

static __attribute__((noinline)) long texture(int frame) { return 1 + work(frame % 100 == 99 ? 20 : 0.1); }

static __attribute__((noinline)) long draw(int frame) {
  long n = 0;
  for (int i = 0; i < 3; i++) n += texture(i == 2 ? frame : 0);
  return n + work(0.3);
}

static __attribute__((noinline)) long simulate(void) { return 1 + work(0.4); }

int main(void) {
  long n = 0;
  for (int frame = 0; frame < 400; frame++) n += simulate() + draw(frame);
  printf("400 frames, %s\n", n ? "drawn" : "nothing done");
  return 0;
}
