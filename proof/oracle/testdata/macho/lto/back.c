__attribute__((noinline)) int called_back(int n) { return n - 1; }
