/* Mode stacks: where inserted code comes to, as c/timed/tree_enter_MACHINE.S documents it. Without a window there are no nodes,
 * and inserted code does nothing. */

#include "tree.h"
#include "tree.c"
#include "tree_log.c"

static int start_mode(struct process *p) { return make_window(p) && trees_of(p); }

/* write_mode writes the trees; in time, or at the end. */
static void write_mode(struct process *p, int final) {
  u64 mask = block_most();
  if (!p->failed) __cairn_tree_write(p, final);
  if (load(&p->first)) write_status(p);
  unblock(mask);
}

static void module_goes(struct process *p, struct module *m) { __cairn_tree_retire(p, m->start, m->end, m->number); }

/* thread_ends notes that the thread of a node has ended: others may take its tree. */
static void thread_ends(void *node) {
  struct node *n = node;
  if (n->function != TREE_LOST) block_of(n)->tree->thread = n;
}

/* fork_mode makes the child begin a log of its own. Its clock starts when a function looks for its node, which is in no slot. */
static void fork_mode(struct process *p) {
  set_origin(p);
  p->ticks = p->worst = p->ended = 0;
  tick(p);
  __cairn_tree_forked(p);
  for (struct node *n = current_node(); n->parent && n->parent != n; n = n->parent)
    for (u32 i = 0; i < TREE_SLOTS; i++) n->parent->slot[i] = n->slot[i] = &p->stacks.trees->empty;
  for (u32 i = 0; i < TREE_TABLE; i++) __cairn_tree_table[i] = 0;
}

/* r names the function; it becomes the node, 0 if there is none. */
static u64 of_tree_make(u64 r, u8 *vectors, u64 sp) {
  struct process *p = shared.process;
  int first = !p || !own_node(), system = first || (!p->has_clock && p->ready);
  u64 saved = system ? begin_system(vectors) : 0, n = 0;
  if (!p) p = start();
  if (p) {
    if (p->ready && !p->has_clock) start_clock(p);
    n = (u64)__cairn_tree_child((const u8 *)r);
    if (first) pthread_setspecific(p->key, (void *)n); /* so that the system calls thread_ends */
    else set_node(n);
  }
  if (system) end_system(saved, vectors);
  return n;
}

static u64 of_tree_back(u64 r, u8 *vectors, u64 sp) {
  if (shared.process) __cairn_tree_find(r, sp);
  return 0;
}

/* r is the stack pointer at the entry. */
static u64 of_tree_back_at(u64 r, u8 *vectors, u64 sp) {
  if (shared.process) __cairn_tree_at(r);
  return 0;
}

static u64 of_tree_switched(u64 r, u8 *vectors, u64 sp) {
  if (shared.process) __cairn_tree_switch(r);
  return 0;
}

/* The process ends by what is called next, if r is 1, or runs another program. A child that does so at once has no log. */
static u64 of_tree_leave(u64 r, u8 *vectors, u64 sp) {
  struct process *p = shared.process;
  if (!p) return 0;
  u64 saved = begin_system(vectors);
  if (getpid() == p->pid && (r || !p->forked || p->first || now(p) - p->mono > 100 * MS)) {
    p->ended |= r == 1;
    tick(p);
    write_mode(p, 1);
  }
  end_system(saved, vectors);
  return 0;
}

ROUTINE(tree_make)
ROUTINE(tree_back)
ROUTINE(tree_back_at)
ROUTINE(tree_switched)
ROUTINE(tree_leave)

