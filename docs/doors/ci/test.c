#include <assert.h>
int add(int a, int b);
int halve(int n);
int main(void) {
  assert(add(2, 3) == 5);
  assert(halve(8) == 4);
  return 0;
}
