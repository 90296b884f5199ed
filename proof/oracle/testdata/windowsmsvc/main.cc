// Calls of each kind that MSVC's system has: exceptions of C++ and structured ones, threads, thread-local storage, a static library,
// and a DLL that comes and goes.
#include "shared.h"

extern "C" {
__declspec(dllimport) void *LoadLibraryA(const char *);
__declspec(dllimport) int FreeLibrary(void *);
__declspec(dllimport) void *GetProcAddress(void *, const char *);
__declspec(dllimport) void *CreateThread(void *, unsigned long long, unsigned (*)(void *), void *, unsigned, void *);
__declspec(dllimport) unsigned WaitForSingleObject(void *, unsigned);
__declspec(dllimport) void RaiseException(unsigned, unsigned, unsigned, const void *);
}

int other(int);
thread_local int seen = 5;
static int constructed = shared(1);

__declspec(noinline) int neverm(int x) { return x - 1; }

struct Leave {
  int n;
  __declspec(noinline) ~Leave() { printf("left %d\n", n); }
};

__declspec(noinline) int thrower(int x) {
  Leave leave{x};
  if (x > 2) throw x;
  return x;
}

// A function whose frame has many pages.
__declspec(noinline) int deep(int x) {
  volatile char room[20000];
  room[x] = 3;
  room[19999] = 4;
  return room[x] + room[19999];
}

__declspec(noinline) int rethrow(int x) {
  try {
    return thrower(x);
  } catch (int n) {
    if (n == 4) throw;
    return n + 1;
  } catch (...) {
    return -1;
  }
}

__declspec(noinline) int choose(int x) {
  switch (x) {
  case 0: return shared(10);
  case 1: return 7;
  case 2: return shared(20);
  case 3: return deep(3);
  case 4: return seen;
  default: return shared(x);
  }
}

__declspec(noinline) int filter(int code) { return code == 77; }

__declspec(noinline) void raise(int code) { RaiseException(code, 0, 0, 0); }

__declspec(noinline) int handled(int code) {
  int result = 0;
  __try {
    __try {
      raise(code);
    } __finally {
      result += 10;
    }
  } __except (filter(__builtin_bit_cast(int, _exception_code()))) {
    result += 1;
  }
  return result;
}

__declspec(noinline) unsigned worker(void *count) {
  for (int i = 0; i < 1000; i++) seen += shared(i);
  *(int *)count = seen;
  return 0;
}

__declspec(noinline) int library() {
  int sum = 0;
  for (int i = 0; i < 3; i++) {
    void *lib = LoadLibraryA("lib.dll");
    int (*f)(int) = (int (*)(int))GetProcAddress(lib, "dllfn");
    sum += f(i);
    FreeLibrary(lib);
  }
  return sum;
}

int main(int argc, char **) {
  int sum = 0, count = 0;
  void *thread = CreateThread(0, 0, worker, &count, 0, 0);
  WaitForSingleObject(thread, ~0u);
  if (argc > 5) sum += neverm(argc);
  try {
    sum += rethrow(1) + rethrow(3);
    rethrow(4);
  } catch (int n) {
    printf("caught %d\n", n);
  }
  for (int i = 0; i < 6; i++) sum += choose(i);
  printf("%d %d %d %d %d %d\n", sum, count, other(argc), library(), handled(77), constructed);
  return sum & 3;
}
