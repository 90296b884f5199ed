/* A process and those that it forks. family COUNT [generations] makes COUNT children, or
 * a chain of processes each of which ends right after it forked the next, and the last of
 * them makes the children. Child i reads commands from descriptor 3 + i:
 *
 *   s       a call of 3 ms, which sleeps
 *   b       one that keeps the processor busy
 *   r       short calls for a second
 *   e       end by exit
 *   t       end the only thread
 *   x       run another program
 *
 * and answers those that it outlives with a line, as planted does. The first process waits for all. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timed.h"

enum { CALL = 3000000 };

struct job {
  char kind;
  uint64_t start, end;
};

void BODY(work)(struct job *j) {
  j->start = now();
  if (j->kind == 's') usleep(CALL / 1000);
  else if (j->kind == 'b') while (now() < j->start + CALL) ;
  j->end = now();
}
void work(struct job *j);
TIMED(work);

static void answer(struct job *j) {
  uint64_t start = now();
  work(j);
  uint64_t end = now();
  printf("%ld %llu %llu %llu %llu\n", (long)getpid(), (unsigned long long)start, (unsigned long long)end,
         (unsigned long long)j->start, (unsigned long long)j->end);
  fflush(stdout);
}

static void child(int fd) {
  struct job j = {0, 0, 0};
  j.kind = 'n';
  answer(&j); /* it is there */
  while (read(fd, &j.kind, 1) == 1) {
    if (j.kind == 'e') exit(0);
    if (j.kind == 'x') execlp("sleep", "sleep", "100", (char *)0);
    if (j.kind == 't') syscall(SYS_exit, 0);
    if (j.kind == 'r')
      for (uint64_t end = now() + 1000000000; now() < end;) work(&j);
    answer(&j);
  }
  exit(0);
}

int main(int argc, char **argv) {
  int children = atoi(argv[1]);
  if (argc > 2)
    for (int n = atoi(argv[2]); n > 0; n--)
      if (fork()) _exit(0);
  for (int i = 0; i < children; i++) {
    if (fork()) continue;
    for (int n = 0; n < 64; n++)
      if (n != i) close(3 + n);
    child(3 + i);
  }
  for (int n = 0; n < 64; n++) close(3 + n);
  while (wait(0) > 0) {
  }
  return 0;
}
