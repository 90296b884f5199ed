#include "shared.h"

int unused(int x) { return x * 7; }
int other(int x) { return shared(x + 5); }
