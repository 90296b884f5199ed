int printf(const char *, ...);
int fast(int), native_part(int), hidden_part(int);
static __attribute__((noinline)) int helper(int n) { return n + 1; }
int main(void) {
  printf("%d\n", fast(1) + native_part(2) + hidden_part(3) + helper(4));
  return 0;
}
