/* The runtime of the timed modes: definitions for Armv7, and where calls have their state there.
 *
 * A process of 32 bits has no room for a window of 4 GiB. Its state ends with a table of the address
 * space instead, with an entry for each 64 KiB: the address of a part with 16 bytes for each 8 bytes of
 * stack, or 0. A part is made when a call is first entered there. So the memory of calls is as large
 * as the stacks' pages that have been in use, times two, and as exact as the window: it does not matter
 * on which stack a call is, or which thread runs it. Inserted code calls routines, which
 * look into the table (timed_enter_arm.S, tree_enter_arm.S). */

enum { CALLS_SHIFT = 16, CALLS_PARTS = 1 << 16, CALLS_PART = 2 << CALLS_SHIFT };

/* What a running call has. It is all 0 when the call has ended by its exit. */
struct call {
  u32 stamp; /* of mode spike; in mode stacks its node */
  u32 above; /* in mode spike the stack pointer of the call that was innermost before: 0: none */
  u32 function, back; /* what names the function, and the return address of the call */
};
_Static_assert(sizeof(struct call) == 16, "as routines have it");

/* part makes the part of the table that a stack pointer is in; 0: there is no room. call_at returns
 * the state of a call, in any case one that can be read and written. */
HIDDEN u8 *__cairn_part(struct process *p, u32 sp);
HIDDEN struct call *__cairn_call_at(struct process *p, u32 sp);
#define slot(p, sp) ((u8 *)__cairn_call_at(p, (u32)(sp)))

/* The code that names a function is behind it, and in front of that code are the distance to its start, and a
 * byte. */
#define START_OF(code) ((code) - __cairn_behind(code))
HIDDEN u32 __cairn_behind(u32 code);

#define OWN_CALLS LOG_CALLS_ARM
#define VDSO_CLOCK "__vdso_clock_gettime64"

/* The stack pointer at a function's entry is the CFA. */
enum { ENTRY_BELOW_CFA = 0 };

/* plain_address returns an address without the bit for the Thumb state. */
#define plain_address(pc) ((pc) & ~1ull)

/* Nothing of C is called where vectors are in use. */
INLINE u64 vectors_to_keep(void) { return 0; }

/* There is no exact clock: programs cannot read a counter of the processor. */
#define EXACT_NEVER NONE
INLINE u64 ticks_between(void) { return 0; }
INLINE int is_steady(void) { return 0; }
