/* Detours for Windows: times of functions of a program that no compiler prepared. It is the runtime of mode spike in a DLL, which is
 * loaded before the program's entry, and a plan that internal/instrument/detour made: jumps over the first bytes of functions lead to
 * trampolines, which call a hook.
 *
 * The hook replaces the return address by that of a stub. Each stack has a mirror, memory at a constant distance above it, where the
 * original is at the place that belongs to the stack pointer behind the return: nothing has to be repaired when exceptions,
 * longjmp or fibers leave calls. The unwinder of Windows finds it by the unwind information of the stub, which is that of an
 * interrupt whose frame lies at this distance, so each stack has a stub. The establisher frame of a stub, by which the unwinder
 * knows where to stop, would be that of the caller, whose handler would not be called; the stack pointer is declared its frame
 * register, 16 bytes below which it is. */

#define CAIRN_DETOURS
#define CAIRN_DLL
#include "coff_timed.c"

IMPORT(i32, GetFileSizeEx, void *, u64 *);
IMPORT(i32, VirtualProtect, void *, u64, u32, u32 *);
IMPORT(i32, FlushInstructionCache, void *, const void *, u64);

__attribute__((used)) u32 __cairn_detour_slot; /* where a thread has its stack's mirror, from the start of its block */

/* ---- the hook and the stubs ---- */

#define NUMBER_(x) #x
#define NUMBER(x) NUMBER_(x)
#define STUBS 1024
_Static_assert(STUBS == MIRRORS, "a stub for each stack");

#ifndef HOOK_BEGINS /* of a test that counts calls; rax and rcx are free */
#define HOOK_BEGINS ""
#endif

/* The hook: a trampoline calls it, the return address of the function is behind. It keeps all registers. */
__asm__(".text\n.globl __cairn_detour_hook\n.def __cairn_detour_hook; .scl 2; .type 32; .endef\n.seh_proc __cairn_detour_hook\n"
        "__cairn_detour_hook:\n"
        "pushq %rax\n.seh_stackalloc 8\npushq %rcx\n.seh_stackalloc 8\npushq %rdx\n.seh_stackalloc 8\n.seh_endprologue\n" HOOK_BEGINS
        "movl __cairn_detour_slot(%rip), %eax\nmovq %gs:(%rax), %rax\ntestq %rax, %rax\nje 8f\n"
        "movq %gs:8, %rcx\ncmpq %rcx, (%rax)\njne 8f\ncmpl $0, 48(%rax)\njne 8f\n"
        "leaq 40(%rsp), %rdx\nmovq %rdx, %rcx\nsubq 8(%rax), %rcx\ncmpq 16(%rax), %rcx\nja 9f\ntestb $15, %dl\njne 9f\n"
        "movq 32(%rsp), %rcx\ncmpq 40(%rax), %rcx\nje 5f\n"
        "addq 24(%rax), %rdx\nmovq %rcx, (%rdx)\nleaq 40(%rsp), %rcx\nmovq %rcx, 24(%rdx)\n"
        "3:\naddq 32(%rax), %rdx\nmovq 24(%rsp), %rcx\nmovq %rcx, (%rdx)\nmovq 40(%rax), %rcx\nmovq %rcx, 32(%rsp)\n"
        "movq __cairn_base(%rip), %rax\nleal 32(%rsp), %edx\nmovl -64(%rax), %ecx\nmovl %ecx, (%rax,%rdx)\n"
        "9:\npopq %rdx\npopq %rcx\npopq %rax\nret\n"
        /* The caller was a function with a detour, and ended with a jump: it is over. */
        "5:\nmovq __cairn_base(%rip), %rcx\nleal 32(%rsp), %edx\nmovl (%rcx,%rdx), %edx\nsubl -64(%rcx), %edx\naddl -60(%rcx), %edx\njs 8f\n"
        "leaq 40(%rsp), %rdx\naddq 24(%rax), %rdx\njmp 3b\n"
        "8:\nleaq 32(%rsp), %rcx\ncall __cairn_detour_enter\njmp 9b\n.seh_endproc\n");

