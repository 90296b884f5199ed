// Calls of libraries that return to a copy without a fault, also where exceptions and
// threads that are cancelled go through them.
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#define OWN __attribute__((noinline))

// Where code is at a fixed address, that of malloc is in the program, for the loader as well.
static void *(*volatile allocates)(size_t) = malloc;

OWN static long allocate(int n) {
  long s = 0;
  free(allocates(1));
  for (int i = 0; i < n; i++) {
    char *p = static_cast<char *>(malloc(20));
    memset(p, i, 20);
    s += memchr(p, i & 255, 20) == p;
    free(p);
  }
  return s;
}

// The exception comes through the function that calls operator new.
OWN static int too_much(size_t n) {
  try {
    return *new (std::nothrow) char() + *new char[n];
  } catch (std::bad_alloc &) {
    return 7;
  }
}

static int cleaned;

OWN static void *waits(void *end) {
  pthread_cleanup_push([](void *) { cleaned++; }, nullptr);
  char c;
  while (read(*static_cast<int *>(end), &c, 1) == 1) {
  }
  pthread_cleanup_pop(0);
  return nullptr;
}

int main() {
  int ends[2];
  pthread_t t;
  void *result;
  printf("%ld\n", allocate(50000));
  printf("%d\n", too_much(static_cast<size_t>(-1) >> 2));
  if (pipe(ends)) return 1;
  pthread_create(&t, nullptr, waits, ends);
  usleep(1000);
  pthread_cancel(t);
  pthread_join(t, &result);
  printf("%d %d\n", cleaned, result == PTHREAD_CANCELED);
  std::string s;
  for (int i = 0; i < 10000; i++) s += std::to_string(i);
  printf("%zu %g\n", s.size(), strtod("2.5", nullptr));
}
