#ifndef SETJMP_H
#define SETJMP_H
typedef long jmp_buf[64]; /* as large as that of any C library */
int setjmp(jmp_buf) __asm__("__setjmp") __attribute__((returns_twice));
void longjmp(jmp_buf, int) __attribute__((noreturn));
#endif
