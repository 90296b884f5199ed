/* Code that is linked into a module whose runtime is a file. It maps the file, a flat image of
 * machine code, and calls its first byte. Without the file, the program runs uninstrumented. The
 * image is rt.c compiled with CAIRN_MAPPED; see rt_mapped.h for its calls.
 *
 * Each module maps its own copy, followed by memory for its variables, so that the runtime works as
 * if it were linked in. This needs no C library.
 *
 * Anybody who may write the file can run code in the program, as with any shared object. No
 * environment variable selects another file.
 *
 * A file that was cut is not mapped, as a page behind its end would end the program by SIGBUS: one
 * of another size, or that cannot be mapped, gets a line. */

#include "machine.h"
#include "wire.h"
#define IMAGE_ROOM 0x10000
#include "rt_mapped.h"

        .text
/* mapped_start(argc, argv, envp) */
mapped_start:
        endbr64
        pushq   %rdx
        leaq    file(%rip), %rdi
        movl    $02000000, %esi         /* O_RDONLY | O_CLOEXEC */
        pushq   $2                      /* open */
        popq    %rax
        syscall
        testl   %eax, %eax
        js      2f
        xchgl   %eax, %r8d
        movl    %r8d, %edi
        xorl    %esi, %esi
        pushq   $2                      /* SEEK_END */
        popq    %rdx
        pushq   $8                      /* lseek */
        popq    %rax
        syscall
        subq    $CAIRN_RUNTIME_SIZE, %rax
        negq    %rax
        sbbq    %rax, %rax              /* 0 or an error */
        jnz     1f
        xorl    %edi, %edi
        movl    $CAIRN_IMAGE_ROOM, %esi
        pushq   $5                      /* PROT_READ | PROT_EXEC */
        popq    %rdx
        pushq   $2                      /* private */
        popq    %r10
        xorl    %r9d, %r9d
        pushq   $9                      /* mmap */
        popq    %rax
        syscall
1:      pushq   %rax
        movl    %r8d, %edi
        pushq   $3                      /* close */
        popq    %rax
        syscall
        popq    %rax
        testq   %rax, %rax
        js      5f
        leaq    table(%rip), %rdi
        pushq   $CAIRN_START
        popq    %rsi
        movq    (%rsp), %rdx
        movq    __ehdr_start@GOTPCREL(%rip), %rcx
        movq    __cairn_order_table@GOTPCREL(%rip), %r8
        movq    __dso_handle@GOTPCREL(%rip), %r9
        call    *%rax
        movq    %rax, image(%rip)
2:      popq    %rdx
        ret
5:      popq    %rdx
        leaq    failure(%rip), %rsi
        pushq   $sizeof_failure
        popq    %rdx
        call    6f
        leaq    file(%rip), %rsi
        movl    $failure - file - 1, %edx
        call    6f
        leaq    failure + sizeof_failure(%rip), %rsi
        pushq   $1
        popq    %rdx
6:      pushq   $1                      /* write */
        popq    %rax
        pushq   $2
        popq    %rdi
        syscall
        ret

/* Calls of the image: rdi is passed on, rsi is the number of the call. Without an image all calls
 * return -1, except CAIRN_LOST, which returns 0: not handled. */
        .globl  __cairn_dump, __cairn_reset, __cairn_set_dir
        .hidden __cairn_dump, __cairn_reset, __cairn_set_dir
__cairn_set_dir:
        pushq   $CAIRN_DIR_ALL
        jmp     1f
__cairn_dump:
        pushq   $CAIRN_DUMP_ALL
        jmp     1f
__cairn_reset:
        pushq   $CAIRN_RESET_ALL
        jmp     1f
mapped_dump:
        endbr64
        pushq   $CAIRN_DUMP
        jmp     1f
mapped_reset:
        endbr64
        pushq   $CAIRN_RESET
        jmp     1f
mapped_dir:
        endbr64
        pushq   $CAIRN_DIR
        jmp     1f
mapped_where:
        endbr64
        pushq   $CAIRN_WHERE
        jmp     1f
mapped_lost:
        endbr64
        pushq   $CAIRN_LOST
1:      popq    %rsi
call_image:
        movq    image(%rip), %rax
        testq   %rax, %rax
        jz      3f
        jmp     *%rax
3:      negl    %esi
        sbbl    %eax, %eax
        ret

/* The image returns how many bytes to unmap. */
mapped_finish:
        endbr64
        pushq   $CAIRN_FINISH
        popq    %rsi
        pushq   image(%rip)
        call    call_image
        popq    %rdi
        testl   %eax, %eax
        jle     4f
        xchgl   %eax, %esi
        andq    $0, image(%rip)
        pushq   $11                     /* munmap */
        popq    %rax
        syscall
4:      ret

#include "mapped_tables.h"
