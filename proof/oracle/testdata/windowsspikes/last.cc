// The main thread ends before another one, whose exit code is that of the process; and an exception does not change the
// number of the last error.
#include <cstdio>
#include <windows.h>

__attribute__((noinline)) static void thrower(int n) {
  SetLastError(1234);
  throw n;
}

static DWORD WINAPI work(void *mains) {
  WaitForSingleObject(mains, INFINITE);
  puts("alone");
  fflush(stdout);
  return 7;
}

int main() {
  for (int i = 0; i < 2; i++) // the first one allocates
    try {
      thrower(i);
    } catch (int n) {
      if (DWORD error = GetLastError(); n) printf("%lu\n", error);
    }
  fflush(stdout);
  HANDLE mains;
  DuplicateHandle(GetCurrentProcess(), GetCurrentThread(), GetCurrentProcess(), &mains, 0, FALSE, DUPLICATE_SAME_ACCESS);
  CreateThread(nullptr, 0, work, mains, 0, nullptr);
  ExitThread(3);
}
