// Calls of many kinds, the same in each run, for Windows and Linux: recursion, tail calls, virtual functions, exceptions and
// longjmp through frames, and threads, of which some are detached and some end one after the other.
#include <atomic>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>
#ifdef _WIN32
#include <windows.h>
#endif

#ifdef __clang__
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noipa))
#endif

static std::atomic<int> sink;

KEEP int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

KEEP int odd(int n);
KEEP int even(int n) { return n == 0 ? 1 : odd(n - 1); }
KEEP int odd(int n) { return n == 0 ? 0 : even(n - 1); }

struct Shape {
  virtual ~Shape() {}
  virtual int area(int n) = 0;
};
struct Square : Shape {
  KEEP int area(int n) override { return n * n + fib(3); }
};
struct Line : Shape {
  KEEP int area(int n) override { return n > 5 ? -1 : fib(n); }
};

KEEP int shapes(int n) {
  Square square;
  Line line;
  Shape *all[] = {&square, &line};
  int sum = 0;
  for (int i = 0; i < n; i++) sum += all[i % 2]->area(i);
  return sum;
}

KEEP void deepest(int n) {
  if (n % 3 == 0) throw std::runtime_error("deep");
  sink += n;
}

KEEP void guard() { sink++; }

struct Guard {
  ~Guard() { guard(); }
};

KEEP void descend(int depth, int n) {
  Guard g;
  if (depth) descend(depth - 1, n);
  else deepest(n);
  sink++;
}

KEEP int catches(int n) {
  int caught = 0;
  for (int i = 0; i < n; i++) {
    try {
      descend(i % 7, i);
      fib(2);
    } catch (std::exception &) {
      caught += fib(4) > 0;
    }
  }
  return caught;
}

KEEP int rethrows(int n) {
  try {
    try {
      descend(n, 3);
    } catch (...) {
      fib(1);
      throw;
    }
  } catch (std::exception &) {
    return fib(5);
  }
  return 0;
}

static thread_local jmp_buf place;

KEEP void leap(int depth) {
  if (depth) leap(depth - 1);
  else longjmp(place, 1);
  sink++;
}

KEEP int lands(int n) {
  volatile int landed = 0, i = 0;
  if (setjmp(place)) landed = landed + 1, fib(3);
  if (i < n) {
    i = i + 1;
    leap(i % 5);
  }
  return landed;
}

KEEP int work(int n) { return fib(n) + even(n) + shapes(n) + catches(n) + rethrows(n % 4) + lands(n); }

KEEP void briefly(int n) { sink += fib(n % 6); }

int main() {
  int sum = work(12);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) threads.emplace_back([i] { sink += work(8 + i); });
  for (auto &t : threads) t.join();
  static std::atomic<int> done;
  for (int i = 0; i < 3; i++)
    std::thread([] {
      sink += work(7);
      done++;
    }).detach();
  while (done < 3) std::this_thread::yield();
  for (int i = 0; i < 300; i++) std::thread(briefly, i).join();
  printf("%d %d\n", sum, sink.load());
#ifdef _WIN32
  fflush(stdout);
  if (getenv("TERMINATE")) TerminateProcess(GetCurrentProcess(), 9);
  if (getenv("FAULT")) *(volatile int *)16 = 1;
  if (getenv("ABORT")) abort();
#endif
  return 0;
}
