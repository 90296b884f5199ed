int add(int a, int b) { return a + b; }
int halve(int n) {
  if (n % 2 != 0)
    return -1;
  return n / 2;
}
