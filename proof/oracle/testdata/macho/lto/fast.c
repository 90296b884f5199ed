int native_part(int);
static __attribute__((noinline)) int helper(int n) { return n * 3; }
__attribute__((noinline)) int fast(int n) { return helper(n) + native_part(n); }
int unused_in_archive(int n) { return helper(n) - 1; }
