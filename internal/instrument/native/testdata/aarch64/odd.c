/* What is hard to read in the assembly of AArch64. */
__thread int counter;
extern int (*hook)(int);
int (*const *table)(int);

/* A table of bytes at -Os. */
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
  return 0;
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
  __asm__ goto("cmp %w0, 3\n\tb.lt %l1" : : "r"(n) : "cc" : less);
  return n;
less:
  return counter += n;
}

/* Tail calls: of a pointer, and one that is conditional. */
int pointer(int n) { return hook(n + 1); }
int maybe(int n) {
  if (n & 8) return pointer(n);
  return 3;
}

/* Values in x16 and x17 over a branch. */
int holds(int n) {
  register long a __asm__("x16") = n, b __asm__("x17") = n + 1;
  __asm__ volatile("" : "+r"(a), "+r"(b));
  if (n > 7) __asm__ volatile("nop");
  __asm__ volatile("" : "+r"(a), "+r"(b));
  return (int)(a + b);
}
