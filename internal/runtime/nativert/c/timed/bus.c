#include "kernel.h"
#include "bus.h"

enum { SIGBUS = 7, RANGES = 1 << 16, REUSED = 64, SIG_SIZE = 8 };

struct range {
  u64 start, end; /* start 0: free */
};

/* One for all modules of a process that share a state. */
struct bus {
  struct range *range;
  u32 ranges, installed, cut, pad;
  struct action old;
};
static struct bus own;
struct bus *__cairn_bus = &own;

DEFINE_SIGNAL_RESTORER(__cairn_bus_restore);

/* replace maps memory over the rest of a log, from the page of an address on. */
static int replace(struct bus *b, u64 at) {
  for (u32 i = 0, n = load(&b->ranges); i < n && i < RANGES; i++) {
    struct range *r = &b->range[i];
    u64 start = load(&r->start), end = load(&r->end);
    if (!start || at < start || at >= end) continue;
    at &= -(u64)page_size();
    if (failed(map(at, end - at, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0))) return 0;
    add(&b->cut, 1);
    return 1;
  }
  return 0;
}

/* pass_on does what would happen without this handler. */
static void pass_on(struct bus *b, int number, void *info, void *context) {
  struct action *old = &b->old;
  int sent = ((i32 *)info)[2] <= 0; /* sent by a process, not caused by an access */
  if ((uword)old->handler > 1) {
    old->handler(number, info, context);
    return;
  }
  sys4(SYS_rt_sigaction, number, old, 0, SIG_SIZE); /* the access is repeated */
  if (sent) sys3(SYS_tgkill, sys0(SYS_getpid), sys0(SYS_gettid), number);
}

static void on_bus(int number, void *info, void *context) {
  struct bus *b = __cairn_bus;
  if (((i32 *)info)[2] > 0 && replace(b, *(uword *)((i32 *)info + SI_ADDR))) return;
  pass_on(b, number, info, context);
}

void __cairn_bus_start(void) {
  struct bus *b = __cairn_bus;
  struct action ours = {on_bus, SA_SIGINFO | SA_RESTORER | SA_ONSTACK, __cairn_bus_restore, {0}};
  if (__atomic_exchange_n(&b->installed, 1, __ATOMIC_ACQ_REL)) return;
  struct range *r = (struct range *)map(0, RANGES * sizeof *r, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (failed(r)) return;
  b->range = r;
  /* If SIGBUS is ignored, that is intended, as programs that are started later inherit it. */
  if (sys4(SYS_rt_sigaction, SIGBUS, 0, &b->old, SIG_SIZE) < 0 || (uword)b->old.handler == 1) return;
  for (u32 i = 0; i < sizeof ours.mask / sizeof(uword); i++) ours.mask[i] = b->old.mask[i];
  sys4(SYS_rt_sigaction, SIGBUS, &ours, 0, SIG_SIZE);
}

void __cairn_bus_add(void *at, u64 size) {
  struct bus *b = __cairn_bus;
  struct range *r = b->range;
  if (!r) return;
  for (u32 i = 0; i < RANGES; i++) {
    u64 nobody = 0;
    if (i == REUSED) i = (u32)most(i, load(&b->ranges));
    if (i >= RANGES) return;
    if (load(&r[i].start) || !__atomic_compare_exchange_n(&r[i].start, &nobody, (uword)at, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) continue;
    store(&r[i].end, (uword)at + size);
    for (u32 n = load(&b->ranges); n <= i && !__atomic_compare_exchange_n(&b->ranges, &n, i + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);) {
    }
    return;
  }
}

void __cairn_bus_drop(void *at) {
  struct bus *b = __cairn_bus;
  for (u32 i = 0, n = load(&b->ranges); i < n && i < RANGES; i++)
    if (load(&b->range[i].start) == (uword)at) {
      store(&b->range[i].end, 0);
      store(&b->range[i].start, 0);
      return;
    }
}

#ifdef CAIRN_ATTACH
/* bus_end restores the program's handler. */
HIDDEN void __cairn_bus_end(void) {
  struct bus *b = __cairn_bus;
  struct action now;
  if (sys4(SYS_rt_sigaction, SIGBUS, 0, &now, SIG_SIZE) < 0 || now.handler != on_bus) return;
  sys4(SYS_rt_sigaction, SIGBUS, &b->old, 0, SIG_SIZE);
}
#endif

u32 __cairn_bus_cut(void) { return load(&__cairn_bus->cut); }
