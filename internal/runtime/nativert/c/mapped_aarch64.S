/* Code that is linked into a module whose runtime is a file. It maps the file, a flat image of
 * machine code, and calls its first byte. Without the file, the program runs uninstrumented. The
 * image is rt.c compiled with CAIRN_MAPPED; see rt_mapped.h for its calls and mapped_x86_64.S for
 * the reasons. */

#include "machine.h"
#include "wire.h"
#define IMAGE_ROOM 0x40000
#include "rt_mapped.h"

        .macro  guarded name
\name:  hint    34                      // bti c
        .endm

        .text
        .balign 4
/* mapped_start(argc, argv, envp) */
guarded mapped_start
        stp     x2, x30, [sp, -16]!
        mov     x0, -100                // AT_FDCWD
        adrp    x1, file
        add     x1, x1, :lo12:file
        mov     x2, 02000000            // O_RDONLY | O_CLOEXEC
        mov     x3, 0
        mov     x8, 56                  // openat
        svc     0
        tbnz    w0, 31, 2f
        mov     w4, w0
        mov     w6, w0
        mov     x1, 0
        mov     x2, 2                   // SEEK_END
        mov     x8, 62                  // lseek
        svc     0
        mov     w7, CAIRN_RUNTIME_SIZE
        cmp     x0, x7
        csetm   x0, ne                  // 0 or an error
        cbnz    x0, 1f
        mov     x1, CAIRN_IMAGE_ROOM
        mov     x2, 5                   // PROT_READ | PROT_EXEC
        mov     x3, 2                   // private
        mov     x5, 0
        mov     x8, 222                 // mmap
        svc     0
1:      mov     x7, x0
        mov     w0, w6
        mov     x8, 57                  // close
        svc     0
        tbnz    x7, 63, 5f
        adrp    x0, table
        add     x0, x0, :lo12:table
        mov     w1, CAIRN_START
        ldr     x2, [sp]
        adrp    x3, :got:__ehdr_start
        ldr     x3, [x3, :got_lo12:__ehdr_start]
        adrp    x4, :got:__cairn_order_table
        ldr     x4, [x4, :got_lo12:__cairn_order_table]
        adrp    x5, :got:__dso_handle
        ldr     x5, [x5, :got_lo12:__dso_handle]
        blr     x7
        adrp    x1, image
        str     x0, [x1, :lo12:image]
2:      ldp     x2, x30, [sp], 16
        ret
5:      mov     x8, 64                  // write
        adrp    x1, failure
        add     x1, x1, :lo12:failure
        mov     x2, sizeof_failure
        mov     x0, 2
        svc     0
        adrp    x1, file
        add     x1, x1, :lo12:file
        mov     x2, failure - file - 1
        mov     x0, 2
        svc     0
        adrp    x1, failure + sizeof_failure
        add     x1, x1, :lo12:failure + sizeof_failure
        mov     x2, 1
        mov     x0, 2
        svc     0
        b       2b

/* Calls of the image: x0 is passed on, w1 is the number of the call. Without an image all calls
 * return -1, except CAIRN_LOST, which returns 0: not handled. */
        .globl  __cairn_dump, __cairn_reset, __cairn_set_dir
        .hidden __cairn_dump, __cairn_reset, __cairn_set_dir
        .type   __cairn_dump, %function
        .type   __cairn_reset, %function
        .type   __cairn_set_dir, %function
guarded __cairn_dump
        mov     w1, CAIRN_DUMP_ALL
        b       call_image
guarded __cairn_reset
        mov     w1, CAIRN_RESET_ALL
        b       call_image
guarded mapped_dump
        mov     w1, CAIRN_DUMP
        b       call_image
guarded mapped_reset
        mov     w1, CAIRN_RESET
        b       call_image
guarded __cairn_set_dir
        mov     w1, CAIRN_DIR_ALL
        b       call_image
guarded mapped_dir
        mov     w1, CAIRN_DIR
        b       call_image
guarded mapped_where
        mov     w1, CAIRN_WHERE
        b       call_image
guarded mapped_lost
        mov     w1, CAIRN_LOST
call_image:
        adrp    x16, image
        ldr     x16, [x16, :lo12:image]
        cbz     x16, 3f
        br      x16
3:      cmp     w1, 0
        csetm   w0, ne
        ret

/* The image returns how many bytes to unmap. */
guarded mapped_finish
        adrp    x16, image
        ldr     x16, [x16, :lo12:image]
        stp     x16, x30, [sp, -16]!
        mov     w1, CAIRN_FINISH
        bl      call_image
        mov     w1, w0
        ldp     x0, x30, [sp], 16
        cmp     w1, 0
        b.le    4f
        adrp    x16, image
        str     xzr, [x16, :lo12:image]
        mov     x8, 215                 // munmap
        svc     0
4:      ret

#include "mapped_tables.h"
