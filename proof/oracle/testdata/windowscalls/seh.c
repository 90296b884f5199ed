// Structured exceptions through frames, and fibers.
#include <stdio.h>
#include <windows.h>

#define KEEP __attribute__((noinline))

volatile int sink;

KEEP void raises(int n) {
  sink++;
  if (n % 2) RaiseException(0xe0000001, 0, 0, NULL);
}

KEEP void faults(int n) {
  if (n % 2) *(volatile int *)NULL = n;
  sink++;
}

KEEP int filter(int code) {
  sink++;
  return code ? EXCEPTION_EXECUTE_HANDLER : EXCEPTION_CONTINUE_SEARCH;
}

KEEP void counted(void) { sink++; }

KEEP void through(int n) {
  __try {
    if (n & 4) faults(n);
    else raises(n);
  } __finally {
    counted();
  }
  sink++;
}

KEEP int handles(int n) {
  int r = 0;
  for (int i = 0; i < n; i++) {
    __try {
      through(i);
      r++;
    } __except (filter(GetExceptionCode())) {
      r += 100;
      counted();
    }
  }
  return r;
}

int main(void) {
  printf("%d\n", handles(16));
  printf("%d\n", sink);
  return 0;
}
