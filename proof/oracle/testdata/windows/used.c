__declspec(dllexport) __attribute__((noinline)) int used(int x) { return x - 2; }
