__attribute__((noinline)) int hidden_part(int n) { return n * n + 1; }
