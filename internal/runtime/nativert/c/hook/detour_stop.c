/* Threads are stopped while code is changed, by an unused signal. Its handler waits. If its
 * thread is between instructions that a jump will replace, the handler moves it to the
 * trampoline. A thread that blocks all signals, as threads of libraries often do, cannot be
 * stopped: then no code is changed.
 *
 * One case is not handled: a handler of the program that interrupted a function at such a
 * place, and was itself interrupted by this signal. */

#include "detour.h"

enum { STOPPED = 4096, NAPS = 100000, TIMES_BLOCKED = 64 };
enum { RIP_IN_CONTEXT = 40 + 16 * 8 };

static struct {
  i32 tid[STOPPED];
  u8 here[STOPPED]; /* it waits in the handler */
  u32 threads;
  u32 round; /* odd while threads are stopped; they wait for it to change */
  i32 signal;
  u8 on;
} world;

HIDDEN void __cairn_restorer(void);
__asm__(".text\n.hidden __cairn_restorer\n.type __cairn_restorer, @function\n"
        "nop\n__cairn_restorer: mov $15, %eax\nsyscall\n.size __cairn_restorer, .-__cairn_restorer\n");

/* moved returns the address where the thread at pc continues. */
static u64 moved(u64 pc) {
  for (u32 m = 0; m < __cairn_hooked_count; m++) {
    const struct hooked *h = &__cairn_hooked[m];
    if (h->on || pc < h->text || pc >= h->text_end) continue;
    u64 at = pc - h->bias;
    u32 lo = 0, hi = h->plan->sites;
    while (lo < hi) { /* the first site after at */
      u32 mid = lo + (hi - lo) / 2;
      if (h->site[mid].at <= at) lo = mid + 1;
      else hi = mid;
    }
    if (!lo) continue;
    const struct site *s = &h->site[lo - 1];
    u64 inner = at - s->at;
    if (inner >= 1 && inner < JUMP && s->inner[inner - 1]) return h->blob + s->entry + s->inner[inner - 1];
  }
  return pc;
}

static void handler(int signal, void *info, void *context) {
  u32 round = load(&world.round);
  i32 tid = (i32)sys0(SYS_gettid);
  (void)signal, (void)info;
  if (!(round & 1)) return; /* too late: the threads continue already */
  for (u32 i = 0; i < world.threads; i++) {
    if (world.tid[i] != tid) continue;
    u64 *pc = (u64 *)((u8 *)context + RIP_IN_CONTEXT);
    if (world.on) *pc = moved(*pc);
    store(&world.here[i], 1);
    while (load(&world.round) == round) sys6(SYS_futex, (i64)&world.round, FUTEX_WAIT, round, 0, 0, 0);
    return;
  }
}

/* choose finds an unused signal and keeps its handler, as a thread may receive it late. If
 * the program has set another handler, or the default, which ends the process, another
 * signal is chosen. */
static int choose(void) {
  struct action old, ours = {handler, SA_SIGINFO | SA_RESTORER | SA_ONSTACK | SA_RESTART, __cairn_restorer, ~0ul};
  if (world.signal && (sys4(SYS_rt_sigaction, world.signal, 0, &old, 8) || old.handler != handler)) world.signal = 0;
  for (i32 s = 64; !world.signal && s > 34; s--) {
    if (sys4(SYS_rt_sigaction, s, 0, &old, 8) || old.handler) continue;
    if (!sys4(SYS_rt_sigaction, s, &ours, 0, 8)) world.signal = s;
  }
  return world.signal != 0;
}

/* read_task reads a file of a thread and returns its length. */
static i64 read_task(i32 tid, const char *file, char *to, u64 room) {
  char path[64];
  put(put_number(put(path, "/proc/self/task/"), (u32)tid), file);
  i64 n, fd = sys3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
  if (failed(fd)) return 0;
  n = sys3(SYS_read, fd, to, room);
  sys1(SYS_close, fd);
  return n > 0 ? n : 0;
}

static int starts(const char *s, const char *with) {
  while (*with && *s == *with) s++, with++;
  return !*with;
}

