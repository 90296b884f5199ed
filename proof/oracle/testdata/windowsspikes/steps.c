// The program runs its own functions an instruction at a time. At each, the stack that Windows' unwinder finds is compared
// with the calls that were seen.
#include <stdio.h>
#include <string.h>
#include <windows.h>

#define KEEP __attribute__((noinline))

enum { DEPTH = 256 };
static DWORD64 calls[DEPTH]; // return addresses
static int depth, stepping, was_call, was_return;
static unsigned steps, wrong;
static DWORD64 image, end;
static volatile int sink;

DWORD64 real_return;
void resume(void);
// Functions of DLLs run at full speed, and return to this: it goes on an instruction at a time at the real return address.
__asm__(".text\n.globl resume\nresume:\n\tpushq real_return(%rip)\n\tpushfq\n\torq $0x100, (%rsp)\n\tpopfq\n\tret\n");

static void check(const CONTEXT *at) {
  CONTEXT c = *at;
  steps++;
  for (int i = depth; i-- > 0;) {
    DWORD64 base, frame;
    void *data;
    RUNTIME_FUNCTION *f = RtlLookupFunctionEntry(c.Rip, &base, 0);
    if (f) RtlVirtualUnwind(0, base, c.Rip, f, &c, &data, &frame, 0);
    else c.Rip = *(DWORD64 *)c.Rsp, c.Rsp += 8;
    if (c.Rip == calls[i]) continue;
    if (wrong++ < 10) printf("at %llx caller %d is %llx, not %llx\n", at->Rip - image, depth - i, c.Rip - image, calls[i] - image);
    return;
  }
}

static LONG CALLBACK handler(EXCEPTION_POINTERS *x) {
  CONTEXT *c = x->ContextRecord;
  if (x->ExceptionRecord->ExceptionCode != EXCEPTION_SINGLE_STEP) return EXCEPTION_CONTINUE_SEARCH;
  if (was_call && depth < DEPTH) calls[depth++] = *(DWORD64 *)c->Rsp;
  if (was_return && depth) depth--;
  was_call = was_return = 0;
  if (!stepping) return EXCEPTION_CONTINUE_EXECUTION;
  if (c->Rip < image || c->Rip >= end) {
    depth--;
    real_return = *(DWORD64 *)c->Rsp;
    *(DWORD64 *)c->Rsp = (DWORD64)resume;
    c->EFlags &= ~0x100u;
    return EXCEPTION_CONTINUE_EXECUTION;
  }
  const unsigned char *p = (const unsigned char *)c->Rip;
  check(c);
  if ((*p & 0xf0) == 0x40) p++;
  was_call = *p == 0xe8 || (*p == 0xff && (p[1] & 0x38) == 0x10);
  was_return = *p == 0xc3 || (*p == 0xf3 && p[1] == 0xc3);
  c->EFlags |= 0x100;
  return EXCEPTION_CONTINUE_EXECUTION;
}

KEEP static int leaf(int a) { return a * 3; }

KEEP static int loop(int a, int b) {
  int s = 0;
  for (int i = 0; i < 3; i++) s += leaf(a + i) ^ b;
  return s;
}

KEEP static int early(int a) {
  if (a < 0) return 7;
  int s = 0;
  for (int i = 0; i < 2; i++) s += loop(i, a);
  return s;
}

KEEP static int tail(int a) {
  for (int i = 0; i < 2; i++) sink += loop(i, a);
  return loop(a, sink);
}

KEEP static double vectors(double x) {
  double s = 0;
  for (int i = 0; i < 3; i++) s += x * loop(i, i);
  return s;
}

KEEP static int grows(int n) {
  char *p = __builtin_alloca(n);
  for (int i = 0; i < n; i++) ((volatile char *)p)[i] = (char)i;
  return loop(p[0], n);
}

KEEP static int select_one(int n) {
  switch (n) {
    case 0: return loop(1, 2);
    case 1: return loop(2, 3) + 1;
    case 2: return loop(3, 4) * 2;
    case 3: return loop(1, 9) - 1;
    case 4: return loop(1, 8) / 3;
  }
  return 0;
}

KEEP static int deep(int n) { return n ? deep(n - 1) + loop(n, n) : 0; }

KEEP static int all(void) {
  int s = early(-1) + early(5) + tail(3) + (int)vectors(1.5) + grows(40) + deep(5);
  for (int i = 0; i < 6; i++) s += select_one(i);
  return s;
}

int main(void) {
  const IMAGE_NT_HEADERS *h;
  image = (DWORD64)GetModuleHandleW(0);
  h = (const void *)(image + ((const IMAGE_DOS_HEADER *)image)->e_lfanew);
  end = image + h->OptionalHeader.SizeOfImage;
  AddVectoredExceptionHandler(0, handler);
  int want = all();
  sink = 0;
  stepping = 1;
  __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" : : : "memory", "cc");
  int got = all();
  stepping = 0;
  printf("%d of %u wrong, result %s\n", wrong, steps, got == want ? "right" : "wrong");
  return steps < 500 || got != want;
}
