/* Calls that take long, by compilers that call hooks. It uses kernel32 alone, so that it can be compiled for MSVC's system
 * without its library. The test adds the calls of _penter and _pexit. */
typedef unsigned long long u64;
__declspec(dllimport) void Sleep(unsigned);
__declspec(dllimport) void ExitProcess(unsigned);
__declspec(dllimport) void *GetStdHandle(unsigned);
__declspec(dllimport) int WriteFile(void *, const void *, unsigned, unsigned *, void *);
__declspec(dllimport) void *CreateThread(void *, u64, unsigned (*)(void *), void *, unsigned, unsigned *);
__declspec(dllimport) unsigned WaitForSingleObject(void *, unsigned);

#define PLAIN __attribute__((no_instrument_function))
#define KEEP __attribute__((noinline))

void __cyg_profile_func_exit(void *function, void *caller);
int _fltused;
static volatile int sink;

KEEP int stall(int ms) {
  for (int i = 0; i < 3; i++) sink += i;
  if (ms) Sleep(ms);
  return sink;
}

KEEP int middle(int ms) {
  int r = 0;
  for (int i = 0; i < 2; i++) r += stall(i ? ms : 0);
  return r;
}

KEEP int outer(int ms) {
#ifdef UNMATCHED /* the end of a call whose beginning was not hooked */
  __cyg_profile_func_exit((void *)&sink, (void *)&sink);
#endif
  int r = middle(ms);
  for (int i = 0; i < 3; i++) r += sink;
  return r;
}

/* As many calls are open as need a larger list. */
KEEP int grows(int n, int ms) {
  int r = n ? grows(n - 1, ms) : stall(ms);
  sink += r;
  return r + 1;
}

#define EIGHT(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7)
#define FOUR(f, n) EIGHT(f, n##0) EIGHT(f, n##1) EIGHT(f, n##2) EIGHT(f, n##3)
#define PARAMETER(n) , int i##n, double d##n
#define SUM(n) +i##n * (0##n + 1) + d##n / (0##n + 1)
#define ARGUMENT(n) , 0##n, (0##n + 1) * 0.5

/* 64 arguments of each kind, and 32. */
KEEP double many(int ms FOUR(PARAMETER, 0) FOUR(PARAMETER, 1)) {
  stall(ms);
  return 0 FOUR(SUM, 0) FOUR(SUM, 1);
}

KEEP double half(int ms FOUR(PARAMETER, 0)) {
  stall(ms);
  return 0 FOUR(SUM, 0);
}

KEEP unsigned use(void *ms) { return (unsigned)outer((int)(u64)ms); }

PLAIN static void say(int n) {
  unsigned done;
  char line[16], *p = line + sizeof line;
  *--p = '\n';
  for (; n || p == line + sizeof line - 1; n /= 10) *--p = (char)('0' + n % 10);
  WriteFile(GetStdHandle(-11), p, (unsigned)(line + sizeof line - p), &done, 0);
}

PLAIN int calls(void) {
  for (int i = 0; i < 100000; i++) sink = 0, middle(0);
  say(outer(60));
  void *t = CreateThread(0, 0, use, (void *)60, 0, 0);
  WaitForSingleObject(t, -1);
  say(grows(4000, 60));
  say((int)many(60 FOUR(ARGUMENT, 0) FOUR(ARGUMENT, 1)));
  say((int)half(60 FOUR(ARGUMENT, 0)));
  return 7;
}

#ifdef _MSC_VER
/* What the library of MSVC has: the directory of thread-local storage, with the callbacks between these two. */
#pragma section(".CRT$XLA", read)
#pragma section(".CRT$XLZ", read)
__declspec(allocate(".CRT$XLA")) const void *const cairn_first = 0;
__declspec(allocate(".CRT$XLZ")) const void *const cairn_last = 0;
static unsigned tls_index;
const struct { const void *begin, *end; unsigned *index; const void *const *callbacks; unsigned zeros, flags; } _tls_used = {
  0, 0, &tls_index, &cairn_first + 1, 0, 0,
};
PLAIN void start(void) { ExitProcess((unsigned)calls()); }
#else
PLAIN int main(void) { return calls(); }
#endif
