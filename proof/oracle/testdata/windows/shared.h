// A function that each file has, and whose copies the linker makes one of.
inline __attribute__((noinline)) int shared(int x) { __asm__ volatile(""); return x > 3 ? x * 2 : x + 1; }
