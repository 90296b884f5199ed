/* Libraries of a process: how they find its state, and leave it. See guest.h. */

#include "timed.h"
#include "guest.h"
#include "plain.h"

HIDDEN const u8 __cairn_guest = 0;
extern void *calloc(u64, u64) WEAK;

/* states returns where the list of states of the process begins, 0 if it has none. */
struct process **__cairn_guest_states(void) { return (struct process **)find_global("__cairn_process"); }

/* load loads the host, which makes the state of the process. It returns whether it is there. */
#ifdef CAIRN_HOST_PATH
const char __cairn_host_path[] = CAIRN_HOST_PATH;

/* is_whole reports whether the file has all of the host, as one that was copied to a full disk has not: the loader does not
 * look, and a process gets SIGBUS for what is behind the end of a file. It does not wait for a pipe, as the loader would. */
static int is_whole(void) {
  enum { O_NONBLOCK = 04000 };
  u64 device, inode;
  i64 fd = open_file(__cairn_host_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0), size = fd < 0 ? 0 : identify((i32)fd, &device, &inode);
  if (fd >= 0) sys1(SYS_close, fd);
  return size == CAIRN_HOST_SIZE;
}

int __cairn_guest_load(void) {
  if (!is_whole()) return 0;
  void *host = open_base(__cairn_host_path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (!host && dlerror) dlerror(); /* the program does not see that error */
  return host != 0;
}
#else
int __cairn_guest_load(void) { return load_host(CAIRN_KIND); }
#endif

/* is_main reports whether this module is the executable, see guest_preinit.c. */
FALLBACK int __cairn_guest_is_main(void) { return 0; }

/* plain makes the code of this module one that records nothing. */
int __cairn_guest_plain(void) { return make_plain(&header); }

BEFORE_INITIALIZERS(__cairn_early_start);

/* is_early reports whether this module may be called before it is initialized: it is the executable, has the program's
 * allocator, or a function DT_INIT. */
int __cairn_guest_is_early(void) {
  u64 start, end, at = (u64)&calloc;
  KEEP_BEFORE;
  range(&start, &end);
  return __cairn_guest_is_main() || (at >= start && at < end) || has_init();
}

struct place {
  const char *path;
  void *base;
  const char *name;
  void *at;
};
extern int dladdr(const void *, struct place *) WEAK;

/* pin keeps this module loaded: the process has addresses in it. */
void __cairn_guest_pin(void) {
  enum { RTLD_NOLOAD = 4 };
  struct place place;
  if (dladdr && dladdr(&__cairn_guest, &place)) dlopen(place.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* ---- the end ---- */

/* forget removes the addresses of this module from the state of the process. */
static void forget(struct process *p, u64 start, u64 end) {
  for (u32 i = 0, n = load(&p->bases); i < n && i < BASES; i++)
    if (p->base_word[i] >= start && p->base_word[i] < end) store(&p->base_word[i], 0);
  lock(&p->control.lock);
  for (u32 i = 0; i < p->channel.sets; i++) {
    struct channels *c = &p->channel.set[i];
    if ((u64)c->from >= start && (u64)c->from < end) c->to = c->from; /* none */
  }
  unlock(&p->control.lock);
  __cairn_callback_leave(p, start, end);
}

/* tell waits until the log's thread has written all about the module. */
static void tell(struct process *p, u64 start, u64 end) {
  for (u32 i = 0; i < GOING; i++) {
    struct going *g = &p->modules.going[i];
    u32 free = load(&g->state);
    if ((free != GOING_FREE && (i < GOING - 1 || free != GOING_WRITTEN)) ||
        !__atomic_compare_exchange_n(&g->state, &free, GOING_TAKEN, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      continue;
    g->start = start, g->end = end, g->path_hash = 0;
    store(&g->state, GOING_ASKED);
    __cairn_flush(p);
    return;
  }
}

/* leave is called when the program unloads this module, and returns that it is a library. The code of
 * the module runs in no thread any more, but for this one. */
int __cairn_guest_leave(struct process *p) {
  u64 start, end;
  range(&start, &end);
  forget(p, start, end);
  if (p->off || !load(word(p, ALIVE)) || sys0(SYS_getpid) != p->pid) return 1;
  tell(p, start, end);
  return 1;
}

/* arrive is called when it has joined the state. */
void __cairn_guest_arrive(struct process *p) {
  u64 start, end;
  range(&start, &end);
  store(&p->modules.stale, 1);
  add(&p->modules.joins, 1);
  __cairn_wake(p);
  for (u32 i = 0; i < GOING; i++) {
    struct going *g = &p->modules.going[i];
    u32 written = GOING_WRITTEN;
    if (g->start < end && start < g->end)
      __atomic_compare_exchange_n(&g->state, &written, GOING_FREE, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  }
  struct trees *s = load(&p->stacks.trees);
  if (s && p->stacks.revive) p->stacks.revive(p, start);
}
