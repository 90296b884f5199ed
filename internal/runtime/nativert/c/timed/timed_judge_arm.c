/* Stacks of mode spike on Armv7, in place of timed_stack.c, timed_walk.c and timed_arrive.c. Each call knows which
 * one was innermost when it was entered, and its own return address. So the stack is that of functions with probes,
 * and of those without them the one that called: no tables of the compiler are needed, which programs in C do not
 * have there. And the calls that an exception or a longjmp left are those inside of the one that control arrives in. */

#include "timed.h"

/* ---- what other machines have for unwinders ---- */

int __cairn_has_unwinder(void) { return 0; }
void __cairn_keep_vectors(struct process *p, u8 *area) {}
void __cairn_restore_vectors(struct process *p, u8 *area) {}
void __cairn_arrivals_start(struct process *p) {}
void __cairn_arrivals_forked(struct process *p) {}
void __cairn_open_look(struct process *p, int last) {}
int __cairn_open_any(struct process *p) { return 0; }
u64 __cairn_open_pause(struct process *p, u64 pause) { return pause; }
void __cairn_open_ended(struct process *p, i32 tid, u64 sp, u64 t0, u64 e) {}
void __cairn_open_forget(struct process *p) {}
FALLBACK void __cairn_call_times(struct process *p, struct thread *t, struct entry *stack, u32 n, u64 e) {}

u32 __cairn_stack(struct process *p, struct thread *t, u64 site, u64 sp, u64 rbp, u64 e, struct entry *out, u32 max, u32 *frames, u32 *flags) { return 0; }
