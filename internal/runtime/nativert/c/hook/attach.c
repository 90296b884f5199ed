/* The part that is put into a running program: internal/watch/attach loads this library without the
 * program's loader, makes a thread of the program call attach, and writes jumps over functions
 * while all threads are stopped. It needs neither the program's C library nor thread-local memory.
 *
 * It has no handler of fork: in a child the clock stops, so no call looks slow, and functions
 * return to their callers. */

#include "attach.h"

struct attach *__cairn_attached;
HIDDEN const u8 __cairn_hook_starter = 0;

/* ---- for the runtime ---- */

i64 __cairn_mapped(i64 at, u64 size) {
  struct attach *a = __cairn_attached;
  if (failed(at)) return at;
  for (u32 i = 0; a && i < MAPPINGS; i++) {
    u64 nobody = 0;
    if (a->mapped[i].at || !__atomic_compare_exchange_n(&a->mapped[i].at, &nobody, (u64)at, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) continue;
    a->mapped[i].size = size;
    return at;
  }
  if (a) add(&a->lost, 1);
  return at;
}

void __cairn_unmapped(u64 at, u64 size) {
  struct attach *a = __cairn_attached;
  for (u32 i = 0; a && i < MAPPINGS; i++)
    if (a->mapped[i].at && a->mapped[i].at - at < size) store(&a->mapped[i].at, 0);
}

void __cairn_print(const char *text, u64 n) {
  struct attach *a = __cairn_attached;
  if (!a) return;
  n = least(n, SAID - least(SAID, a->said_length));
  copy(a->said + a->said_length, text, n);
  a->said_length += n;
}

int __cairn_leaving(void) { return load(&__cairn_attached->leaving) != 0; }

HIDDEN void __cairn_bus_end(void);

/* take_along closes the log, and removes handlers. */
void __cairn_take_along(struct process *p) {
  __cairn_file_drop(p);
  __cairn_bus_end();
}

/* ---- the start ---- */

static const char *room(void) {
  enum { RLIMIT_AS = 9 };
  u64 limit[2], need = 4ul << 30;
  if (sys2(SYS_getrlimit, RLIMIT_AS, limit) >= 0 && limit[0] != NONE) return "its address space is limited (ulimit -v)";
  need += (sizeof(struct process) + (1ul << 20)) & ~4095ul;
  i64 at = map(0, need, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (failed(at)) return "4 GiB of addresses cannot be reserved in it (vm.overcommit_memory?)";
  unmap(at, need);
  return 0;
}

static const char *begin(struct attach *a) {
  const char *why = room();
  if (why) return why;
  __cairn_timed_start(0, 0, (char **)a->words);
  struct process *p = __cairn_state;
  a->process = (u64)p;
  a->wake = (u64)&p->log.wake;
  a->hook = (u64)__cairn_hook_trampoline;
  if (p->log.file.failed) return "no log can be made in the directory";
  if (p->off) return "spikes are not recorded in it";
  a->log_path = (u64)p->log.path;
  a->modules = p->modules.count;
  if (!p->modules.count) return "it does not see /proc, which tells what is in its memory";
  if ((why = __cairn_hook_start())) return why;
  a->stub = p->hooks->stub, a->stub_end = p->hooks->stub_end, a->returns = p->hooks->returns;
  return 0;
}

/* attach is called by attach_enter. The tracer restores the thread when done is set; the
 * thread returns by itself if that takes a second, as the tracer may have ended.
 *
 * It does not sleep: the program's own system call may be one that the kernel continues by
 * restart_syscall, such as poll. What that continues is kept once for a thread, so a system call
 * here with a time limit would be continued in its place. */
HIDDEN void __cairn_attach(struct attach *a) {
  u64 ts[2], now, end = 0;
  __cairn_attached = a;
  a->refused = (u64)begin(a);
  store(&a->done, 1);
  do {
    for (u32 i = 0; i < 1000; i++) pause_briefly();
    sys2(SYS_clock_gettime, MONOTONIC, ts);
    now = ts[0] * SECOND + ts[1];
    if (!end) end = now + SECOND;
  } while (now < end);
}

/* ---- code that is entered by jumps ---- */

/* A thread of the program continues at attach_enter: %rdi is the struct attach, %rbx the
 * frame of a signal handler, with which the kernel restores the thread. The stack pointer
 * must be that after the handler's ret.
 *
 * A trampoline calls find_fde at the start of the unwinder's _Unwind_Find_FDE (%rdi pc, %rsi
 * the result). It returns the frame description of the stub, which the unwinder does not
 * know. */
__asm__(".text\n"
        ".globl __cairn_attach_enter, __cairn_find_fde\n"
        ".type __cairn_attach_enter, @function\n"
        ".type __cairn_find_fde, @function\n"
        "__cairn_attach_enter:\n"
        "  call __cairn_attach\n"
        "  leaq 8(%rbx), %rsp\n"
        "  movl $15, %eax\n"
        "  syscall\n"
        "  hlt\n"
        ".size __cairn_attach_enter, . - __cairn_attach_enter\n"
        "__cairn_find_fde:\n"
        "  movq __cairn_attached(%rip), %rax\n"
        "  cmpq 32(%rax), %rdi\n"
        "  jb 1f\n"
        "  cmpq 40(%rax), %rdi\n"
        "  jae 1f\n"
        "  movq 56(%rax), %rcx\n"
        "  movq $0, (%rsi)\n"
        "  movq $0, 8(%rsi)\n"
        "  movq %rcx, 16(%rsi)\n"
        "  movq 48(%rax), %rax\n"
        "  leaq 8(%rsp), %rsp\n"
        "1: ret\n"
        ".size __cairn_find_fde, . - __cairn_find_fde\n");
_Static_assert(__builtin_offsetof(struct attach, find_lo) == 32, "as above");
