/* The clock: a thread sets it, and inserted code reads it. And the window of 4 GiB that has the stamps of calls, of which
 * pages come into being when they are first written. */

static u64 scaled(u64 v, u64 by, u64 hz) { return v / hz * by + v % hz * by / hz; }

/* now returns the time in ns, of the counter that all threads read. */
static u64 now(struct process *p) {
  u64 v = 0;
  QueryPerformanceCounter(&v);
  return scaled(v, SECOND, p->hz);
}

#include "interval.h"

/* finer asks the system for a timer of 1 ms, as Windows before 10 has no better one. */
static void finer(void) {
  typedef void *(*loader)(const u16 *);
  loader library = (loader)GetProcAddress(GetModuleHandleW(u"kernel32.dll"), "LoadLibraryW");
  void *winmm = library ? library(u"winmm.dll") : 0;
  u32 (*begin)(u32) = winmm ? (u32 (*)(u32))GetProcAddress(winmm, "timeBeginPeriod") : 0;
  if (begin) begin(1);
}

static void look(struct process *p);
static u64 seen_now(struct process *p);
static void write_mode(struct process *p, int final);

/* run_clock sets the clock until the process ends, or all threads of the program have. */
static __attribute__((noreturn)) u32 run_clock(void *of) {
  enum { HIGH_RESOLUTION = 2, ALL_ACCESS = 0x1f0003, TIME_CRITICAL = 15, LOOK = 100 };
  struct process *p = of;
  void *timer = CreateWaitableTimerExW(0, 0, HIGH_RESOLUTION, ALL_ACCESS);
  SetThreadPriority((void *)-2, TIME_CRITICAL);
  if (!timer) finer();
  for (u32 n = 1;; n++) {
    i64 due = -(i64)(p->period / 100);
    if (timer && SetWaitableTimer(timer, &due, 0, 0, 0, 0)) WaitForSingleObject(timer, (u32)-1);
    else Sleep((u32)most(p->period / MS, 1));
    tick(p);
    write_mode(p, 0);
    if (n % LOOK) continue;
    int alone = is_alone();
    p->ended |= alone;
    look(p);
    if (alone) end_process();
  }
}

/* ---- the window ---- */

/* commit makes memory of the window, of the trees, or of a stack's mirror, that at is in, and reports whether it is in one of these. */
static int commit(struct process *p, u64 at) {
  u64 from = at & -(u64)GRAIN;
  int inside = (p->mask && at - (u64)p->base < WINDOW) || at - (u64)p->stacks.trees < p->stacks.size || in_mirror(at);
  return inside && VirtualAlloc((void *)from, GRAIN, MEM_COMMIT, READWRITE);
}

/* go_without makes an instruction that needs memory of the window, of which there is none left, do nothing, and reports whether it could. What
 * it loads is what it would have if its call had begun now. */
static int go_without(struct process *p, struct context *c, u64 at) {
  enum { STORE = 0x89, LOAD = 0x8b, SET = 0xc7, REX = 0x40, SIB = 4, BASE = 5 };
  const u8 *i = (const u8 *)c->rip;
  if (!p->mask || at - (u64)p->base >= WINDOW) return 0;
  u32 rex = (*i & 0xf0) == REX ? *i++ : 0, code = *i++, m = *i++, form = m >> 6, n = (m & 7) == SIB;
  if (form == 3 || (code != STORE && code != LOAD && code != SET)) return 0;
  if (form == 1) n += 1;
  if (form == 2 || (!form && ((m & 7) == BASE || (n && (*i & 7) == BASE)))) n += 4;
  if (code == LOAD) (&c->rax)[(m >> 3 & 7) | (rex & 4) << 1] = seen_now(p);
  c->rip = (u64)i + n + (code == SET ? 4 : 0);
  if (!__atomic_exchange_n(&p->short_of, 1, __ATOMIC_RELAXED) && !p->off) say(u"cairn: no " WHAT u" of some threads are logged: no memory\n");
  return 1;
}

/* make_window reserves the window, with a block in front for its words. Mode trace has a place for events that are discarded. */
static int make_window(struct process *p) {
#if CAIRN_MODE == LOG_MODE_TRACE
  static u8 sink[2 * LOG_CHUNK_SIZE];
  p->trace.sink = (u8 *)(((u64)sink + LOG_CHUNK_SIZE - 1) & -(u64)LOG_CHUNK_SIZE);
#else
  u8 *m = VirtualAlloc(0, WINDOW + GRAIN, MEM_RESERVE, READWRITE);
  if (!m || !VirtualAlloc(m, GRAIN, MEM_COMMIT, READWRITE)) return 0;
  p->base = m + GRAIN, p->mask = (u32)-1;
#endif
  return 1;
}
