/* Libraries of a process, in mode trace: how they find its state, and leave it. See guest.h. */

#include "trace.h"
#include "guest.h"
#include "plain.h"

HIDDEN const u8 __cairn_guest = 0;
extern void *calloc(u64, u64) WEAK;

enum { KIND_TRACE = 8 }; /* other than those of process.h */

static struct trace_local here = {.position = TRACE_NONE};

/* idle makes a state whose events go to memory. Calls use here in place of what their thread has. */
static struct tracer *idle(void) {
  static u8 nothing[sizeof(struct tracer)] __attribute__((aligned(64)));
  struct tracer *t = (struct tracer *)nothing;
  if (t->sink) return t; /* it was made early */
  u8 *m = (u8 *)map(0, 3ul * LOG_CHUNK_SIZE, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (failed(m)) return 0;
  t->sink = (u8 *)(((u64)m + LOG_CHUNK_SIZE - 1) & ~(LOG_CHUNK_SIZE - 1ul));
  t->alive = (u32 *)(t->sink + LOG_CHUNK_SIZE);
  *t->alive = t->off = 1;
  t->local = __cairn_local = (u64)&here - (__cairn_plain ? 0 : thread_pointer());
  __cairn_tracer = t;
  return t;
}

/* meanwhile makes such a state if this module may be called before it is initialized: see timed_start.c. */
static int meanwhile(void) {
  u64 start, end, at = (u64)&calloc;
  range(&start, &end);
  return ((at < start || at >= end) && !has_init()) || idle() != 0;
}

static void early(void) { meanwhile(); }
BEFORE_INITIALIZERS(early);

struct tracer *__cairn_trace_plain(void) {
  if (!make_plain(&header)) return 0;
  __cairn_plain = 1;
  here.position = TRACE_NONE;
  here.deepest = NONE; /* with a depth, no call is recorded */
  return idle();
}

struct tracer *__cairn_trace_find(void) {
  KEEP_BEFORE;
  if (!meanwhile()) return 0;
  struct tracer *t = (struct tracer *)find_global("__cairn_traced");
  if (t) return t;
  return load_host(KIND_TRACE) ? (struct tracer *)find_global("__cairn_traced") : 0;
}

void __cairn_trace_gone(void) {
  struct tracer *t = __cairn_tracer;
  int child;
  if (sys0(SYS_getpid) != t->pid || t->off) return;
  u64 mask = __cairn_trace_enter(t, &child);
  __cairn_trace_module_gone(t);
  __cairn_trace_leave(t, mask);
}
