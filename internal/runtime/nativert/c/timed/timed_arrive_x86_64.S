/* __cairn_arrived: an exception or a longjmp arrives in a function with probes. Inserted code calls
 * it at landing pads and after calls that return twice:
 *
 *   leaq  N(%rsp), %r11              stack pointer at the function's entry
 *   call  __cairn_arrived
 *
 * There, as after any call, only %rax, %rdx and the registers that calls preserve are in use. If the
 * function has been running for long, the calls that were left are looked for: their frames are
 * still below the stack pointer. So the memory there is copied before anything is called; the call
 * itself has overwritten one word of it. It is copied to memory that the process has once. */

#include "registers_x86_64.h"

/* As in timed_arrive.c. */
#define PAGES 9
#define PAGE 4096
#define TAKEN 0
#define SAVED 8
#define LOCAL 64
#define REMOTE 256
#define COPY 4096

#define SYS_getpid 39
#define SYS_process_vm_readv 310

        .text
        .globl  __cairn_arrived
        .hidden __cairn_arrived, __cairn_arrive, __cairn_arrival_area, __cairn_arrival_exact, __cairn_arrival_mask, __cairn_arrival_base
        .type   __cairn_arrived, @function
__cairn_arrived:
        .cfi_startproc
        endbr64
        movq    __cairn_arrival_base(%rip), %rcx
        movl    %r11d, %esi
        andl    __cairn_arrival_mask(%rip), %esi
        cmpl    $0, __cairn_arrival_exact(%rip)
        jne     1f
        movl    (%rcx,%rsi), %esi
        subl    -64(%rcx), %esi         /* as at an exit */
        addl    -60(%rcx), %esi
        js      2f
        ret
1:      movq    %rax, %r8
        movq    %rdx, %r9
        rdtsc
        shlq    $32, %rdx
        orq     %rdx, %rax
        subq    (%rcx,%rsi), %rax
        cmpq    -40(%rcx), %rax
        movq    %r8, %rax
        movq    %r9, %rdx
        ja      2f
        ret

2:      movq    __cairn_arrival_area(%rip), %r9
        testq   %r9, %r9
        jz      7f
        movl    $1, %ecx
        xchgl   %ecx, TAKEN(%r9)
        testl   %ecx, %ecx
        jz      3f
7:      ret                             /* another thread does this now */
3:      movq    %rax, SAVED(%r9)
        movq    %rdx, SAVED+8(%r9)
        movq    %r11, SAVED+16(%r9)
        /* The pages below the stack pointer, from the top: the rest of the lowest one may be unmapped. */
        leaq    LOCAL(%r9), %rsi
        leaq    REMOTE(%r9), %r10
        leaq    COPY+PAGES*PAGE(%r9), %rcx
        leaq    8(%rsp), %rdi           /* with the word of the call */
        movq    %rdi, %rax
        andl    $PAGE-1, %eax
        jnz     4f
        movl    $PAGE, %eax
4:      xorl    %edx, %edx
5:      subq    %rax, %rcx
        subq    %rax, %rdi
        movq    %rcx, (%rsi)
        movq    %rax, 8(%rsi)
        movq    %rdi, (%r10)
        movq    %rax, 8(%r10)
        addq    $16, %rsi
        addq    $16, %r10
        movl    $PAGE, %eax
        incl    %edx
        cmpl    $PAGES-1, %edx
        jb      5b
        movl    $SYS_getpid, %eax
        syscall
        movl    %eax, %edi
        leaq    LOCAL(%r9), %rsi
        leaq    REMOTE(%r9), %r10
        movl    $PAGES-1, %edx
        movl    $PAGES-1, %r8d
        xorl    %r9d, %r9d
        movl    $SYS_process_vm_readv, %eax
        syscall
        movq    __cairn_arrival_area(%rip), %r9
        movq    %rax, %rcx              /* bytes that were copied */
        movq    SAVED(%r9), %rax
        movq    SAVED+8(%r9), %rdx
        movq    SAVED+16(%r9), %r11

        SAVE_REGISTERS
        subq    $16, %rsp
        andq    $-16, %rsp
        cld
        movq    8(%rbp), %rdi           /* site */
        movq    %r11, %rsi              /* stack pointer at entry */
        leaq    16(%rbp), %rdx          /* stack pointer in the function */
        movq    (%rbp), %r8             /* its frame pointer */
        call    __cairn_arrive
        movq    __cairn_arrival_area(%rip), %rcx
        movl    $0, TAKEN(%rcx)
        RETURN_REGISTERS
        .cfi_endproc
        .size   __cairn_arrived, . - __cairn_arrived

        PROPERTIES
