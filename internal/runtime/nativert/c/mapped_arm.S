/* Code that is linked into a module whose runtime is a file. It maps the file, a flat image of
 * machine code, and calls its first byte. Without the file, the program runs uninstrumented. The
 * image is rt.c compiled with CAIRN_MAPPED; see rt_mapped.h for its calls and mapped_x86_64.S for
 * the reasons. All code is in Thumb state. */

#include "machine.h"
#include "wire.h"
#define IMAGE_ROOM 0x10000
#include "rt_mapped.h"

        .macro  address reg, what
        movw    \reg, #:lower16:(\what - (.Lat\@ + 4))
        movt    \reg, #:upper16:(\what - (.Lat\@ + 4))
.Lat\@: add     \reg, pc
        .endm

        .macro  function name
        .type   \name, %function
        .thumb_func
\name:
        .endm

        .syntax unified
        .arch   armv7-a
        .thumb
        .text
        .balign 4
/* mapped_start(argc, argv, envp) */
function mapped_start
        push    {r2, r4, r5, r6, r7, lr}
        mvn     r0, #99                 @ AT_FDCWD
        address r1, file
        mov     r2, #0x80000            @ O_RDONLY | O_CLOEXEC
        movs    r3, #0
        movw    r7, #322                @ openat
        svc     0
        movs    r4, r0
        bmi     2f
        movs    r1, #0
        movs    r2, #2                  @ SEEK_END
        movs    r7, #19                 @ lseek
        svc     0
        movw    r5, #CAIRN_RUNTIME_SIZE
        subs    r0, r5
        it      ne
        mvnne   r0, #0                  @ 0 or an error
        bne     1f
        mov     r1, #CAIRN_IMAGE_ROOM
        movs    r2, #5                  @ PROT_READ | PROT_EXEC
        movs    r3, #2                  @ private
        movs    r5, #0
        movs    r7, #192                @ mmap2
        svc     0
1:      mov     r5, r0
        mov     r0, r4
        movs    r7, #6                  @ close
        svc     0
        cmn     r5, #4096
        bhs     5f                      @ an error
        address r6, module
        ldrd    r0, r1, [r6, #4]
        push    {r0, r1}                @ __cairn_order_table, __dso_handle
        address r0, table
        movs    r1, #CAIRN_START
        ldr     r2, [sp, #8]
        ldr     r3, [r6]
        orr     r5, r5, #1
        blx     r5
        add     sp, #8
        address r1, image
        str     r0, [r1]
2:      pop     {r2, r4, r5, r6, r7, pc}
5:      movs    r7, #4                  @ write
        movs    r0, #2
        address r1, failure
        movs    r2, #sizeof_failure
        svc     0
        movs    r0, #2
        address r1, file
        address r2, failure - 1
        subs    r2, r1
        svc     0
        movs    r0, #2
        address r1, failure + sizeof_failure
        movs    r2, #1
        svc     0
        b       2b

/* Calls of the image: r0 is passed on, r1 is the number of the call. Without an image all calls
 * return -1, except CAIRN_LOST, which returns 0: not handled. */
        .globl  __cairn_dump, __cairn_reset, __cairn_set_dir
        .hidden __cairn_dump, __cairn_reset, __cairn_set_dir
function __cairn_dump
        movs    r1, #CAIRN_DUMP_ALL
        b       call_image
function __cairn_reset
        movs    r1, #CAIRN_RESET_ALL
        b       call_image
function mapped_dump
        movs    r1, #CAIRN_DUMP
        b       call_image
function mapped_reset
        movs    r1, #CAIRN_RESET
        b       call_image
function __cairn_set_dir
        movs    r1, #CAIRN_DIR_ALL
        b       call_image
function mapped_dir
        movs    r1, #CAIRN_DIR
        b       call_image
function mapped_where
        movs    r1, #CAIRN_WHERE
        b       call_image
function mapped_lost
        movs    r1, #CAIRN_LOST
function call_image
        address r3, image
        ldr     r3, [r3]
        cbz     r3, 3f
        orr     r3, r3, #1
        bx      r3
3:      negs    r1, r1
        sbcs    r0, r0, r0              @ -1 unless it was 0
        bx      lr

/* The image returns how many bytes to unmap. */
function mapped_finish
        address r3, image
        ldr     r0, [r3]
        push    {r0, r7, r8, lr}
        movs    r1, #CAIRN_FINISH
        bl      call_image
        movs    r1, r0
        ble     4f
        address r3, image
        movs    r2, #0
        str     r2, [r3]
        ldr     r0, [sp]
        movs    r7, #91                 @ munmap
        svc     0
4:      pop     {r0, r7, r8, pc}

#include "mapped_tables.h"
