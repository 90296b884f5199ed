// A thread that waits on another stack than that which its block describes, as when it is looked at while it goes from one to the
// other: the base that the block has is behind the end of the memory of the stack.
#include <stdio.h>
#include <windows.h>

enum { ROOM = 1 << 20, COMMITTED = 32768, BASE = 1, LIMIT = 2 };
static volatile int sum;

__attribute__((noinline, used)) void on_other(int ms) {
  sum += ms;
  Sleep(ms);
  sum += ms;
}

int main(void) {
  char *stack = VirtualAlloc(0, ROOM, MEM_RESERVE, PAGE_READWRITE);
  if (!VirtualAlloc(stack, COMMITTED, MEM_COMMIT, PAGE_READWRITE)) return 1;
  void **block = (void **)NtCurrentTeb(), *base = block[BASE], *limit = block[LIMIT];
  block[LIMIT] = stack, block[BASE] = stack + ROOM;
  __asm__ volatile("movq %%rsp, %%rbx\n\tmovq %0, %%rsp\n\tmovl $300, %%ecx\n\tcall on_other\n\tmovq %%rbx, %%rsp" ::"r"(stack + COMMITTED - 4096)
                   : "rbx", "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5");
  block[BASE] = base, block[LIMIT] = limit;
  puts(sum == 600 ? "ends" : "no");
  return 0;
}
