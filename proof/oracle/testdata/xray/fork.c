/* fork.c - parent and child write into one log in basic mode. What was called
 * before the fork and was not written yet is written by both; it happened once.
 * Each process prints what it called itself. */
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

SEEN static void both(void) {
  CALLED();
  sink = sink + 1;
}

SEEN static void before(int n) {
  CALLED();
  for (int i = 0; i < n; i++) both();
}

SEEN static void in_child(int n) {
  CALLED();
  for (int i = 0; i < n; i++) both();
}

SEEN static void in_parent(int n) {
  CALLED();
  for (int i = 0; i < n; i++) both();
}

UNSEEN static void forget(void) {
  for (struct tally *t = __start_tallies; t < __stop_tallies; t++) t->calls = 0;
}

int main(void) {
  CALLED();
  before(5);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    forget();
    in_child(7);
    puts("stack in_child 1\nstack in_child;both 7\norphans 1");
    return truth();
  }
  waitpid(child, NULL, 0);
  in_parent(11);
  puts("stack main;before 1\nstack main;before;both 5\nstack main;in_parent 1\nstack main;in_parent;both 11\nthreads 2");
  return truth();
}
