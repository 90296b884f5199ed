// Fibers of which one rests while another one runs, for Windows and, by ucontext, for Linux.
#include <stdio.h>
#include <stdlib.h>
#ifdef _WIN32
#include <windows.h>
static void *fiber, *mains;
#define BEGIN(f) (mains = ConvertThreadToFiber(NULL), fiber = CreateFiber(0, f, NULL))
#define ENTER WINAPI
#define TO_FIBER() SwitchToFiber(fiber)
#define TO_MAIN() SwitchToFiber(mains)
typedef HRESULT(WINAPI *describe)(HANDLE, PCWSTR);
static void name_thread(void) {
  describe f = (describe)(void *)GetProcAddress(GetModuleHandleA("kernel32.dll"), "SetThreadDescription");
  if (f) f(GetCurrentThread(), L"render \u00e9");
}
#else
#define _GNU_SOURCE
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>
static ucontext_t mains, fiber;
static char stack[1 << 16];
#define ENTER
#define BEGIN(f)                                                                           \
  (getcontext(&fiber), fiber.uc_stack.ss_sp = stack, fiber.uc_stack.ss_size = sizeof stack, \
   makecontext(&fiber, (void (*)(void))(f), 1, 0))
#define TO_FIBER() swapcontext(&mains, &fiber)
#define TO_MAIN() swapcontext(&fiber, &mains)
#define Sleep(ms) usleep((ms) * 1000)
int pthread_setname_np(pthread_t, const char *);
static void name_thread(void) { pthread_setname_np(pthread_self(), "render \u00e9"); }
#endif

#define KEEP __attribute__((noinline))

static volatile int sum;

// It rests for most of its time.
KEEP int job(int n) {
  for (int i = 0; i < 3; i++) sum += n;
  TO_MAIN();
  return sum;
}

// It sleeps itself.
KEEP int works(int ms) {
  for (int i = 0; i < 3; i++) sum += i;
  Sleep(ms);
  return sum;
}

static void ENTER runs(void *p) {
  for (;;) {
    for (int i = 0; i < 2; i++) sum += job(i);
    TO_MAIN();
  }
}

KEEP int turns(int ms) {
  for (int i = 0; i < 3; i++) {
    TO_FIBER();
    sum += works(ms);
  }
  return sum;
}

int main(int argc, char **argv) {
  name_thread();
  BEGIN(runs);
  turns(argc > 1 ? atoi(argv[1]) : 60);
  printf("%d\n", sum != 0);
  return 0;
}
