/* leaves.c - frames that are left without their exits: longjmp, the end of a
 * thread, the end of the program. */
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

#include "truth.h"

static jmp_buf back;

SEEN static void after(void) {
  CALLED();
  sink = sink + 1;
}

SEEN static void jumper(int depth) {
  CALLED();
  if (depth == 0) longjmp(back, 1);
  jumper(depth - 1);
  sink = sink + 1;
}

/* Inside catcher, jumper's four frames get no exit. */
SEEN static void catcher(void) {
  CALLED();
  if (setjmp(back) == 0) jumper(3);
}

SEEN static void leaver(void) {
  CALLED();
  pthread_exit(NULL);
}

SEEN static void *thread(void *unused) {
  CALLED();
  after();
  leaver();
  return unused;
}

SEEN __attribute__((noreturn)) static void finish(int code) {
  CALLED();
  truth();
  exit(code);
}

SEEN static void outer(void) {
  CALLED();
  after();
  finish(0);
}

int main(void) {
  CALLED();
  for (int i = 0; i < 3; i++) {
    catcher();
    after();
  }
  pthread_t t;
  pthread_create(&t, NULL, thread, NULL);
  pthread_join(t, NULL);
  puts("stack main 1\nstack main;catcher 3\nstack main;catcher;jumper 3\nstack main;after 3");
  puts("stack thread 1\nstack thread;after 1\nstack thread;leaver 1\nstack main;outer 1\nstack main;outer;after 1");
  puts("stack main;outer;finish 1\ndeduced 12\nopen 5\nthreads 2");
  outer();
  return 1;
}
