/* Mode stacks: where inserted code comes to, as c/timed/tree_enter_x86_64.S documents it. */

#include "tree.h"
#include "tree.c"
#include "tree_log.c"

/* A thread that has called nothing yet has no node: reading the slots of that fails. */
static struct node *const none = &__cairn_tree_none;

static u64 log_moment(struct process *p) { return now(p); }

static void module_goes(struct process *p, struct module *m) {
  u32 unused;
  if (!p->off && find_section(m->base, ".crnt", &unused)) __cairn_tree_retire(p, (u64)m->base, (u64)m->base + m->size, m->number);
}

static void module_again(struct process *p, u32 number) { revive(p, number); }

/* start_mode makes the place of the trees, before there are other threads: see tree.c. */
static int start_mode(struct process *p) {
  struct trees *s = trees_of(p);
  p->stacks.size = s ? s->size : 0;
  return s != 0;
}

/* write_mode writes the trees; in time, or at the end. */
static void write_mode(struct process *p, int final) {
  if (p->terminates && p->stacks.trees) store(&p->stacks.trees->lock, 0);
  if (!p->off) __cairn_tree_write(p, final);
}

static void module_comes(struct process *p, u8 *base, const u16 *path, u32 bytes) {}
static void end_mode(struct process *p) {}
static i32 note_exception(struct process *p, struct pointers *x) { return 0; }

static void join_mode(struct process *p) {}
static int is_told(void) { return 0; }
static void note_episode(struct process *p, const struct thread *t, const u64 *f) {}

static void begin_thread(void) {
  if (!own_local()->node) own_local()->node = none;
}

static u64 seen_now(struct process *p) { return (u64)own_node(); }

/* has_no_node gives the exit of a call its node, which the entry could not store: there was no memory for the slot then. It fails at one
 * of these:
 *
 *      addq    %r10, 24(%r11)
 *      movq    (%r11), %r11          without times */
static int has_no_node(struct context *c, u64 at) {
  enum { ADD = 0x1853014d, LOAD_PARENT = 0x1b8b4d, LOAD_NODE = 0x1a1c8b4f };
  const u32 *code = (const u32 *)c->rip;
  if (!load(&state->short_of) || c->rip == at || c->r11) return 0;
  if (!(at == 24 && *code == ADD) && !(at == 0 && (*code & 0xffffff) == LOAD_PARENT && code[-1] == LOAD_NODE)) return 0;
  c->r11 = (u64)(own_node() ? own_node() : none); /* calls below the depth have one node, whose parents end early */
  return 1;
}

/* first_call makes what inserted code needs in a thread, which fails at the second of these:
 *
 *      movq    %gs:(%r11), %r10
 *      movq    64+8*slot(%r10), %rax */
static int first_call(struct context *c, u64 at) {
  if (has_no_node(c, at)) return 1;
  if (at - 64 >= 8 * TREE_SLOTS || c->rip == at || c->r10 || own_local()->node || *(const u32 *)(c->rip - 4) != 0x138b4d65) return 0;
  own_local()->node = none;
  c->r10 = (u64)none;
  return 1;
}

static void *fiber_goes(u64 frame) { return own_local()->node; }

static void fiber_comes(u64 frame, void *node) { switch_to(node); }

/* r11 names the function; it becomes the node. */
static void of_tree_make(struct process *p, struct registers *r) {
  r->r11 = (u64)__cairn_tree_child((const u8 *)r->r11);
}

static void of_tree_back(struct process *p, struct registers *r) {
  if (p->mask) __cairn_tree_find(r->r11, (u64)(r + 1));
}

/* r11 is the stack pointer at the entry. */
static void of_tree_back_at(struct process *p, struct registers *r) {
  if (p->mask) __cairn_tree_at(r->r11);
}

static void of_tree_switched(struct process *p, struct registers *r) {
  if (p->mask) __cairn_tree_switch(r->r11);
}

/* The process ends by what is called next, if r11 is 1, or may end. */
static void of_tree_leave(struct process *p, struct registers *r) {
  p->ended |= r->r11 == 1;
  write_mode(p, 1);
  look(p);
}

ROUTINE(tree_make)
ROUTINE(tree_back)
ROUTINE(tree_back_at)
ROUTINE(tree_switched)
ROUTINE(tree_leave)

/* Functions that share a slot are found in a table. */
__asm__(".text\n.globl __cairn_tree_enter\n.def __cairn_tree_enter; .scl 2; .type 32; .endef\n"
        ".seh_proc __cairn_tree_enter\n__cairn_tree_enter:\n"
        "pushq %rax\n.seh_pushreg %rax\npushq %r10\n.seh_pushreg %r10\npushq %rcx\n.seh_pushreg %rcx\n.seh_endprologue\n"
        "movq __cairn_local(%rip), %rax\nmovq %gs:(%rax), %r10\n"
        "movl __cairn_tree_depth(%rip), %eax\ncmpl %eax, 176(%r10)\njae 3f\n"
        "imulq $-1640531535, %r10, %rax\nimulq $-2048144777, %r11, %rcx\naddq %rcx, %rax\nshrq $16, %rax\nandl $8191, %eax\n"
        "leaq __cairn_tree_table(%rip), %rcx\nmovq (%rcx,%rax,8), %rax\ntestq %rax, %rax\njz 1f\n"
        "cmpq %r10, (%rax)\njne 1f\ncmpq %r11, 8(%rax)\njne 1f\n"
        "movzbl -1(%r11), %ecx\nandl $15, %ecx\nmovq %rax, 64(%r10,%rcx,8)\n"
        "2: movq %rax, %r11\npopq %rcx\npopq %r10\npopq %rax\nret\n"
        "1: popq %rcx\npopq %r10\npopq %rax\njmp __cairn_tree_make\n"
        "3: movq %r10, %rax\ncmpq $3, 8(%rax)\nje 2b\nmovq 32(%r10), %rax\ntestq %rax, %rax\njz 1b\ncmpq $3, 8(%rax)\nje 2b\njmp 1b\n"
        ".seh_endproc\n");
_Static_assert(TREE_TABLE == 8192 && TREE_SLOT == 15 && TREE_DEEP == 3 && __builtin_offsetof(struct node, depth) == 176, "as above");
_Static_assert((int)TREE_HEAD == (int)NODES_HEAD, "as reserve has it");
