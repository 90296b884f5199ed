/* The program of marks, with headers of Linux: cairn.h is that for Apple's systems. */
#define __APPLE__ 1
#include "cairn.h"
#undef __APPLE__
#include "../../../../internal/runtime/nativert/testdata/timed/marks.c"
