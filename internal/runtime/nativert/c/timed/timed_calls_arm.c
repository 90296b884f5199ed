/* The state of running calls on Armv7, see timed_arm.h; and what other machines have in files that
 * Armv7 has not: no window, no unwinder, no looks at other threads. */

#include "tree.h"

enum { SEARCHED = 1 << 20 /* a frame that is larger is not searched for the state of its call */ };
#define BELOW (((sizeof(struct process) + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1)) + 2 * PAGE_SIZE)
#define TOTAL (BELOW + CALLS_PARTS * sizeof(u8 *))

/* ---- the table ---- */

u8 *__cairn_part(struct process *p, u32 sp) {
  u8 **at = (u8 **)p->base + (sp >> CALLS_SHIFT), *m = load(at), *none = 0;
  if (m) return m;
  m = (u8 *)map(0, CALLS_PART, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (failed(m)) return 0;
  if (__atomic_compare_exchange_n(at, &none, m, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return m;
  unmap(m, CALLS_PART);
  return none;
}

HIDDEN u8 *__cairn_part_of(u32 sp) { return __cairn_part(__cairn_state, sp); }

struct call *__cairn_call_at(struct process *p, u32 sp) {
  static struct call unknown;
  u8 *part = __cairn_part(p, sp);
  if (!part) clear(&unknown, sizeof unknown);
  return part ? (struct call *)part + (sp >> 3 & (CALLS_PART / sizeof(struct call) - 1)) : &unknown;
}

/* seen returns the state of a call where there is some, 0 elsewhere. */
static struct call *seen(struct process *p, u32 sp) {
  u8 *part = load((u8 **)p->base + (sp >> CALLS_SHIFT));
  return part ? (struct call *)part + (sp >> 3 & (CALLS_PART / sizeof(struct call) - 1)) : 0;
}

u32 __cairn_behind(u32 code) {
  u32 n;
  copy(&n, (const u8 *)code - 5, sizeof n);
  return n;
}

/* window returns a new state with its table. */
struct process *__cairn_window(u32 kind, int masked) {
  static const char message[] = "cairn: there is no memory for the state that this program needs to time its calls\n";
  u8 *m = (u8 *)map(0, TOTAL, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  struct process *p = (struct process *)m;
  if (failed(m)) {
    __cairn_print(message, sizeof message - 1);
    sys1(SYS_exit_group, 127);
  }
  p->base = m + BELOW;
  p->mask = (u32)-1;
  p->time.clock = &p->time.own;
  p->time.member = (struct member *)(p->base - PAGE_SIZE);
  p->check_pid = sys3(SYS_madvise, p->base - 2 * PAGE_SIZE, 2 * PAGE_SIZE, MADV_WIPEONFORK) < 0;
  return p;
}

void __cairn_window_free(struct process *p) { unmap(p, TOTAL); }
int __cairn_own_window(struct process *p) { return 1; }
void __cairn_masked(struct process *p) {}

/* Libraries have the runtime themselves. */
const i32 __cairn_services[] = {0};

/* ---- mode stacks ---- */

/* node returns the node of a function below the current one, as __cairn_tree_enter of other machines does. */
HIDDEN struct node *__cairn_tree_node(const u8 *code) {
  struct node *parent = current_node(), *n = __cairn_tree_table[tree_place(parent, (uword)code)];
  if (parent->depth >= __cairn_tree_depth || !n || n->parent != parent || n->function != (uword)code) return __cairn_tree_child(code);
  parent->slot[code[-1] & TREE_SLOT] = n;
  return n;
}

HIDDEN void __cairn_tree_came(u32 code, u32 sp) { __cairn_tree_find(code, sp); }
HIDDEN void __cairn_tree_leaves(u32 ends) { __cairn_tree_leaving(ends); }

/* resumed is called behind a switch of stacks, in a call of the function that code names: the state of the call
 * is the first one above its stack pointer. */
HIDDEN void __cairn_tree_resumed(u32 code, u32 sp) {
  struct process *p = __cairn_state;
  for (u32 at = sp & ~7u; at - sp + 8 < SEARCHED; at += 8) {
    const struct call *c = seen(p, at);
    const struct node *n = c ? (const struct node *)c->stamp : 0;
    if (!c) return;
    if (!n || n->function != code) continue;
    __cairn_tree_switch(at);
    return;
  }
}
