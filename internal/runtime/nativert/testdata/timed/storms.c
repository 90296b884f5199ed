/* What programs do to a runtime: storms WHAT. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timed.h"

#define SPIKE_NS 6000000u

static void spin(uint64_t ns) {
  uint64_t until = now() + ns;
  while (now() < until) {
  }
}

void BODY(spike)(uint64_t ns) { spin(ns); }
void spike(uint64_t ns);
TIMED(spike);

/* A child does its own spikes, in a function that was entered before the fork. */
static void *sleeper(void *arg) {
  for (;;) usleep(100), spike(1000);
  return arg;
}
void BODY(forks)(uint64_t n) {
  spin(SPIKE_NS);
  for (; n--;) {
    pid_t child = fork();
    if (!child) {
      spike(SPIKE_NS);
      spike(100000);
      return;
    }
    waitpid(child, 0, 0);
  }
}
void forks(uint64_t n);
TIMED(forks);

/* Children that take the parent's memory along. */
static void spawns(int n) {
  extern char **environ;
  char *argv[] = {"true", 0};
  while (n--) {
    pid_t child;
    if (!posix_spawn(&child, "/bin/true", 0, 0, argv, environ)) waitpid(child, 0, 0);
    if (!(child = vfork())) {
      execv("/bin/true", argv);
      _exit(1);
    }
    waitpid(child, 0, 0);
    spike(SPIKE_NS / 100);
  }
  spike(SPIKE_NS);
}

static void *short_thread(void *arg) {
  spike((uint64_t)arg);
  return 0;
}
static void threads(int n, uint64_t ns, size_t stack) {
  pthread_attr_t a;
  pthread_attr_init(&a);
  if (stack && pthread_attr_setstacksize(&a, stack)) abort();
  while (n > 0) {
    pthread_t t[16];
    int k = n < 16 ? n : 16;
    for (int i = 0; i < k; i++)
      if (pthread_create(&t[i], &a, short_thread, (void *)ns)) abort();
    for (int i = 0; i < k; i++) pthread_join(t[i], 0);
    n -= k;
  }
}

/* An outer call that is slow, then goes deep. */
void BODY(deep)(uint64_t n);
void deep(uint64_t n);
TIMED(deep);
void BODY(deep)(uint64_t n) {
  volatile char pad[64];
  pad[0] = 1;
  if (n) deep(n - 1);
  pad[1] = pad[0];
}
void BODY(outer)(uint64_t n) {
  spin(SPIKE_NS);
  deep(n);
}
void outer(uint64_t n);
TIMED(outer);

/* A slow call at the bottom of a deep stack. */
void BODY(bottom)(uint64_t n);
void bottom(uint64_t n);
TIMED(bottom);
void BODY(bottom)(uint64_t n) {
  volatile char pad[32];
  pad[0] = 1;
  if (n) bottom(n - 1);
  else spike(SPIKE_NS);
  pad[1] = pad[0];
}

static jmp_buf out;
void BODY(jumper)(uint64_t ns) {
  spin(ns);
  longjmp(out, 1);
}
void jumper(uint64_t ns);
TIMED(jumper);
void BODY(around)(uint64_t n) {
  while (n--)
    if (!setjmp(out)) jumper(1000);
  spike(SPIKE_NS);
}
void around(uint64_t n);
TIMED(around);

static volatile int signals;
static void on_signal(int sig) {
  (void)sig;
  signals++;
  spike(50000);
}
static void signal_storm(void) {
  stack_t alternate = {.ss_sp = malloc(65536), .ss_size = 65536};
  sigaltstack(&alternate, 0);
  struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
  sigaction(SIGALRM, &a, 0);
  timer_t t;
  struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  timer_create(CLOCK_MONOTONIC, &e, &t);
  struct itimerspec every = {{0, 100000}, {0, 100000}};
  timer_settime(t, 0, &every, 0);
  for (int i = 0; i < 50; i++) spike(SPIKE_NS);
  timer_delete(t);
}

/* Calls inside a call, to see the chain: parent > big > bigger > biggest. Only big and
 * parent reach the threshold of 3 ms: of the 1.75 ms that are given bigger makes 2.1, big 3.4. */
void BODY(biggest)(uint64_t ns) { spin(ns); }
void biggest(uint64_t ns);
TIMED(biggest);
void BODY(bigger)(uint64_t ns) { spin(ns / 10), biggest(ns), spin(ns / 10); }
void bigger(uint64_t ns);
TIMED(bigger);
void BODY(big)(uint64_t ns) { spike(ns / 4), bigger(ns), spin(ns / 2); }
void big(uint64_t ns);
TIMED(big);
void BODY(parent)(uint64_t ns) { big(ns), spin(ns); }
void parent(uint64_t ns);
TIMED(parent);

/* What an exit costs, and one that looks slow: each does if the inline
 * threshold is -1. */
