/* The routines that code of mode spike calls, as registers_arm.h has it:
 *
 *   entry: r0 is the address of ID, as in tree_enter_arm.S:         bl __cairn_spike_enter
 *   exit, r0 is the distance to the stack pointer at the entry:     bl __cairn_spike_exit
 *   arrival, r0 as at the entry:                                    bl __cairn_arrived
 *   in front of a call that continues on another stack:             bl __cairn_suspends
 *   behind it, r0 as at the entry:                                  bl __cairn_comes
 *   in front of one that ends the thread:                           bl __cairn_departs
 *
 * A call has its stamp in the table, and what its stack is found by: the call that was innermost before, the
 * function, and the return address. An exit that looks slow calls C. */

#include "registers_arm.h"

#define STAMP 0
#define ABOVE 4
#define CODE 8
#define BACK 12
#define CLOCK 64        /* in front of the table */
#define LOW 60

        .hidden __cairn_part_of, __cairn_slow_at, __cairn_enclosing

        BEGIN   __cairn_spike_enter
        SAVE    9f
        add     r5, sp, #SAVED + STUB
        CALL_STATE 8f
2:      THREAD_LOCAL
        ldr     r3, [r2]
        cmp     r3, r5
        bls     6f                      @ of a call that was left, and nobody saw, or of another stack
3:      ldr     r4, [r1, #-CLOCK]
        strd    r4, r3, [ip, #STAMP]
        ldr     r4, [sp, #SAVED + 4]    @ the return address of the function
        strd    r0, r4, [ip, #CODE]
        str     r5, [r2]
9:      RETURN

6:      mov     r4, r0
        mov     r0, r5
        C_CALL  __cairn_enclosing, r5
        add     r5, sp, #SAVED + STUB
        CALL_STATE 9b
        mov     r3, r0
        mov     r0, r4
        b       3b

8:      mov     r4, r0
        mov     r0, r5
        C_CALL  __cairn_part_of, r5
        mov     r3, r0
        mov     r0, r4
        cmp     r3, #0
        beq     9b
        add     r5, sp, #SAVED + STUB
        CALL_STATE 9b
        b       2b
        END     __cairn_spike_enter

        BEGIN   __cairn_spike_exit
        SAVE    9f
        add     r5, sp, #SAVED + STUB
        add     r5, r5, r0              @ at the entry
        CALL_STATE 9f
        ldr     r0, [ip, #CODE]
        cbz     r0, 9f                  @ its entry was not seen
        ldr     r4, [ip, #STAMP]
        cbz     r4, 1f                  @ it was judged before
        ldr     r3, [r1, #-CLOCK]
        subs    r4, r4, r3
        ldr     r3, [r1, #-LOW]
        adds    r4, r4, r3
        bmi     7f
1:      THREAD_LOCAL
        ldr     r3, [ip, #ABOVE]
        str     r3, [r2]
        movs    r3, #0
        str     r3, [ip, #STAMP]
        str     r3, [ip, #CODE]
9:      RETURN

7:      mov     r0, lr                  @ where the function is left
        mov     r1, r5
        C_CALL  __cairn_slow_at, r4
        address r1, __cairn_base
        ldr     r1, [r1]
        CALL_STATE 9b
        b       1b
        END     __cairn_spike_exit

        FORWARD __cairn_arrived, __cairn_arrive
        FORWARD __cairn_departs, __cairn_depart
        FORWARD __cairn_suspends, __cairn_stack_goes
        FORWARD __cairn_comes, __cairn_stack_comes

        PROPERTIES
