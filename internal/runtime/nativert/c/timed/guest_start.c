/* The start of a module that has no runtime of its own: it calls that of its process, which is in the executable or in
 * the host (timed_guest.c), through the table of guest_calls_MACHINE.S. Nothing of the process is in this module, which
 * the program may unload if it is a library. With --shared-runtime executables are such modules, too. */

#include "tree.h"
#include "raisers.h"
#include "services.h"

/* As in timed_start.c. */
u8 *__cairn_base = (u8 *)(1ul << 63);
u64 __cairn_local = 1ul << 63;
u8 __cairn_plain;
struct process *__cairn_state;
HIDDEN const u8 __cairn_link_with_cairn_cc_timed = 0;

extern const void *__cairn_called[SERVICES] HIDDEN;
extern const u8 __cairn_nothing[] HIDDEN, __cairn_no_node[] HIDDEN;

#ifdef CAIRN_TREES
/* The nodes of calls that are not recorded, as in tree.c. */
struct node __cairn_tree_empty;
struct node __cairn_tree_none = {.function = TREE_NONE, .slot = {[0 ... TREE_SLOTS - 1] = &__cairn_tree_empty}};
HIDDEN struct node __cairn_tree_sink = {
    .parent = &__cairn_tree_sink, .function = TREE_LOST, .slot = {[0 ... TREE_SLOTS - 1] = &__cairn_tree_empty}};
#else
#define __cairn_no_node __cairn_nothing
#endif

void __cairn_print(const char *text, u64 n) { sys3(SYS_write, 2, text, n); }

void __cairn_pin(void) { __cairn_guest_pin(); }

/* disconnect lets routines do nothing. The first one of the trees makes a node. */
static void disconnect(void) {
  for (u32 i = 0; i < SERVICES_ROUTINES + SERVICES_TREES; i++) store(&__cairn_called[i], i == SERVICES_ROUTINES ? __cairn_no_node : __cairn_nothing);
}

static void connect(const i32 *services) {
  for (u32 i = 0; i < SERVICES && i < (u32)services[0]; i++)
    if (services[1 + i]) store(&__cairn_called[i], (const u8 *)services + services[1 + i]);
}

FALLBACK u64 __cairn_own_local(void) { return 0; } /* a library has nothing for each thread */
FALLBACK int __cairn_guest_has_threads(void) { return 0; }

static struct process *idle(struct local *here) {
  struct process *p = __cairn_window(CAIRN_KIND, 0);
  p->kind = CAIRN_KIND;
  p->off = 1;
  disconnect();
  if (CAIRN_KIND == KIND_EXACT) *(u64 *)(p->base + EXACT_LOW) = EXACT_NEVER;
  else *word(p, LOW) = NEVER;
  *word(p, CLOCK) = 1;
  *(u64 *)(p->base + TREE_CLOCK) = TREE_RUNNING;
  store(word(p, ALIVE), 1);
  if (p->mask != (u32)-1) __cairn_masked(p);
#ifdef CAIRN_TREES
  here->node = &__cairn_tree_none;
#endif
  u64 own = __cairn_own_local();
  if (__cairn_plain) __cairn_local = (u64)here;
  else __cairn_local = own ? own : (u64)here - thread_pointer();
  __cairn_state = p;
  store(&__cairn_base, p->base);
  return p;
}

#include "join.h"

/* join finds the process's state of modules of this kind, which the host makes if there is none; 0: it cannot be loaded. */
static struct process *join(void) {
  for (int loaded = 0;; loaded = 1) {
    struct process **link = &__cairn_process ? &__cairn_process : __cairn_guest_states(), *p = find(&link);
    if (p || loaded || !__cairn_guest_load()) return p;
  }
}

/* stays_early reports whether the executable goes on with the state in which it has started, which it says. */
static int stays_early(void) {
  static const char message[] = "cairn: calls of the program are not recorded, as a library started threads before it: build it without --shared-runtime\n";
  if (!early || !__cairn_guest_has_threads()) return 0;
  __cairn_print(message, sizeof message - 1);
  keep_on_fork(early);
  return 1;
}

HIDDEN void __cairn_timed_start(int argc, char **argv, char **envp) {
  (void)argc, (void)argv, (void)envp;
  if (__cairn_state && __cairn_state != early) return;
  __cairn_early_start(); /* unless the loader called it */
  if (stays_early()) return;
  struct process *before = early, *p = join();
  early = 0;
  if (p) {
    connect(p->services);
    __cairn_add_base(p, &__cairn_base);
    if (p->mask != (u32)-1) __cairn_masked(p);
    __cairn_local = p->local;
    __cairn_state = p;
    raisers_start(p);
    channels_start(p);
    __cairn_guest_arrive(p);
    store(&__cairn_base, p->base);
  } else {
    run_plain();
  }
  if (before) __cairn_window_free(before);
}

/* finish waits until the log has all about a library that is unloaded. The executable's runs first at the end of the process,
 * and that of the host last. */
static void finish(void) {
  struct process *p = __cairn_state;
  if (!p) return;
  if (__cairn_guest_is_main()) store(&p->exiting, 1);
  else if (!load(&p->exiting) && !load(&p->ended)) __cairn_guest_leave(p);
}

__attribute__((section(".init_array.00000"), used)) static void (*const init)(int, char **, char **) = __cairn_timed_start;
__attribute__((section(".fini_array.00000"), used)) static void (*const fini)(void) = finish;
