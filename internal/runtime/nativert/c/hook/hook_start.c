/* The windows of the hooks: return addresses, followed by the addresses of the functions. A
 * child made by fork needs its own, so they are private memory. Two stacks at a distance of
 * 4 GiB must be noticed, so a window always has all slots. */

#include "hook.h"

extern u64 __cairn_hook_window HIDDEN, __cairn_hook_stub HIDDEN;
extern const u8 __start_cairn_hook[] HIDDEN, __stop_cairn_hook[] HIDDEN;
extern const u8 __cairn_stub_32[] HIDDEN, __cairn_stub_48[] HIDDEN, __cairn_stub_72[] HIDDEN, __cairn_stub_16[] HIDDEN;
extern const u8 __cairn_stub_end[] HIDDEN;

#define WINDOW (1ul << 32) /* of return addresses; that of functions has the same size */
enum { MAP_FIXED_NOREPLACE = 0x100000 };

/* The possible addresses of windows, and their stubs. The kernel maps nothing there by itself;
 * tools that map memory at fixed addresses leave at least one free. */
static const struct {
  u64 page;
  const u8 *stub, *end;
} places[] = {
    {32, __cairn_stub_32, __cairn_stub_48},
    {48, __cairn_stub_48, __cairn_stub_72},
    {72, __cairn_stub_72, __cairn_stub_16},
    {16, __cairn_stub_16, __cairn_stub_end},
};

/* shadow_stack reports whether this thread has one. The instruction reads its pointer, or
 * has no effect. */
static int shadow_stack(void) {
  u64 at = 0;
  __asm__ volatile("rdsspq %0" : "+r"(at));
#ifdef CAIRN_TEST_SHADOW_STACK
  at = 1;
#endif
  return at != 0;
}

static struct hooks *reserve(void) {
  struct hooks *h = (struct hooks *)map(0, sizeof *h, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (failed(h)) return 0;
  for (u32 i = 0; i < sizeof places / sizeof places[0]; i++) {
    u64 at = places[i].page << 40;
    u64 got = (u64)map(at, 2 * WINDOW, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (failed(got)) continue;
    if (got != at) { /* a kernel that does not know the flag */
      unmap(got, 2 * WINDOW);
      continue;
    }
    /* As with the window of stamps. */
    sys3(SYS_madvise, at, 2 * WINDOW, MADV_NOHUGEPAGE);
    sys3(SYS_madvise, at, 2 * WINDOW, MADV_DONTDUMP);
    h->returns = at;
    h->stub = (u64)places[i].stub;
    h->stub_end = (u64)places[i].end;
    return h;
  }
  unmap(h, sizeof *h);
  return 0;
}

const char *__cairn_hook_start(void) {
  struct process *p = __cairn_state;
  if (__cairn_hook_window) return 0;
  if (!p || p->off) return "CAIRN_SPIKE=off";
  if (shadow_stack())
    return "this process has a shadow stack (CET), which forbids changes of return addresses; "
           "GLIBC_TUNABLES=glibc.cpu.x86_shstk=off may disable it";
  if (p->kind != KIND_SPIKE) return "hooks need the coarse clock of mode spike";
  if (p->shared || p->mask != (u32)-1) return "the whole window of stamps cannot be reserved (ulimit -v, vm.overcommit_memory)";
  struct hooks *h = load(&p->hooks), *none = 0;
  if (!h) {
    h = reserve();
    if (!h) return "8 GiB of address space cannot be reserved at any of the places for it";
    /* Modules are loaded one after the other. */
    if (!__atomic_compare_exchange_n(&p->hooks, &none, h, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) h = none;
  }
  if (h->texts == BASES) return "too many modules of this process have hooks";
  h->text[h->texts][0] = (u64)__start_cairn_hook;
  h->text[h->texts][1] = (u64)__stop_cairn_hook;
  store(&h->texts, h->texts + 1);
  __cairn_hook_stub = h->stub;
  store(&__cairn_hook_window, h->returns);
  return 0;
}

/* exit evaluates the end of a hooked call; hook.S calls it. */
HIDDEN void __cairn_hook_exit(u64 sp, u64 rbp) {
  struct hooks *h = __cairn_state->hooks;
  u64 site = *(u64 *)(h->returns + WINDOW + (u32)sp);
  __cairn_leave_at((u64)__builtin_return_address(0), site, sp, sp, rbp);
}
