/* Thread-local variables of macOS: code calls the thunk of a variable's descriptor with its address,
 * and gets the address of the variable of this thread. A thread's variables of one program or dylib are
 * in one block, a copy of the sections that hold their first values. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "libsystem.h"

struct descriptor { void *thunk; uint64_t image, offset; };
static struct { char *low, *high; } templates[16];
static __thread char *blocks[16];

__attribute__((used)) static void *variable(struct descriptor *d) {
  if (!blocks[d->image]) {
    size_t n = (size_t)(templates[d->image].high - templates[d->image].low);
    memcpy(blocks[d->image] = aligned_alloc(64, (n + 63) & ~63UL), templates[d->image].low, n);
  }
  return blocks[d->image] + d->offset;
}

/* tlv_thunk keeps all registers but that of the result. */
#if __x86_64__
__asm__(".globl tlv_thunk\ntlv_thunk: push %rbp; mov %rsp,%rbp;"
        "push %rdi; push %rsi; push %rdx; push %rcx; push %r8; push %r9; push %r10; push %r11;"
        "sub $0x240,%rsp; and $-64,%rsp; fxsave64 (%rsp); call variable; fxrstor64 (%rsp); lea -64(%rbp),%rsp;"
        "pop %r11; pop %r10; pop %r9; pop %r8; pop %rcx; pop %rdx; pop %rsi; pop %rdi; pop %rbp; ret\n");
#else
__asm__(".globl tlv_thunk\ntlv_thunk: stp x29,x30,[sp,#-16]!; mov x29,sp;"
        "stp x1,x2,[sp,#-16]!; stp x3,x4,[sp,#-16]!; stp x5,x6,[sp,#-16]!; stp x7,x8,[sp,#-16]!;"
        "stp x9,x10,[sp,#-16]!; stp x11,x12,[sp,#-16]!; stp x13,x14,[sp,#-16]!; stp x15,x18,[sp,#-16]!;"
        "stp q0,q1,[sp,#-32]!; stp q2,q3,[sp,#-32]!; stp q4,q5,[sp,#-32]!; stp q6,q7,[sp,#-32]!; bl variable;"
        "ldp q6,q7,[sp],#32; ldp q4,q5,[sp],#32; ldp q2,q3,[sp],#32; ldp q0,q1,[sp],#32;"
        "ldp x15,x18,[sp],#16; ldp x13,x14,[sp],#16; ldp x11,x12,[sp],#16; ldp x9,x10,[sp],#16;"
        "ldp x7,x8,[sp],#16; ldp x5,x6,[sp],#16; ldp x3,x4,[sp],#16; ldp x1,x2,[sp],#16; ldp x29,x30,[sp],#16; ret\n");
#endif

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
void tlv_atexit(void (*f)(void *), void *object) { __cxa_thread_atexit_impl(f, object, templates); }

void tlv_section(int image, int kind, char *at, uint64_t size) {
  enum { VALUES = 0x11, ZEROS, DESCRIPTORS };
  if (kind == VALUES || kind == ZEROS) {
    if (!templates[image].low || at < templates[image].low) templates[image].low = at;
    if (at + size > templates[image].high) templates[image].high = at + size;
  }
  if (kind == DESCRIPTORS)
    for (struct descriptor *d = (void *)at; (char *)d < at + size; d++) d->image = (uint64_t)image;
}
