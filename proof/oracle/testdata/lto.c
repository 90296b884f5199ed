static __attribute__((noinline)) int inner(int n) {
  volatile int m = n;
  return m < 2 ? m : m * 2;
}

int from_c(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += inner(i);
  return sum;
}
