/* What is hard to read in the assembly of Armv7. */
__thread int counter;
extern int (*hook)(int);

/* A table of bytes in the text, and cbz. */
int pick(int n, int m) {
  switch (n) {
  case 0: return m + 1;
  case 1: return m * 3;
  case 2: return 4;
  case 3: return m - 7;
  case 4: return m / 11;
  case 5: return m / 3;
  case 6: return m % 7;
  case 7: return m ^ 99;
  case 9: return m * m;
  }
  return m ? 0 : hook(n);
}

/* Jumps to addresses of labels. */
int threaded(const unsigned char *p) {
  static void *const to[] = {&&add, &&mul, &&end};
  int s = 0;
  goto *to[*p++];
add:
  s++;
  goto *to[*p++];
mul:
  s *= 3;
  goto *to[*p++];
end:
  return s;
}

int jumps(int n) {
  __asm__ goto("cmp %0, #3\n\tblt %l1" : : "r"(n) : "cc" : less);
  return n;
less:
  return counter += n;
}

/* A system call whose registers the assembly does not name. */
int call(int n, int a, int b) {
  register int r7 __asm__("r7") = n, r0 __asm__("r0") = a, r1 __asm__("r1") = b;
  if (n & 4) __asm__ volatile("svc 0" : "+r"(r0) : "r"(r7), "r"(r1) : "memory");
  return r0;
}

/* Literals of the floating-point unit, and an instruction that runs in a condition. */
double scale(double x, int n) {
  double y = x * 3.14159265358979;
  if (n > 3) y += 2.71828182845905;
  return n & 1 ? y : -x;
}

/* Tail calls: of a pointer, and one that is conditional. */
int pointer(int n) { return hook(n + 1); }
int maybe(int n) {
  if (n & 8) return pointer(n);
  return 3;
}

/* All four registers of the arguments, and a nested function, whose frame is in ip. */
int four(int a, int b, int c, int d) { return a * b + c * d; }
#if !__clang__
int nested(int n) {
  int inner(int k) { return k * n; }
  int (*volatile p)(int) = inner;
  return p(3);
}
#endif
