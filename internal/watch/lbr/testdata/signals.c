/* What programs do with signals that a recorder must not disturb. Each argument is one; it
 * prints what it saw. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define OWN __attribute__((noinline))

static volatile long ticks, sum;

OWN static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* work comes back from the C library, and is called by it. */
OWN static long work(void) {
  int v[20];
  for (int i = 0; i < 20; i++) v[i] = i * 7919 % 31;
  qsort(v, 20, sizeof *v, by_value);
  char *text = strdup("abc");
  long n = v[3] + (long)strlen(text);
  free(text);
  return n;
}

/* tick is a handler that is done sooner than its timer rings again, on a slow machine too. */
OWN static void tick(int n) { ticks += n > 0; }

static void ring(int microseconds) {
  struct itimerval t = {{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_REAL, &t, 0);
}

static void handle(int number, void (*f)(int), int flags) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = f;
  a.sa_flags = flags;
  sigfillset(&a.sa_mask);
  sigaction(number, &a, 0);
}

static void forks(void) {
  handle(SIGALRM, tick, SA_RESTART);
  ring(1000);
  for (int i = 0; i < 60; i++) {
    int status;
    pid_t p = i & 1 ? vfork() : fork();
    if (!p && i & 1) _exit(i % 50);
    if (!p) {
      ring(1000);
      for (int k = 0; k < 20; k++) sum += work();
      _exit(i % 50);
    }
    while (waitpid(p, &status, 0) < 0) work();
    sum += WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  ring(0);
  printf("%ld\n", sum);
}

/* Coroutines on small stacks, with a pattern below that nobody may touch. */
enum { SMALL = 8192, BELOW = 4096 };
static ucontext_t outside, inside;

static void body(void) {
  for (int i = 0; i < 2000; i++) {
    sum += work();
    swapcontext(&inside, &outside);
  }
}

static void coroutines(void) {
  char *m = mmap(0, BELOW + SMALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int touched = 0, deepest = 0;
  memset(m, 0x5a, BELOW + SMALL);
  getcontext(&inside);
  inside.uc_stack.ss_sp = m + BELOW;
  inside.uc_stack.ss_size = SMALL;
  inside.uc_link = &outside;
  makecontext(&inside, body, 0);
  for (int i = 0; i < 2000; i++) swapcontext(&outside, &inside);
  for (int i = 0; i < BELOW; i++) touched += m[i] != 0x5a;
  for (int i = 0; i < SMALL && m[BELOW + i] == 0x5a; i++) deepest = i;
  printf("%ld, %d touched, %s\n", sum, touched, SMALL - deepest < 3000 ? "little used" : "much used");
}

static void *least(void *unused) {
  for (int i = 0; i < 300; i++) sum += work();
  return unused;
}

static void small(void) {
  pthread_attr_t attr;
  pthread_t t;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, (size_t)sysconf(_SC_THREAD_STACK_MIN));
  for (int i = 0; i < 8; i++) {
    pthread_create(&t, &attr, least, 0);
    pthread_join(t, 0);
  }
  printf("%ld\n", sum);
}

static sigjmp_buf back;
static volatile int on_own;
static char own[1 << 16];

OWN static long deep(long n) {
  volatile char room[4000];
  room[0] = (char)n;
  return n ? deep(n + 1) + room[0] : 0;
}

static void overflow(int n, siginfo_t *info, void *context) {
  char here;
  (void)info, (void)context;
  on_own += &here >= own && &here < own + sizeof own;
  sum += n + work();
  siglongjmp(back, 1);
}

static void overflows(void) {
  stack_t s = {.ss_sp = own, .ss_size = sizeof own}, was;
  printf("%d\n", sigaltstack(&s, 0));
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_sigaction = overflow;
  a.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &a, 0);
  for (volatile int i = 0; i < 5; i++)
    if (!sigsetjmp(back, 1)) sum += deep(1);
  sigaltstack(0, &was);
  printf("%ld %d %d %d %d\n", sum, on_own, was.ss_sp == own, (int)was.ss_size, was.ss_flags);
}

/* A barrier as collectors of garbage have: the handler makes the page writable. */
static char *barrier;
static void on_barrier(int n, siginfo_t *info, void *context) {
  (void)n, (void)context;
  ticks += (char *)info->si_addr - barrier;
  mprotect(barrier, 4096, PROT_READ | PROT_WRITE);
  work();
}

static void barriers(void) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_sigaction = on_barrier;
  a.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &a, 0);
  barrier = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 100; i++) {
    ((volatile char *)barrier)[i] = (char)i;
    sum += barrier[i] + work();
    mprotect(barrier, 4096, PROT_READ);
  }
  printf("%ld %ld\n", sum, ticks);
}

static void *masked(void *unused) {
  sum += work();
  return unused;
}

static void interrupted(int r) { printf("%d %d\n", r, errno == EINTR); }

static long blocks(int number, const sigset_t *set) { return sigismember(set, number); }

