// A function that each file has, and whose copies the linker makes one of.
inline __declspec(noinline) int shared(int x) { return x > 3 ? x * 2 : x + 1; }
extern "C" int printf(const char *, ...);
