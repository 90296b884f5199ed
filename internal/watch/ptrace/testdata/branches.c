/* Branches of every kind and form, and what interrupts them. It is compiled without a
 * red zone: the assembly pushes. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWN __attribute__((noinline))

static int total;
static sigjmp_buf back;

OWN void on_signal(int number) { total += number; }
OWN void on_fault(int number) {
  total += number;
  siglongjmp(back, 1);
}

#define CONDITION(name) \
  __asm__ volatile("push %1\n popf\n j" name " 1f\n inc %0\n 1: add $2, %0" : "+r"(sum) : "r"(flags) : "cc")

/* conditions tries all with the flags that a number gives. */
OWN void conditions(unsigned n) {
  unsigned long flags = 0x202 | (n & 1) | (n >> 1 & 1) << 2 | (n >> 2 & 1) << 6 | (n >> 3 & 1) << 7 | (n >> 4 & 1) << 11;
  int sum = 0;
  CONDITION("o"); CONDITION("no"); CONDITION("b"); CONDITION("ae"); CONDITION("e"); CONDITION("ne");
  CONDITION("be"); CONDITION("a"); CONDITION("s"); CONDITION("ns"); CONDITION("p"); CONDITION("np");
  CONDITION("l"); CONDITION("ge"); CONDITION("le"); CONDITION("g");
  total += sum;
}

OWN void loops(unsigned long n) {
  unsigned long c = n, s = 0;
  __asm__ volatile("jrcxz 2f\n 1: inc %1\n loop 1b\n 2:" : "+c"(c), "+r"(s) : : "cc");
  c = n;
  __asm__ volatile("1: inc %1\n cmp $2, %1\n loopne 1b" : "+c"(c), "+r"(s) : : "cc");
  c = n | 1;
  __asm__ volatile("1: inc %1\n cmp %1, %1\n loope 1b" : "+c"(c), "+r"(s) : : "cc");
  c = 0xffffffff00000000ul | n;
  __asm__ volatile("jecxz 2f\n 1: inc %1\n addr32 loop 1b\n 2:" : "+c"(c), "+r"(s) : : "cc");
  total += (int)s;
}

__thread void *slot;

/* forms calls and jumps through registers and memory, with and without an index, in the
 * thread's memory, and returns that take more off the stack. */
OWN void forms(unsigned long k) {
  void *table[4];
  __asm__ volatile(
      "lea 10f(%%rip), %%rax\n mov %%rax, (%0)\n mov %%rax, 8(%0)\n mov %%rax, 16(%0)\n mov %%rax, 24(%0)\n"
      "mov %%rax, %%fs:slot@tpoff\n"
      "call *(%0)\n call *8(%0)\n call *(%0,%1,8)\n call *%%rax\n call *%%fs:slot@tpoff\n"
      "mov %%rax, %%r13\n call *%%r13\n mov %0, %%r12\n call *16(%%r12)\n mov %1, %%r14\n call *-8(%%r12,%%r14,8)\n"
      "push $1\n push $2\n call 11f\n"
      "lea 20f(%%rip), %%rax\n jmp *%%rax\n ud2\n"
      "10: ret\n"
      "11: ret $16\n"
      "20:\n"
      : : "r"(table), "r"(k) : "rax", "r12", "r13", "r14", "memory", "cc");
  total += (int)k;
}

OWN int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

OWN void interrupted(void) {
  signal(SIGUSR1, on_signal);
  signal(SIGSEGV, on_fault);
  for (int i = 0; i < 3; i++) {
    raise(SIGUSR1);
    if (!sigsetjmp(back, 1)) *(volatile int *)8 = i;
    void (*volatile nowhere)(void) = (void (*)(void))16;
    if (!sigsetjmp(back, 1)) nowhere();
  }
  signal(SIGUSR1, SIG_IGN);
  raise(SIGUSR1);
  raise(SIGCHLD);
}

/* trapped has a handler run with the signal of breakpoints blocked. */
OWN void trapped(void) {
  signal(SIGTRAP, on_signal);
  raise(SIGTRAP);
  raise(SIGTRAP);
}

int main(int argc, char **argv) {
  (void)argv;
  int v[7];
  for (unsigned i = 0; i < 32; i++) conditions(i);
  for (unsigned long i = 0; i < 4; i++) loops(i), forms(1 + i % 3);
  for (int i = 0; i < 7; i++) v[i] = i * 5 % 7;
  qsort(v, 7, sizeof *v, compare);
  interrupted();
  if (argc > 1) trapped();
  printf("%d %d\n", total, v[3]);
  return total & 63;
}