static void masks(void) {
  sigset_t all, was;
  u_int64_t raw = ~0ull, old = 0;
  struct timespec soon = {0, 1000000};
  sigfillset(&all);
  handle(SIGALRM, tick, 0);
  ring(2000);
  sigdelset(&all, SIGALRM);
  interrupted(ppoll(0, 0, 0, &all));
  interrupted(pselect(0, 0, 0, 0, 0, &all));
  interrupted(sigsuspend(&all));
  int fd = epoll_create1(0);
  struct epoll_event e;
  interrupted(epoll_pwait(fd, &e, 1, -1, &all));
  ring(0);
  raw = ~(1ull << (SIGALRM - 1));
  printf("%ld\n", syscall(SYS_ppoll, 0, 0, &soon, &raw, 8));
  printf("%ld\n", syscall(SYS_rt_sigprocmask, SIG_SETMASK, &raw, &old, 8));
  sum += work();
  pthread_sigmask(SIG_BLOCK, 0, &was);
  printf("%ld %ld %ld\n", blocks(SIGSEGV, &was), blocks(SIGUSR1, &was), blocks(SIGALRM, &was));
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(SYS_rt_sigprocmask), "D"(SIG_SETMASK), "S"(&old), "d"(&raw), "r"(0) : "rcx", "r11", "memory");
  register long r10 __asm__("r10") = 8;
  raw = ~0ull;
  __asm__ volatile("syscall" : "=a"(r) : "a"(SYS_rt_sigprocmask), "D"(SIG_SETMASK), "S"(&raw), "d"(&old), "r"(r10) : "rcx", "r11", "memory");
  sum += work();
  printf("%ld %d\n", r, sigpending(&was));
  sigemptyset(&was);
  sigprocmask(SIG_SETMASK, &was, &all);
  printf("%ld %ld\n", blocks(SIGSEGV, &all), blocks(SIGKILL, &all));
  pthread_attr_t attr;
  pthread_t t;
  pthread_attr_init(&attr);
  sigfillset(&all);
  pthread_attr_setsigmask_np(&attr, &all);
  pthread_create(&t, &attr, masked, 0);
  pthread_join(t, 0);
  printf("%ld %d\n", sum, ticks > 0);
}

static void on_sent(int n) { ticks += n; }

/* SIGSEGV that is sent: pending while it is blocked, ignored, handled. */
static void sent(void) {
  sigset_t set;
  signal(SIGSEGV, SIG_IGN);
  raise(SIGSEGV);
  signal(SIGSEGV, on_sent);
  raise(SIGSEGV);
  printf("%ld\n", ticks);
  sigemptyset(&set);
  sigaddset(&set, SIGSEGV);
  sigprocmask(SIG_BLOCK, &set, 0);
  raise(SIGSEGV);
  work();
  printf("%ld\n", ticks);
  sigprocmask(SIG_UNBLOCK, &set, 0);
  printf("%ld\n", ticks);
  signal(SIGSEGV, SIG_DFL);
  fflush(stdout);
  raise(SIGSEGV);
  printf("alive\n");
}

int __sigaction(int, const struct sigaction *, struct sigaction *);
int __sigpause(int, int);
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* The same by names of System V and BSD, and by the C library's own. */
static void older(void) {
  struct sigaction a, was;
  memset(&a, 0, sizeof a);
  a.sa_handler = on_sent;
  __sigaction(SIGSEGV, &a, 0);
  sum += work();
  raise(SIGSEGV);
  __sigaction(SIGSEGV, 0, &was);
  printf("%ld %d\n", ticks, was.sa_handler == on_sent);
  printf("%d\n", sigset(SIGSEGV, SIG_IGN) == on_sent);
  sum += work();
  raise(SIGSEGV);
  printf("%d\n", sigset(SIGSEGV, SIG_HOLD) == SIG_IGN);
  printf("%d\n", sigset(SIGSEGV, on_sent) == SIG_HOLD);
  sum += work();
  raise(SIGSEGV);
  printf("%ld %d\n", ticks, sigignore(SIGSEGV));
  sum += work();
  raise(SIGSEGV);
  handle(SIGALRM, tick, 0);
  ring(2000);
  interrupted(__sigpause(~(1 << (SIGALRM - 1)), 0));
  interrupted(__sigpause(SIGALRM, 1));
  ring(0);
  printf("%ld %d %d\n", sum, sigset(SIGKILL, on_sent) == SIG_ERR, sigignore(77));
}

/* A child that asks to be traced, and a parent that counts its stops. */
static void traced(void) {
  int status, stops = 0;
  fflush(stdout);
  pid_t p = fork();
  if (!p) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    for (int i = 0; i < 100; i++) sum += work();
    _exit((int)(sum % 100));
  }
  while (waitpid(p, &status, 0) == p && WIFSTOPPED(status)) {
    stops++;
    printf("stop %d\n", WSTOPSIG(status));
    if (stops > 5) kill(p, SIGKILL);
    ptrace(PTRACE_CONT, p, 0, 0);
  }
  printf("%d %d\n", stops, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static const struct {
  const char *name;
  void (*f)(void);
} parts[] = {{"forks", forks}, {"coroutines", coroutines}, {"small", small}, {"overflows", overflows}, {"barriers", barriers}, {"masks", masks}, {"sent", sent}, {"older", older}, {"traced", traced}};

int main(int argc, char **argv) {
  for (unsigned i = 0; argc > 1 && i < sizeof parts / sizeof *parts; i++)
    if (!strcmp(argv[1], parts[i].name)) parts[i].f();
  return 0;
}
