// Exceptions, longjmp, callbacks of the C++ and the C library, threads, timers and
// a child, all at once. It prints sums that are known in advance.
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#define OWN __attribute__((noinline))

static volatile long ticks, faults;
static sigjmp_buf after_fault;

static void tick(int) {
  char b[40]; // calls and branches of a handler
  for (int i = 0; i < 3; i++) snprintf(b, sizeof b, "%d", i);
  ticks = ticks + (b[0] == '2');
}

static void fault(int, siginfo_t *, void *) {
  faults = faults + 1;
  siglongjmp(after_fault, 1);
}

OWN int thrower(int n) {
  if (n == 0) throw std::runtime_error("x");
  return thrower(n - 1) + 1;
}

OWN int catcher(int n) {
  try {
    return thrower(n);
  } catch (std::exception &e) {
    return n;
  }
}

static thread_local jmp_buf back;

OWN void jumper(int n) {
  if (!n) longjmp(back, 1);
  jumper(n - 1);
  asm volatile("");
}

OWN int jump(int n) {
  if (setjmp(back)) return n;
  jumper(n);
  return 0;
}

static int by_last(const void *a, const void *b) { return *(const int *)a % 10 - *(const int *)b % 10; }

static void work(long *out, int rounds) {
  long s = 0;
  for (int i = 0; i < rounds; i++) {
    s += catcher(i % 20) + jump(i % 20);
    std::vector<int> v;
    for (int k = 0; k < 20; k++) v.push_back(k * 7919 % 31);
    std::sort(v.begin(), v.end());
    qsort(v.data(), 3, sizeof(int), by_last);
    s += v[3];
  }
  *out = s;
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 1000;
  signal(SIGALRM, tick);
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_sigaction = fault;
  a.sa_flags = SA_SIGINFO;
  sigfillset(&a.sa_mask);
  sigaction(SIGSEGV, &a, nullptr);
  for (int i = 0; i < 10; i++)
    if (!sigsetjmp(after_fault, 1)) *(volatile int *)8 = i;
  sigset_t all;
  sigfillset(&all);
  sigdelset(&all, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &all, nullptr); // that of faults, too
  struct itimerval often = {{0, 400}, {0, 400}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, nullptr);
  long r[4], mine;
  std::vector<std::thread> t;
  for (int i = 0; i < 4; i++) t.emplace_back(work, &r[i], rounds);
  for (auto &x : t) x.join();
  setitimer(ITIMER_REAL, &never, nullptr);
  fflush(stdout);
  pid_t child = fork();
  if (!child) {
    std::vector<std::thread> more;
    for (int i = 0; i < 3; i++) more.emplace_back(work, &r[i], rounds / 2);
    work(&mine, rounds);
    for (auto &x : more) x.join();
    printf("child %ld %ld %ld %ld\n", mine, r[0], r[1], r[2]);
    return 0;
  }
  int status;
  while (waitpid(child, &status, 0) < 0) {
  }
  printf("%ld %ld %ld %ld %ld %s\n", r[0], r[1], r[2], r[3], (long)faults, ticks ? "ticks" : "no ticks");
  fflush(stdout);
  return system("exit 7") == 7 << 8 ? 3 : 4;
}
