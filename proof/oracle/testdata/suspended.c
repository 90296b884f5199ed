// Coroutines whose calls rest while others have the thread. A line says of a call how long it lasted and for how long its stack
// rested meanwhile, as the program measures it: "name ns ns".
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>
#define OWN __attribute__((noinline))
enum { SIZE = 128 << 10, TASKS = 3, ROUNDS = 4 };
static ucontext_t back, task[TASKS];
static long long rested[TASKS + 1]; // the last: of the thread's own stack
static long long part;              // ns
static int resumed;

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static void said(const char *name, int i, long long from, long long before) { printf("%s %lld %lld\n", name, now() - from, rested[i] - before); }
OWN void spin(void) {
  for (long long from = now(); now() - from < part;) ;
}
OWN void hands(int i) { swapcontext(&task[i], &back); } // where optimised, a jump
OWN void some(int i) {
  if (i < TASKS) swapcontext(&back, &task[i]); // and one under a condition
}
OWN void yield(int i) {
  long long from = now();
  hands(i);
  rested[i] += now() - from;
}
OWN void runs(int i) {
  long long from = now(), before = rested[i];
  for (int k = 0; k < ROUNDS; k++) spin(), yield(i);
  said("runs", i, from, before);
}
OWN void rests(int i) {
  for (int k = 0; k < ROUNDS; k++) yield(i); // of which the log has the longest part
}
OWN void leaves(int i) {
  long long from = now(), before = rested[i];
  for (volatile int k = 0; k < ROUNDS; k++) {
    volatile int first = 1;
    volatile long long left = now();
    getcontext(&task[i]);
    if (first) first = 0, setcontext(&back);
    rested[i] += now() - left;
  }
  said("leaves", i, from, before);
}
OWN void body(void) {
  int i = resumed;
  if (i == 0) runs(i);
  else if (i == 1) rests(i);
  else leaves(i);
  for (;;) yield(i);
}
OWN void resume(int i) {
  long long from = now();
  some(resumed = i);
  rested[TASKS] += now() - from;
}
OWN void turns(void) {
  long long from = now(), before = rested[TASKS];
  for (int k = 0; k <= ROUNDS; k++) {
    for (int i = 0; i < TASKS; i++) resume(i);
    if (k < ROUNDS) spin();
  }
  said("turns", TASKS, from, before);
}
int main(int argc, char **argv) {
  part = argc > 1 ? atoi(argv[1]) * 1000000LL : 20000000;
  for (int i = 0; i < TASKS; i++) {
    getcontext(&task[i]);
    task[i].uc_stack.ss_sp = malloc(SIZE), task[i].uc_stack.ss_size = SIZE;
    makecontext(&task[i], body, 0); // arguments are elsewhere on macOS
  }
  spin(), spin();
  turns();
  return argc > 9;
}
