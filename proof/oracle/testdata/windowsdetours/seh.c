/* Structured exceptions through calls: handlers, filters, __finally, and faults in the first bytes of a function. */
#include <stdio.h>
#include <windows.h>
#define NI __attribute__((noinline))

NI int fault(int *p) { return *p; }
NI int leaf(int n) { return fault(n == 2 ? 0 : &n) + 1; }
static int finals;
NI int middle(int n) {
  int r = 0;
  __try {
    r = leaf(n);
  } __finally {
    finals++;
  }
  return r + 1;
}
NI int filter(int code, int n) { return code == EXCEPTION_ACCESS_VIOLATION && n == 2 ? EXCEPTION_EXECUTE_HANDLER : EXCEPTION_CONTINUE_SEARCH; }
NI int guard(int n) {
  __try {
    return middle(n);
  } __except (filter(GetExceptionCode(), n)) {
    return -n;
  }
}
NI int deep(int n) { return n ? deep(n - 1) + 1 : guard(2); }
NI int raise(int n) {
  if (n == 1) RaiseException(0xe0000001, 0, 0, 0);
  return n;
}
NI int goes_on(int n) {
  __try {
    return raise(n);
  } __except (EXCEPTION_CONTINUE_EXECUTION) {
    return -1;
  }
}
NI int twice(int n) {
  __try {
    __try {
      return leaf(n);
    } __except (EXCEPTION_CONTINUE_SEARCH) {
      return 5;
    }
  } __except (EXCEPTION_EXECUTE_HANDLER) {
    return 6;
  }
}
int main(void) {
  long s = 0;
  for (int i = 0; i < 1000; i++) s += guard(i % 4) + goes_on(i % 3) + twice(i % 4);
  printf("%ld %d %d\n", s, deep(50), finals);
  return 3;
}
