// A program with calls, tail calls, virtual calls, inlined code, exceptions and a
// jump table.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

struct Shape {
  virtual ~Shape() = default;
  virtual long area(long scale) const = 0;
};

struct Square : Shape {
  long side;
  explicit Square(long s) : side(s) {}
  long area(long scale) const override { return side * side * scale; }
};

struct Pair : Shape {
  const Shape &a, &b;
  Pair(const Shape &x, const Shape &y) : a(x), b(y) {}
  __attribute__((noinline)) long area(long scale) const override { return a.area(scale) + b.area(scale); }
};

static volatile long sink;

__attribute__((noinline)) static long leaf(long x) {
  for (int i = 0; i < 4; i++) sink += x + i;
  return sink;
}
__attribute__((noinline)) static long tail(long x) { return leaf(x + 1); }
static inline long add(long x) { return x & 1 ? sink + x : sink - x; }

__attribute__((noinline)) static long choose(int k, long x) {
  switch (k) {
  case 0: return tail(x);
  case 1: return leaf(x) + 1;
  case 2: return add(x) * 3;
  case 3: sink = x; return add(sink);
  case 4: return x * x;
  case 5: return leaf(x ^ 5);
  default: throw std::runtime_error("no such case");
  }
}

int main(int argc, char **argv) {
  long n = argc > 1 ? std::atol(argv[1]) : 10, sum = 0;
  std::vector<std::string> names;
  Square s(3), t(4);
  Pair p(s, t);
  const Shape *shapes[] = {&s, &p, &t};
  for (long i = 0; i < n; i++) {
    try {
      sum += choose(int(i % 7), i) + add(i) + shapes[i % 3]->area(i);
    } catch (const std::exception &e) {
      names.emplace_back(e.what());
    }
  }
  std::printf("%ld %zu\n", sum, names.size());
}