/* Functions that share a slot are found in a table. */
#if __aarch64__
__asm__(".text\n.p2align 2\n.private_extern __cairn_tree_enter\n.globl __cairn_tree_enter\n__cairn_tree_enter:\n"
        "stp x0, x1, [sp, -32]!\nstp x2, x3, [sp, 16]\n"
        "adrp x2, __cairn_local@PAGE\nldr x2, [x2, __cairn_local@PAGEOFF]\ncmp x2, 0\nb.lt 4f\nb.eq 1f\n"
        "mrs x0, tpidrro_el0\nand x0, x0, 0xfffffffffffffff8\nadd x2, x2, x0\nldr x16, [x2]\ncbz x16, 1f\n"
        "adrp x0, ___cairn_tree_depth@PAGE\nldr w0, [x0, ___cairn_tree_depth@PAGEOFF]\nldr w1, [x16, 176]\ncmp w1, w0\nb.hs 3f\n"
        "mov w0, 0x79b1\nmovk w0, 0x9e37, lsl 16\nmul w0, w0, w16\nmov w1, 0xca77\nmovk w1, 0x85eb, lsl 16\nmadd w0, w1, w17, w0\n"
        "ubfx w0, w0, 16, 13\nadrp x1, ___cairn_tree_table@PAGE\nadd x1, x1, ___cairn_tree_table@PAGEOFF\nldr x0, [x1, w0, uxtw 3]\n"
        "cbz x0, 1f\nldr x1, [x0]\ncmp x1, x16\nb.ne 1f\nldr x1, [x0, 8]\ncmp x1, x17\nb.ne 1f\n"
        "ldurb w1, [x17, -1]\nand w1, w1, 15\nadd x1, x16, x1, lsl 3\nstr x0, [x1, 64]\n"
        "2: str x0, [x2]\n5: mov x17, x0\nldp x2, x3, [sp, 16]\nldp x0, x1, [sp], 32\nret\n"
        "1: ldp x2, x3, [sp, 16]\nldp x0, x1, [sp], 32\nb __cairn_tree_make\n"
        "3: mov x0, x16\nldr x1, [x0, 8]\ncmp x1, 3\nb.eq 2b\nldr x0, [x16, 32]\ncbz x0, 1b\nldr x1, [x0, 8]\ncmp x1, 3\nb.eq 2b\nb 1b\n"
        "4: mov x0, 0\nb 5b\n");
#else
__asm__(".text\n.p2align 4\n.private_extern __cairn_tree_enter\n.globl __cairn_tree_enter\n__cairn_tree_enter:\n"
        "pushq %rax\npushq %r10\npushq %rcx\nmovq __cairn_local(%rip), %rax\ntestq %rax, %rax\njs 4f\njz 1f\n"
        "movq %gs:(%rax), %r10\ntestq %r10, %r10\njz 1f\n"
        "movl ___cairn_tree_depth(%rip), %eax\ncmpl %eax, 176(%r10)\njae 3f\n"
        "imulq $-1640531535, %r10, %rax\nimulq $-2048144777, %r11, %rcx\naddq %rcx, %rax\nshrq $16, %rax\nandl $8191, %eax\n"
        "leaq ___cairn_tree_table(%rip), %rcx\nmovq (%rcx,%rax,8), %rax\ntestq %rax, %rax\njz 1f\n"
        "cmpq %r10, (%rax)\njne 1f\ncmpq %r11, 8(%rax)\njne 1f\n"
        "movzbl -1(%r11), %ecx\nandl $15, %ecx\nmovq %rax, 64(%r10,%rcx,8)\n"
        "2: movq %rax, %r11\npopq %rcx\npopq %r10\npopq %rax\nret\n"
        "1: popq %rcx\npopq %r10\npopq %rax\njmp __cairn_tree_make\n"
        "3: movq %r10, %rax\ncmpq $3, 8(%rax)\nje 2b\nmovq 32(%r10), %rax\ntestq %rax, %rax\njz 1b\ncmpq $3, 8(%rax)\nje 2b\njmp 1b\n"
        "4: xorl %eax, %eax\njmp 2b\n");
#endif
_Static_assert(TREE_TABLE == 8192 && TREE_SLOT == 15 && TREE_DEEP == 3 && __builtin_offsetof(struct node, depth) == 176, "as above");
