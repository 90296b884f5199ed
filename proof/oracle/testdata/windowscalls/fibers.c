// Fibers that switch in calls of different depths, for Windows and, by ucontext, for Linux.
#include <stdio.h>
#ifdef _WIN32
#include <windows.h>
static void *fibers[2], *mains;
#define BEGIN(i, f) fibers[i] = CreateFiber(0, f, NULL)
#define FIBER WINAPI
#else
#include <ucontext.h>
static ucontext_t own, contexts[2], *fibers[] = {contexts, contexts + 1}, *mains = &own, *current = &own;
static char stacks[2][1 << 16];
#define FIBER
#define SwitchToFiber(to) (before = current, current = (to), swapcontext(before, current))
static ucontext_t *before;
#define BEGIN(i, f)                                                                                          \
  (getcontext(fibers[i]), fibers[i]->uc_stack.ss_sp = stacks[i], fibers[i]->uc_stack.ss_size = sizeof *stacks, \
   makecontext(fibers[i], (void (*)(void))(f), 1, 0))
#endif

#define KEEP __attribute__((noinline))

static volatile int sum, turn;

KEEP void step(int n) { sum += n; }

KEEP void yields(void) { SwitchToFiber(mains); }

KEEP void inner(int n, int depth) {
  if (depth) inner(n, depth - 1);
  else yields();
  step(n);
}

static void FIBER first(void *p) {
  for (;;) {
    inner(1, turn % 3);
    step(2);
  }
}

static void FIBER second(void *p) {
  for (;;) {
    step(3);
    inner(2, (turn + 1) % 3);
  }
}

KEEP void drive(int n) {
  for (turn = 0; turn < n; turn++) {
    SwitchToFiber(fibers[turn % 2]);
    step(0);
  }
}

int main(void) {
#ifdef _WIN32
  mains = ConvertThreadToFiber(NULL);
#endif
  BEGIN(0, first);
  BEGIN(1, second);
  drive(200);
  printf("%d\n", sum);
  return 0;
}
