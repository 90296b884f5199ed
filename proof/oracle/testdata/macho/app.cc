/* With lib.cc: a program whose two files share an inline function, have a static function of
 * one name each, and functions that nothing needs. */
extern "C" int printf(const char *, ...);

#include "shared.h"

__attribute__((noinline)) static int init(int x) { return x + three; }
__attribute__((noinline)) int unused(int x) { return x * three; }
__attribute__((noinline)) int last(int x) { return x - three; }

int main(int argc, char **argv) {
  int sum = init(argc);
  sum += from_lib(sum);
  sum += common(sum);
  sum += box<int>(sum).open();
  printf("%d\n", last(sum));
  return 0;
}