/* The stubs. A call returns to the beginning of one with its caller's stack pointer. */
__asm__(".data\n.p2align 4\n__cairn_stub_unwind:\n.space 16 * " NUMBER(STUBS) "\n"
        ".section .rdata,\"dr\"\n.p2align 2\n__cairn_stub_rest:\n.byte 1, 13, 1, 0, 1, 2, 0, 0\n"
        ".text\n.p2align 5\n.globl __cairn_stubs\n__cairn_stubs:\n.set stub_number, 0\n"
        ".rept " NUMBER(STUBS) "\n.p2align 5\n1:\nsubq $8, %rsp\n2:\npushq %rax\nleaq __cairn_mirrors + 64 * stub_number(%rip), %rax\n"
        "jmp __cairn_detour_exits\n3:\n"
        ".section .pdata,\"dr\"\n.rva 1b, 2b, __cairn_stub_unwind + 16 * stub_number\n.rva 2b, 3b, __cairn_stub_rest\n.text\n"
        ".set stub_number, stub_number + 1\n.endr\n.p2align 5\n"
        ".seh_proc __cairn_detour_exits\n__cairn_detour_exits:\n.seh_stackalloc 8\n"
        "pushq %rcx\n.seh_stackalloc 8\npushq %rdx\n.seh_stackalloc 8\n.seh_endprologue\n"
        "leaq 32(%rsp), %rcx\naddq 24(%rax), %rcx\nmovq (%rcx), %rcx\nmovq %rcx, 24(%rsp)\ncmpl $0, 48(%rax)\njne 8f\n"
        "leal 24(%rsp), %ecx\nmovq __cairn_base(%rip), %rdx\nmovl (%rdx,%rcx), %ecx\nsubl -64(%rdx), %ecx\naddl -60(%rdx), %ecx\njs 8f\n"
        "9:\npopq %rdx\npopq %rcx\npopq %rax\nret\n"
        "8:\nleaq 24(%rsp), %rcx\ncall __cairn_detour_exit\njmp 9b\n.seh_endproc\n");

extern u8 __cairn_stub_unwind[][16];

void __cairn_detour_hook(void);

/* describe_stub makes the unwind information of a stub: the frame of an interrupt at a distance from the stack pointer. */
static void describe_stub(u64 number, u32 distance) {
  enum { SET_FRAME = 3, ALLOCATE = 0x11, MACHINE_FRAME = 10, RSP = 4, BELOW = 16 };
  u32 n = distance + BELOW;
  const u8 info[16] = {1, 0, 5, RSP | BELOW / 16 << 4, 0, SET_FRAME, 0, ALLOCATE, (u8)n, (u8)(n >> 8), (u8)(n >> 16), (u8)(n >> 24), 0, MACHINE_FRAME};
  copy(__cairn_stub_unwind[number], info, sizeof info);
}

/* ---- stacks ---- */

static struct mirror *own_mirror(void) {
  struct mirror *m;
  __asm__ volatile("movq %%gs:(%1), %0" : "=r"(m) : "r"((u64)__cairn_detour_slot));
  return m && m->base == stack_base() ? m : 0;
}

static void note_raised(void) {
  struct mirror *m = own_mirror();
  if (m) m->raised = 1;
}

/* room_above reserves memory above an address, within reach of the unwind information. */
static u64 room_above(u64 from, u64 size) {
  enum { FREE = 0x10000 };
  const u64 reach = 0xf0000000;
  struct region r;
  for (u64 at = from; at - from < reach && VirtualQuery(at, &r, sizeof r); at = r.base + r.size) {
    u64 begin = (most(r.base, from) + GRAIN - 1) & -(u64)GRAIN;
    if (r.use == FREE && begin + size <= r.base + r.size && begin + size - from < reach && VirtualAlloc((void *)begin, size, MEM_RESERVE, READWRITE)) return begin;
  }
  return 0;
}

