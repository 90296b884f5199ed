/* Hooks: functions that were compiled without cairn, timed by what calls them.
 *
 *   hook.S          the hook at a function's entry; the stub that it returns to
 *   hook_start.c    the windows of return addresses and of functions
 *   hook_names.S    the names by which compilers call hooks
 *   hook_calls.c    -finstrument-functions
 *   hook_patch.c    -fpatchable-function-entry; memory near code, changes of code
 *   hook_load.c     the start of the preloaded library, and what it did
 *
 * Such a function has an entry to hook but no exit. So the hook swaps its return
 * address for that of a stub, and keeps the real one in a second window, at the
 * low 32 bits of the stack pointer as the stamp is in the first. Nothing is pushed
 * or popped: longjmp, exceptions and coroutines need no repair. The unwinder finds
 * the real address by the stub's frame description, which is why the window is at
 * one of a few constant addresses.
 *
 * Where shadow stacks (CET) are on, no return address can be changed.
 *
 * A trampoline is code near a function that does what its first instructions did:
 *
 *            .quad  site            address of the function
 *            call   *slot(%rip)     6 bytes; slot has the address of
 *                                   __cairn_hook_trampoline
 *            the function's first instructions
 *            jmp    behind them in the function
 *
 * It is come to by a jump: 0(%rsp) is the function's return address. All registers
 * are kept, flags are not. */
#ifndef CAIRN_HOOK_H
#define CAIRN_HOOK_H

#include "timed.h"

/* State of the process, made by the first module that hooks. */
struct hooks {
  u64 stub, stub_end; /* what functions return to */
  u64 returns;        /* window of return addresses, that of functions behind it */
  u32 texts;
  u64 text[BASES][2]; /* of the modules' hooks */
};

/* hook_start makes hooks work, and returns 0, or why they cannot. Until then
 * they do nothing. */
HIDDEN const char *__cairn_hook_start(void);
HIDDEN void __cairn_hook_trampoline(void);
HIDDEN void __cairn_hook_call(void); /* as __fentry__ */

/* ---- of the library ---- */

/* near returns writable memory of which every byte is within reach of 32-bit
 * displacements from all code in [from, to); 0 if there is none. */
HIDDEN u8 *__cairn_near(u64 from, u64 to, u64 size);
/* seal makes such memory executable, and no longer writable. 0, or -errno. */
HIDDEN i64 __cairn_seal(u8 *at, u64 size);
/* patch changes code. 0, or -errno. */
HIDDEN i64 __cairn_patch(u64 at, const void *code, u64 n);
/* summary adds a line to what the command prints at the end; text ends without
 * a newline. */
HIDDEN void __cairn_hook_summary(const char *text);

/* detours, if it is linked, is called once hooks work, before any constructor of
 * the program. threads: how many the program has already, 1 if none but its own. */
HIDDEN void __cairn_detours(struct process *p, char **envp, u32 threads) __attribute__((weak));

#endif