extern unsigned char *__cairn_base __attribute__((visibility("hidden")));
void BODY(nothing)(uint64_t n) { (void)n; }
void nothing(uint64_t n);
TIMED(nothing);
static void costs(uint64_t n) {
  volatile unsigned *low = (volatile unsigned *)(__cairn_base - 60);
  unsigned was = *low;
  double ns[2];
  for (int i = 0; i < 2; i++) {
    *low = i ? -1u : was;
    uint64_t start = now();
    for (uint64_t k = 0; k < n; k++) nothing(k);
    ns[i] = (double)(now() - start) / (double)n;
  }
  *low = was;
  printf("%.1f %.1f\n", ns[0], ns[1]);
}

/* What a thread costs that had a slow exit: kilobytes of n threads that had none,
 * and that had one. */
static pthread_barrier_t here;
static void *resident(void *arg) {
  if (arg) spike(1500000);
  pthread_barrier_wait(&here);
  pthread_barrier_wait(&here);
  return 0;
}
static long kilobytes(void) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%*d %ld", &pages) != 1) abort();
  fclose(f);
  return pages * 4;
}
static void memory(int n) {
  long kb[2];
  pthread_t *t = calloc((size_t)n, sizeof *t);
  pthread_barrier_init(&here, 0, (unsigned)n + 1);
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < n; i++)
      if (pthread_create(&t[i], 0, resident, round ? t : 0)) abort();
    pthread_barrier_wait(&here);
    kb[round] = kilobytes();
    pthread_barrier_wait(&here);
    for (int i = 0; i < n; i++) pthread_join(t[i], 0);
  }
  printf("%ld %ld\n", kb[0], kb[1]);
}

static void end(const char *how) {
  if (!strcmp(how, "_exit")) _exit(0);
  if (!strcmp(how, "quick_exit")) quick_exit(0);
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "segv")) *(volatile int *)8 = 1;
  if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
  if (!strcmp(how, "exec")) execl("/bin/true", "true", (char *)0);
}

int main(int argc, char **argv) {
  const char *what = argv[1];
  uint64_t n = argc > 2 ? strtoull(argv[2], 0, 10) : 1;
  pthread_t t;
  if (!strcmp(what, "fork")) {
    pthread_create(&t, 0, sleeper, 0);
    forks(n);
  } else if (!strcmp(what, "spawn")) {
    spawns((int)n);
  } else if (!strcmp(what, "threads")) {
    threads((int)n, 1100000, 0);
  } else if (!strcmp(what, "small")) {
    threads((int)n, SPIKE_NS, 16384);
  } else if (!strcmp(what, "outer")) {
    outer(n);
  } else if (!strcmp(what, "bottom")) {
    bottom(n);
  } else if (!strcmp(what, "jump")) {
    around(n);
  } else if (!strcmp(what, "signals")) {
    signal_storm();
  } else if (!strcmp(what, "chain")) {
    while (n--) parent(1750000);
  } else if (!strcmp(what, "spikes")) {
    while (n--) spike(SPIKE_NS);
  } else if (!strcmp(what, "forever")) {
    for (;;) {
      spike(SPIKE_NS);
      printf("spike\n");
      fflush(stdout);
    }
  } else if (!strcmp(what, "costs")) {
    costs(n);
  } else if (!strcmp(what, "memory")) {
    memory((int)n);
  } else if (!strcmp(what, "blocked")) { /* a thread that lets no signal through */
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, 0);
    for (int i = 0; i < 20; i++) spike(SPIKE_NS);
  } else if (!strcmp(what, "taken")) { /* all signals that are free are the program's from now on */
    spike(SPIKE_NS);
    for (int i = 1; i <= SIGRTMAX; i++) signal(i, SIG_IGN);
    for (int i = 0; i < 20; i++) spike(SPIKE_NS);
  } else if (!strcmp(what, "defaults")) { /* children with all signals as at first, then the program */
    for (int i = 0; i < 20; i++) {
      pid_t child = fork();
      for (int s = 1; !child && s <= SIGRTMAX; s++) signal(s, SIG_DFL);
      spike(SPIKE_NS);
      if (!child) _exit(0);
      int status;
      if (waitpid(child, &status, 0) != child || status) return 1;
    }
    for (int s = 1; s <= SIGRTMAX; s++) signal(s, SIG_DFL);
    for (int i = 0; i < 20; i++) spike(SPIKE_NS);
  } else if (!strcmp(what, "late")) { /* nothing until there is something to read */
    char c;
    if (read(0, &c, 1) == 1)
      for (int i = 0; i < 40; i++) spike(SPIKE_NS);
  } else if (!strcmp(what, "end")) { /* right after a spike; with a number in a child as well */
    pid_t child = argc > 3 ? fork() : 0;
    if (child) waitpid(child, 0, 0);
    spike(SPIKE_NS);
    end(argv[2]);
  } else if (!strcmp(what, "sleep")) {
    usleep((useconds_t)n);
  }
  return 0;
}
