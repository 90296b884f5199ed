/* Hooks: times of functions that were compiled without cairn.
 *
 *   hook.S          the hook at a function's entry; the stub that it returns to
 *   hook_start.c    the windows of return addresses and of functions
 *   hook_names.S    the names by which compilers call hooks
 *   hook_calls.c    -finstrument-functions
 *   hook_patch.c    -fpatchable-function-entry; memory near code, changes of code
 *   hook_load.c     the start of the preloaded library, and what it did
 *
 * Only the entry of such a function can be hooked. So the hook replaces its return address by that
 * of a stub, and stores the real one in a second window, at the low 32 bits of the stack pointer,
 * as the first window does with stamps. So no stack of calls is maintained: longjmp, exceptions and
 * coroutines need no repair. The unwinder finds the real address by the stub's frame description,
 * so the window must be at one of a few constant addresses.
 *
 * Return addresses cannot be changed if shadow stacks (CET) are active.
 *
 * A trampoline is code near a function with the same effect as its first instructions:
 *
 *            .quad  site            address of the function
 *            call   *slot(%rip)     6 bytes; slot has the address of
 *                                   __cairn_hook_trampoline
 *            the function's first instructions
 *            jmp    to the next instruction of the function
 *
 * It is entered by a jump: 0(%rsp) is the function's return address. It preserves all registers,
 * but not flags. */
#ifndef CAIRN_HOOK_H
#define CAIRN_HOOK_H

#include "timed.h"

/* State of the process, made by the first module with hooks. */
struct hooks {
  u64 stub, stub_end; /* where functions return to */
  u64 returns;        /* window of return addresses, followed by that of functions */
  u32 texts;
  u64 text[BASES][2]; /* of the modules' hooks */
};

/* hook_start enables hooks, and returns 0, or the reason why it cannot. Until then they have
 * no effect. */
HIDDEN const char *__cairn_hook_start(void);
HIDDEN void __cairn_hook_trampoline(void);
HIDDEN void __cairn_hook_call(void); /* as __fentry__ */

/* ---- only in the library ---- */

/* near returns writable memory that 32-bit displacements reach from all code in [from, to);
 * 0 if there is none. */
HIDDEN u8 *__cairn_near(u64 from, u64 to, u64 size);
/* seal makes such memory executable and read-only. It returns 0 or -errno. */
HIDDEN i64 __cairn_seal(u8 *at, u64 size);
/* patch changes code. It returns 0 or -errno. */
HIDDEN i64 __cairn_patch(u64 at, const void *code, u64 n);
/* summary adds a line to the report of the command; text has no newline at its end. */
HIDDEN void __cairn_hook_summary(const char *text);

/* detours, if it is linked, is called when hooks are enabled, before the constructors of the
 * program. threads is the number of threads that the program has. */
HIDDEN void __cairn_detours(struct process *p, char **envp, u32 threads) __attribute__((weak));

#endif