/* fill_mirror makes the mirror of the stack that this thread is on. */
static void fill_mirror(struct mirror *m, u64 base) {
  const u64 most_size = 256ull << 20;
  struct region r = {0};
  VirtualQuery(base - 8, &r, sizeof r);
  u64 low = r.allocation, memory;
  if (!low || base - low > most_size) low = base - least(base, most_size);
  if (m->total) VirtualFree((void *)(m->low + m->delta), 0, MEM_RELEASE);
  m->total = m->size = m->raised = 0, m->low = low;
  u64 second = (base - low + 2 * GRAIN - 1) & -(u64)GRAIN;
  if ((memory = room_above(base, 2 * second))) {
    m->delta = memory - low, m->second = second, m->stub = (u64)__cairn_stubs + STUB_SIZE * (m - __cairn_mirrors);
    describe_stub(m - __cairn_mirrors, (u32)m->delta);
    m->total = 2 * second, m->size = base - low;
  }
  store(&m->base, base);
}

/* mirror_of returns the mirror of the stack that this thread is on, 0 if there is no place. */
static struct mirror *mirror_of(u64 base) {
  enum { TRIES = 64, SPINS = 10000, FREE = 0x10000 };
  static u32 lock;
  struct mirror *found = 0, *none = 0;
  struct region r;
  u32 spins = 0;
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
    if (++spins == SPINS) return 0;
    else Sleep(spins % 16 == 0);
  for (u64 h = (base >> 12) * 0x9e3779b97f4a7c15ull >> 32, i = 0; i < TRIES && !found; i++) {
    struct mirror *m = &__cairn_mirrors[(h + i) % MIRRORS];
    if (m->base == base) found = m;
    else if (!m->base) i = TRIES, none = none ? none : m;
    else if (!none && VirtualQuery(m->base - 8, &r, sizeof r) && r.use == FREE) none = m; /* the stack is gone */
  }
  if (found && VirtualQuery(base - 8, &r, sizeof r) && r.allocation != found->low && base - r.allocation <= 256ull << 20) fill_mirror(found, base);
  if (!found && none) fill_mirror(found = none, base);
  store(&lock, 0);
  return found;
}

/* ---- calls ---- */

/* The trampoline of a function has its address in front, then the call of the hook. */
enum { CALL_SIZE = 6 };
static u64 function_at(u64 continues) { return *(const u64 *)(continues - CALL_SIZE - 8); }

/* complete puts the function that has ended in front of its stack. */
static void complete(struct process *p, struct thread *t, const struct slow_call *call, struct stack *s) {
  if (!call->gone) return;
  u32 n = (u32)least(s->n + 1, CHAIN);
  for (u32 i = n; i-- > 1;) {
    copy(&s->entry[i], &s->entry[i - 1], sizeof *s->entry);
    s->sp[i] = s->sp[i - 1];
  }
  s->sp[0] = call->sp;
  s->entry[0] = (struct entry){call->site, 0, 0, LOG_ENTRY_NO_STAMP, (u32)call->sp};
  s->n = n, s->found++;
}

/* judge_raised judges the calls that an exception has left: those below a stack pointer, of which control is in a call now. They ended
 * behind the exception. If it is in the innermost of them, none was. */
static void judge_raised(struct process *p, struct thread *t, u64 sp, int returns) {
  struct stack *s = &t->raised;
  u32 n = 0;
  while (n < s->n && s->sp[n] < sp) n++;
  if (!n && !(returns && s->n && s->sp[0] == sp)) return;
  u64 e = now(p);
  for (u32 i = 0; i < n; i++) {
    struct entry *x = &s->entry[i];
    struct slow_call c = {.site = x->pc, .sp = s->sp[i], .t0 = s->t0[i], .e = e, .left = LOG_ENTRY_LEFT};
    if (x->flags & LOG_ENTRY_NO_STAMP) continue;
    c.t1 = less(e, x->lo); /* lo is as of the exception */
    store(slot(p, c.sp), 0);
    if (x->hi > p->low * 1000ull) evaluate(p, t, c, s, i);
  }
  s->n = 0;
}

