// Exceptions that pass frames of several sizes, and variables of a thread.
extern "C" {
#include <stdio.h>
#include <string.h>
}

struct note {
  const char *text;
  ~note() { printf("leaves %s\n", text); }
};
struct counter {
  int n = 40;
  ~counter() { printf("ends at %d\n", n); }
};
static thread_local counter caught;
static __thread int thrown;

__attribute__((noinline)) void thrower(int x) {
  if (x > 2) {
    thrown++;
    throw x;
  }
}

// big has more than 2 KiB of variables, and uses all registers that a callee keeps.
__attribute__((noinline)) int big(int x, char c, int *a, int *b, int *d) {
  char room[3000];
  memset(room, c, sizeof room);
  asm volatile("" ::"r"(room) : "memory");
  note n{"big"};
  thrower(x);
  int sum = 0;
  for (unsigned i = 0; i < sizeof room; i += 100) sum += room[i] + a[i % 3] * b[i % 2] - *d;
  return sum;
}

__attribute__((noinline)) int small(int x) {
  char room[300];
  int a[3] = {x, 2, 3}, b[2] = {x, 5};
  note n{"small"};
  memset(room, x, sizeof room);
  asm volatile("" ::"r"(room) : "memory");
  return big(x, (char)x, a, b, &x) + room[x];
}

int main() {
  for (int i = 0; i < 5; i++) {
    try {
      printf("%d\n", small(i));
    } catch (int e) {
      caught.n++;
      printf("caught %d\n", e);
    }
  }
  return thrown == 2 ? 0 : 1;
}
