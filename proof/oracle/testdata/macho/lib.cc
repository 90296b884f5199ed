#include "shared.h"

volatile int three = 3;
__attribute__((noinline)) static int init(int x) { return x * x + three; }
__attribute__((noinline)) int unused_in_lib(int x) { return x * three; }
int from_lib(int x) { return init(x) + common(x) + box<int>(x).open(); }
