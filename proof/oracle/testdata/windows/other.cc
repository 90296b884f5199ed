#include "shared.h"

int unused(int x) { return x * 7; }
__attribute__((noinline)) int other(int x) { return shared(x + 5); }
