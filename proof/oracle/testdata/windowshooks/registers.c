/* Hooks keep all registers, when they do little and when they judge a call, in the first call of a thread too. */
#include <stdio.h>
#include <string.h>
#include <windows.h>

struct registers {
  unsigned long long general[15], flags, stack[8], unused[8];
  unsigned char saved[1024];
};
_Alignas(64) struct registers regs_in, regs_out;
int regs_aligned;
typedef void hooked(void);
void check(hooked *hook);
void _penter(void), _pexit(void), __fentry__(void), __cyg_profile_func_enter(void *, void *), __cyg_profile_func_exit(void *, void *);

enum { FLAGS = 0xcd5 }; /* overflow, direction, sign, zero, adjust, parity, carry */
static unsigned long long state = 88172645463325252ull;
static int wrong, checks;

static unsigned long long next(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

/* fill sets all registers to numbers; the first and the third argument of a hook must remain the same from enter to exit. */
static void fill(void) {
  unsigned long long rcx = regs_in.general[2], rdx = regs_in.general[3];
  for (int i = 0; i < 15; i++) regs_in.general[i] = next();
  for (int i = 0; i < 8; i++) regs_in.stack[i] = next();
  if (rcx) regs_in.general[2] = rcx, regs_in.general[3] = rdx;
  regs_in.flags = 0x202 | (next() & FLAGS);
  for (int i = 160; i < 832; i++) /* xmm, and the upper halves of ymm */
    if (i < 416 || i >= 576) regs_in.saved[i] = (unsigned char)next();
  *(unsigned short *)regs_in.saved = 0x27f; /* x87: double precision */
  *(unsigned *)(regs_in.saved + 24) = 0x9f80 | (unsigned)(next() & 0x6000); /* mxcsr: rounding, and flush to zero */
  *(unsigned long long *)(regs_in.saved + 512) = 7;
}

static void one(const char *name, hooked *hook) {
  fill();
  regs_aligned = (int)(next() & 1);
  SetLastError(1234);
  check(hook);
  regs_out.flags &= ~0x10200ull, regs_in.flags &= ~0x10200ull;
  checks++;
  if (memcmp(&regs_in, &regs_out, 192) || memcmp(regs_in.saved, regs_out.saved, 28) || memcmp(regs_in.saved + 160, regs_out.saved + 160, 256) ||
      memcmp(regs_in.saved + 576, regs_out.saved + 576, 256) || GetLastError() != 1234)
    wrong++, printf("%s changes a register\n", name);
}

static unsigned __stdcall all(void *unused) {
  (void)unused;
  for (int i = 0; i < 40; i++) {
    int ms = i % 8 == 7 ? 20 : 0;
    one("_penter", _penter);
    Sleep(ms);
    one("_pexit", _pexit);
    one("__cyg_profile_func_enter", (hooked *)__cyg_profile_func_enter);
    Sleep(ms);
    one("__cyg_profile_func_exit", (hooked *)__cyg_profile_func_exit);
    one("__fentry__", __fentry__);
    Sleep(ms);
  }
  return 0;
}

int main(void) {
  all(0);
  HANDLE t = CreateThread(0, 0, (LPTHREAD_START_ROUTINE)all, 0, 0, 0);
  WaitForSingleObject(t, INFINITE);
  printf("%d of %d\n", wrong, checks);
  return wrong != 0;
}
