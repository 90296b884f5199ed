/* events.c - a program that logs data of its own: custom events, and typed ones
 * if TYPED is 1. Typed events make the runtime cut 16 bytes for each off the
 * end of the block, so the last that is called is padding() and not counted. */
#include <stddef.h>

#include "truth.h"

#ifndef TYPED
#define TYPED 0
#endif

unsigned short __xray_register_event_type(const char *);

SEEN static void custom(int i) {
  CALLED();
  char text[32];
  int n = snprintf(text, sizeof text, "event %d", i);
  __xray_customevent(text, n);
  printf("event custom %s\n", text);
}

/* The three parameters are those of the event, which keeps the stack aligned. */
SEEN static void typed(size_t type, const void *p, size_t n) {
  CALLED();
#if TYPED
  __xray_typedevent(type, (const char *)p, n);
  printf("event typed %zu %.*s\n", type, (int)n, (const char *)p);
#endif
}

SEEN static void quote(void) {
  CALLED();
  static const char odd[] = "a\"b\\c\x01\xff";
  __xray_customevent(odd, 7);
  printf("event custom %s\n", odd);
}

SEEN static void padding(void) { sink = sink + 1; }

/* It has an odd length: the cut is in the middle of a record. */
SEEN static void last(void) { __xray_customevent("12345", 5); }

SEEN static void work(void) {
  CALLED();
  for (int i = 0; i < 3; i++) custom(i);
  quote();
}

int main(void) {
  size_t a = 0, b = 0;
#if TYPED
  a = __xray_register_event_type("first kind");
  b = __xray_register_event_type("second kind");
#endif
  work();
  typed(a, "one", 3);
  typed(b, "three", 5);
  typed(a, "seven77", 7);
  puts("stack main;work 1\nstack main;work;custom 3\nstack main;work;quote 1\nstack main;typed 3");
  if (!TYPED) puts("event custom 12345");
  truth();
  for (int i = 0; i < 20; i++) padding();
  last();
  return 0;
}