/* blocks_signal reports whether a thread blocks the signal, or the last one while none is chosen. */
static int blocks_signal(i32 tid) {
  char text[4096];
  i64 n = read_task(tid, "/status", text, sizeof text - 1);
  u64 mask = 0;
  text[n] = 0;
  const char *s = text;
  while (*s && !starts(s, "\nSigBlk:\t")) s++;
  if (!*s) return 0;
  for (s += 9; (*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'f'); s++)
    mask = mask << 4 | (u64)(*s <= '9' ? *s - '0' : *s - 'a' + 10);
  return mask >> ((world.signal ? world.signal : 64) - 1) & 1;
}

/* is_own_thread reports whether a thread is one of cairn's, which run no code of the program and block
 * all signals. They set their names soon after their start. */
static int is_own_thread(i32 tid) {
  char name[32] = {0};
  read_task(tid, "/comm", name, sizeof name - 1);
  return starts(name, "cairn-") && blocks_signal(tid);
}

static int known(i32 tid) {
  for (u32 i = 0; i < world.threads; i++)
    if (world.tid[i] == tid) return 1;
  return 0;
}

/* signal_new signals new threads, and returns their number, or -1. */
static i64 signal_new(i32 pid, i32 self) {
  u8 entries[2048] __attribute__((aligned(8)));
  i64 dir = sys3(SYS_open, "/proc/self/task", O_RDONLY | O_CLOEXEC, 0), n, found = 0;
  if (failed(dir)) return -1;
  while ((n = sys3(SYS_getdents64, dir, entries, sizeof entries)) > 0) {
    for (i64 at = 0; at < n; at += *(u16 *)(entries + at + 16)) {
      const char *name = (const char *)entries + at + 19;
      i32 tid = 0;
      for (const char *c = name; *c >= '0' && *c <= '9'; c++) tid = tid * 10 + *c - '0';
      if (!tid || tid == self || known(tid) || is_own_thread(tid)) continue;
      if (world.threads == STOPPED || !choose()) {
        found = -1;
        break;
      }
      world.here[world.threads] = 0;
      world.tid[world.threads] = tid;
      store(&world.threads, world.threads + 1);
      if (sys3(SYS_tgkill, pid, tid, world.signal)) store(&world.here[world.threads - 1], 1); /* it has ended */
      found++;
    }
    if (found < 0) break;
  }
  sys1(SYS_close, dir);
  return found;
}

/* wait_for_thread waits until a thread is in the handler, or has ended. It gives up if the thread
 * blocks signals, since the others are stopped meanwhile. */
static int wait_for_thread(i32 pid, u32 i) {
  const u64 nap[2] = {0, 200000};
  u32 times_blocked = 0;
  for (u32 n = 1; n < NAPS && !load(&world.here[i]); n++) {
    i32 tid = world.tid[i];
    if (failed(sys3(SYS_tgkill, pid, tid, 0)) || is_own_thread(tid)) return 1;
    if (n % 16 == 0) times_blocked = blocks_signal(tid) ? times_blocked + 1 : 0;
    if (times_blocked == TIMES_BLOCKED) return 0;
    sys4(SYS_clock_nanosleep, MONOTONIC, 0, nap, 0);
  }
  return load(&world.here[i]);
}

static int all_stopped(i32 pid) {
  for (u32 i = 0; i < world.threads; i++)
    if (!wait_for_thread(pid, i)) return 0;
  return 1;
}

const char *__cairn_stop(int on) {
  i32 pid = (i32)sys0(SYS_getpid), self = (i32)sys0(SYS_gettid);
  i64 found;
  const char *why = 0;
  world.threads = 0;
  world.on = (u8)on;
  store(&world.round, (world.round + 1) | 1); /* it can be odd in a child */
  /* Threads that still run can create others. */
  do {
    found = signal_new(pid, self);
    if (found < 0) why = "its threads cannot be listed, are too many, or leave no signal free";
    else if (!all_stopped(pid)) why = "a thread blocks all signals";
  } while (!why && found > 0);
  if (why) __cairn_go();
  return why;
}

void __cairn_go(void) {
  store(&world.round, world.round + 1);
  sys3(SYS_futex, &world.round, FUTEX_WAKE, 0x7fffffff);
}
