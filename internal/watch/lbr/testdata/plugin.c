/* A plug-in with a start and an end of its own, and a function that is chosen. */
#include "modules.h"

#ifndef PADDING
#define PADDING 1
#endif

#ifdef BULK /* a copy that is so large that it is in the way of others, and has to be elsewhere */
__asm__(".text\nbulk:\n.rept 100000\njmp 1f\n1:\n.endr\nret\n");
#endif

static int loads;
static char padding[PADDING];

static int inner(int x) { return x & 1 ? library_step(x) : loads + padding[x % PADDING]; }
static int (*choose(void))(int) { return inner; }
int plugin_chosen(int x) __attribute__((ifunc("choose")));

int plugin(int (*f)(int), int x) {
  int s = plugin_chosen(x);
  for (int i = 0; i < 3; i++) s += f(x + i + loads);
  return library_tail(f, s & 63);
}

__attribute__((constructor)) static void begin(void) {
  for (int i = 0; i < 5; i++) loads += library_step(i);
}
__attribute__((destructor)) static void end(void) { library_step(loads & 3); }
