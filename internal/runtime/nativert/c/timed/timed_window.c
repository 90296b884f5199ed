/* The window: a slot for each value of the low 32 bits of a stack pointer, 4 GiB of addresses, with
 * memory only for the pages that stacks have touched. Before it are the words that inserted code
 * reads, and before those the state of the process.
 *
 * If that much cannot be reserved, the window is smaller, and code masks the stack pointer
 * (timed_masked_MACHINE.c). Two calls whose stack pointers differ by a multiple of its size then
 * share a slot. In mode spike the slot holds the later stamp, which makes the earlier call shorter:
 * it may be missed, or shown shorter, but no spike is invented. In mode stacks a slot must lead to
 * the right caller, so all calls then share one slot, and there is no tree. */

#include "timed.h"

#define WINDOW (1ul << 32)
#define PAGE ((u64)MAX_PAGE)
#define BELOW (((sizeof(struct process) + PAGE - 1) & ~(PAGE - 1)) + 2 * PAGE)
#define TOTAL(window) (BELOW + (window) + PAGE) /* a stack pointer may be misaligned */

enum { LEAST_WINDOW = 1 << 20, MOST_MASKED = 1 << 30, RLIMIT_AS = 9 };

/* own_window maps a file's memory at the window: untouched pages of it are not charged, unlike
 * those of other memory. A child made by fork needs its own. */
int __cairn_own_window(struct process *p) {
  u64 size = p->window + PAGE;
  i64 fd = sys2(SYS_memfd_create, "cairn-window", 1 /* MFD_CLOEXEC */);
  if (fd < 0) return 0;
  i64 r = fits(size) ? sys2(SYS_ftruncate, fd, size) : -EFBIG;
  if (r >= 0) r = map(p->base, size, PROT_RW, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0);
  sys1(SYS_close, fd);
  return !failed(r);
}

/* room maps memory for a state with its window, at an address that code can load. Processes have at
 * least 512 GiB of addresses. */
static u8 *room(u64 window, i32 prot) {
  u64 total = TOTAL(window), at = 0, step = window == WINDOW ? 0 : MASKED_STEP;
  for (;;) {
    if (step) at += step;
    u8 *m = (u8 *)map((void *)(step ? at - BELOW : 0), total, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (failed(m) || !step || (u64)m + BELOW == at) return m;
    unmap(m, total);
    if (at >> 39) return (u8 *)-EEXIST;
  }
}

/* reserve makes the state with a window of the given size, or returns 0. */
static struct process *reserve(u64 window) {
  u64 total = TOTAL(window);
  u8 *m = room(window, PROT_RW);
  struct process *p = (struct process *)m;
  if (failed(m)) {
    m = room(window, PROT_NONE);
    if (failed(m)) return 0;
    p = (struct process *)m;
    if (failed(map(m, BELOW, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0))) goto none;
    p->shared = 1;
  }
  p->base = m + BELOW;
  p->window = window;
  p->mask = (u32)(window - 1);
  p->time.clock = &p->time.own;
  p->time.member = (struct member *)(p->base - PAGE);
  if (p->shared && !__cairn_own_window(p)) goto none;
  /* With huge pages, each stack would cost megabytes. */
  sys3(SYS_madvise, p->base, window + PAGE, MADV_NOHUGEPAGE);
  sys3(SYS_madvise, p->base, window + PAGE, MADV_DONTDUMP);
  p->check_pid = sys3(SYS_madvise, p->base - 2 * PAGE, 2 * PAGE, MADV_WIPEONFORK) < 0;
  return p;
none:
  unmap(m, total);
  return 0;
}

/* reserve_all reserves the whole window. It raises the soft limit of the address space, if it may,
 * by the window's size. */
static struct process *reserve_all(void) {
  struct process *p = reserve(WINDOW);
  u64 limit[2], was;
  if (p || sys2(SYS_getrlimit, RLIMIT_AS, limit) < 0 || limit[0] >= limit[1]) return p;
  was = limit[0];
  limit[0] = least(limit[0] + TOTAL(WINDOW), limit[1]);
  sys2(SYS_setrlimit, RLIMIT_AS, limit);
  if ((p = reserve(WINDOW))) return p;
  limit[0] = was;
  sys2(SYS_setrlimit, RLIMIT_AS, limit);
  return 0;
}

/* leaves reports whether as much again remains for the program. */
static int leaves(u64 window) {
  i64 m = map(0, 2 * TOTAL(window), PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (failed(m)) return 0;
  unmap(m, 2 * TOTAL(window));
  return 1;
}

/* reserve_some reserves the largest window that leaves half for the program. */
static struct process *reserve_some(u32 kind) {
  static const char message[] = "cairn: mode stacks needs 4 GiB of address space, which it cannot reserve here (ulimit -v): no calls are counted\n";
  struct process *p = 0;
  if (kind == KIND_STACKS) {
    if (!(p = reserve(PAGE))) return 0;
    p->mask = 0;
    p->off = 1;
    __cairn_print(message, sizeof message - 1);
    return p;
  }
  for (u64 size = MOST_MASKED; !p && size >= LEAST_WINDOW; size >>= 1)
    if (leaves(size)) p = reserve(size);
  return p;
}

struct process *__cairn_window(u32 kind, int masked) {
  static const char message[] =
      "cairn: there is no room for the state that this program needs to time its calls: raise the limit (ulimit -v "
      "unlimited), or build it without cairn\n";
  struct process *p = masked && kind != KIND_STACKS ? 0 : reserve_all();
  if (!p) p = reserve_some(kind);
  if (p) return p;
  __cairn_print(message, sizeof message - 1); /* inserted code cannot run without */
  sys1(SYS_exit_group, 127);
  return 0;
}

void __cairn_window_free(struct process *p) { unmap(p, TOTAL(p->window)); }
