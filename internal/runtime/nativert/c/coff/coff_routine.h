/* What inserted code calls: routines that keep the registers. */

/* The registers at the call of a routine, which it may change, and where it returns to. */
struct registers {
  u64 r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbx, rdx, rcx, rax, rbp, site;
};

#include "vectors_x86_64.h"

static u32 last_error(void) {
  u32 v;
  __asm__ volatile("movl %%gs:0x68, %0" : "=r"(v));
  return v;
}

static void set_last_error(u32 v) { __asm__ volatile("movl %0, %%gs:0x68" : : "r"(v)); }

/* ROUTINE defines a routine, in assembly that keeps all registers. It does not keep the flags: it is called at entries of
 * handlers, in front of calls, and at exits, behind code that changes them. */
#define ROUTINE(name)                                                                                                \
  __attribute__((used)) void __cairn_do_##name(struct registers *r, u8 *vectors) {                             \
    struct process *p = state;                                                                                       \
    u32 error = last_error();                                                                                        \
    if (!p) return;                                                                                                  \
    save_vectors(p->xsave, vectors);                                                                                 \
    of_##name(p, r);                                                                                                 \
    restore_vectors(p->xsave, vectors);                                                                              \
    set_last_error(error);                                                                                           \
  }                                                                                                                  \
  __asm__(".text\n.globl __cairn_" #name "\n.def __cairn_" #name "; .scl 2; .type 32; .endef\n"                      \
          ".seh_proc __cairn_" #name "\n__cairn_" #name ":\n"                                                        \
          "pushq %rbp\n.seh_pushreg %rbp\npushq %rax\n.seh_pushreg %rax\npushq %rcx\n.seh_pushreg %rcx\n"            \
          "pushq %rdx\n.seh_pushreg %rdx\npushq %rbx\n.seh_pushreg %rbx\npushq %rsi\n.seh_pushreg %rsi\n"            \
          "pushq %rdi\n.seh_pushreg %rdi\npushq %r8\n.seh_pushreg %r8\npushq %r9\n.seh_pushreg %r9\n"                \
          "pushq %r10\n.seh_pushreg %r10\npushq %r11\n.seh_pushreg %r11\npushq %r12\n.seh_pushreg %r12\n"            \
          "pushq %r13\n.seh_pushreg %r13\npushq %r14\n.seh_pushreg %r14\npushq %r15\n.seh_pushreg %r15\n"            \
          "movq %rsp, %rbp\n.seh_setframe %rbp, 0\n.seh_endprologue\n"                                               \
          "andq $-64, %rsp\nsubq $2880, %rsp\ncld\nmovq %rbp, %rcx\nleaq 64(%rsp), %rdx\n"                           \
          "call __cairn_do_" #name "\nmovq %rbp, %rsp\npopq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %r11\n"      \
          "popq %r10\npopq %r9\npopq %r8\npopq %rdi\npopq %rsi\npopq %rbx\npopq %rdx\npopq %rcx\npopq %rax\n"        \
          "popq %rbp\nret\n.seh_endproc\n");

IMPORT(void, SwitchToFiber, void *);

/* fiber_goes notes that this fiber does not run from now on, by the address of its frame, and returns what fiber_comes needs. */
static void *fiber_goes(u64 frame);
static void fiber_comes(u64 frame, void *what);

/* __cairn_switch_fiber is what code calls in place of SwitchToFiber. */
void __cairn_switch_fiber(void *fiber) {
  u64 frame = (u64)__builtin_frame_address(0);
  u32 error = last_error();
  void *what = state ? fiber_goes(frame) : 0;
  set_last_error(error);
  SwitchToFiber(fiber);
  error = last_error();
  if (state) fiber_comes(frame, what);
  set_last_error(error);
}
void (*const __imp___cairn_switch_fiber)(void *) = __cairn_switch_fiber;

IMPORT(u32, SuspendThread, void *);
IMPORT(u32, GetThreadId, void *);

#if CAIRN_MODE == LOG_MODE_SPIKE
static int lock_watch(struct watch *k, u32 tries);
#endif

/* __cairn_suspend_thread is what code calls in place of SuspendThread, not while the clock's thread suspends one: two threads that suspend
 * each other stay so for ever. */
u32 __cairn_suspend_thread(void *thread) {
  enum { TRIES = 50 };
  struct process *p = state;
  u32 error = last_error();
  int held = 0;
#if CAIRN_MODE == LOG_MODE_SPIKE
  held = p && GetThreadId(thread) != GetCurrentThreadId() && lock_watch(p->watch, TRIES);
#endif
  set_last_error(error);
  u32 before = SuspendThread(thread);
  error = last_error();
  if (held) store(&p->watch->lock, 0);
  set_last_error(error);
  return before;
}
u32 (*const __imp___cairn_suspend_thread)(void *) = __cairn_suspend_thread;

#if CAIRN_MODE == LOG_MODE_SPIKE
IMPORT(void, EnterCriticalSection, void *);
IMPORT(i32, TryEnterCriticalSection, void *);

static struct watched *watched_of(struct watch *k, u32 tid);

/* __cairn_enter_critical_section is what code calls in place of EnterCriticalSection: the clock's thread learns what this thread waits for. */
void __cairn_enter_critical_section(void *section) {
  struct process *p = state;
  u32 error = last_error();
  struct watched *w = 0;
  if (TryEnterCriticalSection(section)) return;
  if (p && (w = watched_of(p->watch, GetCurrentThreadId()))) {
    w->lock_sp = (u64)__builtin_frame_address(0);
    store(&w->lock, (u64)section);
  }
  set_last_error(error);
  EnterCriticalSection(section);
  if (w) store(&w->lock, 0);
}
void (*const __imp___cairn_enter_critical_section)(void *) = __cairn_enter_critical_section;
#endif
