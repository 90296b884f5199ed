__asm__(".text\n\t.globl toplevel\n\t.type toplevel, @function\ntoplevel:\n\tret\n\t.size toplevel, .-toplevel\n");
__thread int counter;
extern void (*hook)(void);
__attribute__((naked)) int naked(int n) { __asm__("leal 2(%rdi), %eax\n\tret"); }
__attribute__((section(".text.cairn_skip"))) int skipped(int n) { return n; }
__attribute__((cold)) void cold(void) { hook(); }
int tls(void) { return ++counter; }
int inlined(int n) {
  int out;
  __asm__("cmpl $3, %1\n\tjl 1f\n\tmovl $7, %0\n1:" : "=r"(out) : "r"(n), "0"(0) : "cc");
  return out;
}
int asmgoto(int n) {
  __asm__ goto("testl %0, %0\n\tjs %l1" : : "r"(n) : "cc" : yes);
  return 0;
yes:
  return 1;
}
int computed(const char *p) {
  static void *ops[] = {&&end, &&inc, &&dec};
  int n = 0;
  goto *ops[(int)*p++];
inc: n++; goto *ops[(int)*p++];
dec: n--; goto *ops[(int)*p++];
end: return n;
}
int tail(int n) { return n ? asmgoto(n - 1) : inlined(n); }
void unreachable(void) { __builtin_unreachable(); }
