/* The depth of a thread's calls, for mode trace with --depth, as c/timed/trace_depth.c and trace_depth_x86_64.S have it. A thread has two
 * more words in its block: the stack pointer of the last recorded call once these have reached the depth, else 0, which inserted
 * code compares with its own; and the list of the stack pointers of its recorded open calls. */

u64 __cairn_deep, __cairn_deep_list; /* where the words are, from the start of a thread's block */

struct deep_list {
  u64 count, call[CAIRN_TRACE_DEPTH];
};

static u64 *word_at(u64 offset) {
  u8 *block;
  __asm__ volatile("movq %%gs:0x30, %0" : "=r"(block));
  return (u64 *)(block + offset);
}

/* own_list returns the list of this thread, which it makes. Without memory it is one that all threads share, and calls are
 * recorded that are deeper. */
static struct deep_list *own_list(void) {
  static struct deep_list shared_list;
  struct deep_list **at = (struct deep_list **)word_at(__cairn_deep_list);
  if (!*at) *at = VirtualAlloc(0, sizeof **at, MEM_RESERVE | MEM_COMMIT, READWRITE);
  if (!*at) *at = &shared_list;
  return *at;
}

static void of_make_deep_list(struct process *p, const struct registers *r) { own_list(); }
ROUTINE(make_deep_list)

/* __cairn_trace_deeper: a call is entered, and recorded. __cairn_trace_upper: a recorded call ends. r11 is the stack pointer at
 * the call's entry. They change r11 and the flags. */
#define TEXT(x) TEXT_(x)
#define TEXT_(x) #x
#define DEEP(name, body)                                                                                        \
  __asm__(".text\n.globl " name "\n.def " name "; .scl 2; .type 32; .endef\n.seh_proc " name "\n" name ":\n"     \
          "pushq %rax\n.seh_pushreg %rax\npushq %rcx\n.seh_pushreg %rcx\n.seh_endprologue\n"                    \
          "0:\nmovq __cairn_deep_list(%rip), %rax\nmovq %gs:(%rax), %rax\ntestq %rax, %rax\nje 9f\n"            \
          "movl (%rax), %ecx\n1:\ntestl %ecx, %ecx\nje 2f\ncmpq %r11, (%rax,%rcx,8)\nja 2f\ndecl %ecx\njmp 1b\n2:\n" body \
          "movl %ecx, (%rax)\nmovq __cairn_deep(%rip), %rcx\nmovq %r11, %gs:(%rcx)\n"                           \
          "popq %rcx\npopq %rax\nret\n9:\ncall __cairn_make_deep_list\njmp 0b\n.seh_endproc\n");
DEEP("__cairn_trace_deeper", "cmpl $" TEXT(CAIRN_TRACE_DEPTH) ", %ecx\njae 3f\nmovq %r11, 8(%rax,%rcx,8)\nincl %ecx\ncmpl $" TEXT(CAIRN_TRACE_DEPTH) ", %ecx\njae 3f\nxorl %r11d, %r11d\n3:\n")
DEEP("__cairn_trace_upper", "xorl %r11d, %r11d\n")

/* ---- fibers ---- */

/* A fiber that another one takes the thread from leaves the list, and the other one begins with none. */
#define KEPT_DEPTH CAIRN_TRACE_DEPTH
#include "depth_places.h"

static struct kept_list *kept_lists(void) {
  static struct kept_list *all;
  if (!load(&all)) store(&all, VirtualAlloc(0, PLACES * sizeof *all, MEM_RESERVE | MEM_COMMIT, READWRITE));
  return all;
}

static void depth_left(u64 sp) {
  struct deep_list *l = own_list();
  while (l->count && l->call[l->count - 1] <= sp) l->count--; /* they have ended */
  if (kept_lists()) keep_list(kept_lists(), sp, l->call, l->count);
  l->count = 0, *word_at(__cairn_deep) = 0;
}

static void depth_returned(u64 sp) {
  struct deep_list *l = own_list();
  l->count = kept_lists() ? kept_calls(kept_lists(), sp, l->call) : 0;
  *word_at(__cairn_deep) = l->count >= CAIRN_TRACE_DEPTH ? l->call[l->count - 1] : 0;
}

/* end_depth frees the list of a thread that ends. */
static void end_depth(void) {
  struct deep_list **at = (struct deep_list **)word_at(__cairn_deep_list), *l = *at;
  *at = 0, *word_at(__cairn_deep) = 0;
  if (l) VirtualFree(l, 0, MEM_RELEASE);
}

/* start_depth takes the slots of the words. */
static void start_depth(struct process *p) {
  u32 *slot = p->trace.deep;
  slot[0] = TlsAlloc(), slot[1] = TlsAlloc();
  if (slot[0] < SLOTS && slot[1] < SLOTS) return;
  for (u32 i = 0; i < 2; i++)
    if (slot[i] != (u32)NO_SLOT) TlsFree(slot[i]);
  slot[0] = (SPARE_DEEP - TLS_SLOTS) / 8, slot[1] = slot[0] + 1;
  run_plain(p, u"no slots of thread-local storage are left for --depth");
}

static void use_depth(const struct process *p) {
  __cairn_deep = TLS_SLOTS + 8ull * p->trace.deep[0], __cairn_deep_list = TLS_SLOTS + 8ull * p->trace.deep[1];
}
