/* A shared library with calls of its own, that call back. */
#include "timed.h"

void BODY(library_spike)(uint64_t ns) {
  uint64_t until = now() + ns;
  while (now() < until) {
  }
}
void library_spike(uint64_t ns);
TIMED(library_spike);

void BODY(library_call)(void (*f)(uint64_t), uint64_t ns) { f(ns); }
void library_call(void (*f)(uint64_t), uint64_t ns);
TIMED(library_call);
