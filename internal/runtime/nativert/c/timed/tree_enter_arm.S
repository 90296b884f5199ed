/* The routines that code of mode stacks calls, as registers_arm.h has it:
 *
 *   entry: r0 is the address of ID:          bl __cairn_tree_enter
 *   exit, r0 is the distance to the stack pointer at the entry:     bl __cairn_tree_exit
 *   arrival, r0 as at the entry:             bl __cairn_tree_back, after a switch of stacks __cairn_tree_switched
 *   before the end of the process:           bl __cairn_tree_leave, r0: 1, or before another program 0
 *
 *          .byte 0, 0, 0
 *          .long ID - function
 *          .byte HASH, with flags
 *   ID:
 *
 * ID is behind the function. Here is what other machines have inline (tree_enter_aarch64.S): it would be
 * some 80 bytes in each function. */

#include "registers_arm.h"

/* As in tree.h. */
#define FUNCTION 8
#define CALLS 16
#define TIME 24
#define SP 40
#define SLOTS 56
#define STAMP 104
#define LONGEST 112
#define FLAGS 124
#define TREE_SLOT 15
#define TREE_UNTIMED 64
#define TREE_LONGEST 128
#define CLOCK 48        /* in front of the table */

        .hidden __cairn_tree_node, __cairn_part_of

        BEGIN   __cairn_tree_enter
        SAVE    9f
        THREAD_LOCAL
        ldr     r3, [r2]                @ the caller's node
        ldrb    ip, [r0, #-1]
        and     ip, ip, #TREE_SLOT
        add     ip, r3, ip, lsl #2
        ldr     r4, [ip, #SLOTS]        @ mine?
        ldr     ip, [r4, #FUNCTION]
        ldr     r5, [r4, #FUNCTION + 4] @ not 0 if the module is gone
        eor     ip, ip, r0
        orrs    ip, ip, r5
        bne     7f
1:      add     r5, sp, #SAVED + STUB
        CALL_STATE 8f
2:      str     r4, [ip]
        str     r4, [r2]
        str     r5, [r4, #SP]
        ldrd    r2, r3, [r4, #CALLS]
        adds    r2, r2, #1
        adc     r3, r3, #0
        strd    r2, r3, [r4, #CALLS]
        ldr     ip, [r4, #FLAGS]
        tst     ip, #TREE_UNTIMED
        bne     9f
        sub     r1, r1, #CLOCK
        ldrexd  r2, r3, [r1]            @ at once, not a half at a time
        tst     ip, #TREE_LONGEST
        beq     3f
        strd    r2, r3, [r4, #STAMP]
3:      ldrd    r0, r1, [r4, #TIME]
        subs    r0, r0, r2
        sbc     r1, r1, r3
        strd    r0, r1, [r4, #TIME]
9:      RETURN

7:      C_CALL  __cairn_tree_node, r5
        mov     r4, r0
        b       1b

8:      mov     r0, r5
        C_CALL  __cairn_part_of, r5
        cmp     r0, #0
        beq     9b                      @ there is no room: the call is in no tree
        add     r5, sp, #SAVED + STUB
        CALL_STATE 9b
        b       2b
        END     __cairn_tree_enter

        BEGIN   __cairn_tree_exit
        SAVE    9f
        add     r5, sp, #SAVED + STUB
        add     r5, r5, r0              @ at the entry
        CALL_STATE 9f
        ldr     r4, [ip]
        cmp     r4, #0
        beq     9f                      @ its entry was not seen
        movs    r3, #0
        str     r3, [ip]
        ldr     ip, [r4, #FLAGS]
        tst     ip, #TREE_UNTIMED
        bne     1f
        sub     r1, r1, #CLOCK
        ldrexd  r2, r3, [r1]
        ldrd    r0, r1, [r4, #TIME]
        adds    r0, r0, r2
        adc     r1, r1, r3
        strd    r0, r1, [r4, #TIME]
        tst     ip, #TREE_LONGEST
        beq     1f
        ldrd    r0, r1, [r4, #STAMP]
        subs    r2, r2, r0
        sbc     r3, r3, r1
        ldrd    r0, r1, [r4, #LONGEST]
        subs    ip, r0, r2
        sbcs    ip, r1, r3
        bhs     1f
        strd    r2, r3, [r4, #LONGEST]
1:      THREAD_LOCAL
        ldr     r3, [r4]                @ its parent
        str     r3, [r2]
9:      RETURN
        END     __cairn_tree_exit

        FORWARD __cairn_tree_back, __cairn_tree_came
        FORWARD __cairn_tree_switched, __cairn_tree_resumed
        FORWARD __cairn_tree_leave, __cairn_tree_leaves

        PROPERTIES
