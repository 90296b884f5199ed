/* Has a call that takes long in a handler on an alternate stack, of a signal that interrupts code whose frame pointer is no such: it points
 * to memory that cannot be read. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OWN __attribute__((noinline))
static volatile int sum;
static int ms;

OWN void stall(void) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000l};
  nanosleep(&t, 0);
  sum++;
}
OWN void handler(int sig) {
  stall();
  sum += sig;
}

OWN void strange(char *hole) {
  long pid = getpid();
#if __x86_64__
  long result = SYS_kill;
  __asm__ volatile("movq %%rbp, %%rbx\n\tmovq %1, %%rbp\n\tsyscall\n\tmovq %%rbx, %%rbp" : "+a"(result) : "r"(hole), "D"(pid), "S"(SIGUSR1) : "rbx", "rcx", "r11", "memory");
#else
  register long number __asm__("x8") = 129, first __asm__("x0") = pid, second __asm__("x1") = SIGUSR1;
  __asm__ volatile("mov x9, x29\n\tmov x29, %1\n\tsvc 0\n\tmov x29, x9" : "+r"(first) : "r"(hole), "r"(number), "r"(second) : "x9", "memory");
#endif
  sum += (int)pid;
}

int main(int argc, char **argv) {
  enum { SIZE = 1 << 18 };
  static char m[2 * SIZE] __attribute__((aligned(1 << 16)));
  stack_t other = {.ss_sp = m, .ss_size = SIZE};
  struct sigaction a = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  ms = argc > 1 ? atoi(argv[1]) : 50;
  mprotect(m + SIZE, SIZE, PROT_NONE);
  sigaltstack(&other, 0);
  sigaction(SIGUSR1, &a, 0);
  strange(m + SIZE + SIZE / 2);
  puts("ends");
  return 0;
}
