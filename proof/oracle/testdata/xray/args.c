/* args.c - calls whose first argument is logged. */
#include "truth.h"

__attribute__((xray_log_args(1))) SEEN static void with_arg(long n) {
  CALLED();
  printf("arg with_arg %ld\n", n);
}

__attribute__((xray_log_args(1))) SEEN static void with_pointer(const char *text) {
  CALLED();
  printf("arg with_pointer %lu\n", (unsigned long)text);
}

SEEN static void without(long n) {
  CALLED();
  sink = sink + n;
  with_arg(n * 10);
}

/* Not a constant, which the compiler would not pass. */
static const char *volatile text = "text";

int main(void) {
  CALLED();
  with_arg(1000);
  with_arg(-1);
  with_arg(1L << 62);
  for (long i = 1; i <= 5; i++) without(i);
  with_pointer(text);
  puts("stack main;with_arg 3\nstack main;without 5\nstack main;without;with_arg 5\nstack main;with_pointer 1");
  return truth();
}