/* judge_ended judges the call whose return address is at k. Its caller goes on at a place. */
static void judge_ended(struct process *p, struct thread *t, const struct registers *r, u64 k, u64 goes_on) {
  const struct mirror *m = own_mirror();
  struct slow_call c = {.sp = k, .e = now(p), .gone = 1};
  if (!m || !entered(p, k, c.e, &c.t0, &c.t1) || (i32)(*slot(p, k) - (u32)clock_of(p, c.e) + load(word(p, LOW))) >= 0) return;
  c.site = function_at(*(const u64 *)(k + 8 + m->delta + m->second)) + 1;
  get_context(r, &t->context);
  t->context.rip = goes_on, t->context.rsp = k + 8;
  store(slot(p, k), 0);
  evaluate(p, t, c, 0, 0);
}

/* raised_on handles what an exception may have left on a stack. */
static void raised_on(struct process *p, struct mirror *m, struct thread *t, u64 sp, int returns) {
  if (!m || !m->raised) return;
  judge_raised(p, t, sp, returns);
  if (!t->raised.n) m->raised = 0;
}

/* of_detour_enter does what the hook does, whose return address is at rcx - 8, when more is needed. */
static void of_detour_enter(struct process *p, const struct registers *r) {
  u64 *k = (u64 *)r->rcx, s = (u64)(k + 1), base = stack_base();
  struct mirror *m = own_mirror();
  if (!m) {
    watch_thread(p);
    if (!(m = mirror_of(base))) return;
    TlsSetValue((__cairn_detour_slot - 0x1480) / 8, m);
  }
  struct thread *t = begin(p);
  if (t) raised_on(p, m, t, (u64)k, 0);
  if (s - m->low <= m->size && s % 16 == 0 && m->size) {
    u64 *at = (u64 *)(s + m->delta);
    if (*k != m->stub) at[0] = *k, at[3] = s;
    else if (t) judge_ended(p, t, r, (u64)k, at[0]);
    *(u64 *)((u64)at + m->second) = k[-1];
    *k = m->stub;
    *slot(p, (u64)k) = load(word(p, CLOCK));
  }
  if (t) end(t);
}

/* of_detour_exit: a call has ended, whose return address is at rcx again, on the stack of rax. */
static void of_detour_exit(struct process *p, const struct registers *r) {
  struct thread *t = begin(p);
  if (!t) return;
  raised_on(p, own_mirror(), t, r->rcx, 1);
  judge_ended(p, t, r, r->rcx, *(const u64 *)r->rcx);
  end(t);
}

/* of_detour_raises: longjmp is called next, which is not an exception that the process sees. */
static void of_detour_raises(struct process *p, const struct registers *r) {
  of_raises(p, r);
  note_raised();
}

ROUTINE(detour_enter)
ROUTINE(detour_exit)
ROUTINE(detour_raises)

void __cairn_detour_raises(void);

/* What modules call in place of longjmp. */
#define JUMPER(n)                                                                                                                     \
  void __cairn_longjmp_##n(void);                                                                                                      \
  __asm__(".text\n.globl __cairn_longjmp_" #n "\n.def __cairn_longjmp_" #n "; .scl 2; .type 32; .endef\n.seh_proc __cairn_longjmp_" #n \
          "\n__cairn_longjmp_" #n ":\nsubq $8, %rsp\n.seh_stackalloc 8\n.seh_endprologue\ncall __cairn_detour_raises\n"              \
          "addq $8, %rsp\njmp *__cairn_longjmp + 8 * " #n "(%rip)\n.seh_endproc\n");
JUMPER(0)
JUMPER(1)
JUMPER(2)
JUMPER(3)

#include "coff_patch.c"
#include "coff_child.c"

/* The entry point of the DLL, which has no C library. */
i32 __cairn_enter_library(const u8 *module, u32 reason, const void *always) {
  life(module, reason, always);
  if (reason == ATTACH) load_plan(state);
  return 1;
}
