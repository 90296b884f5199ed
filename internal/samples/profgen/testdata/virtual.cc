// A C++ program with virtual calls, templates that are inlined, exceptions and
// containers.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Node {
  virtual ~Node() = default;
  virtual long eval(long x) const = 0;
};

struct Const : Node {
  long value;
  explicit Const(long v) : value(v) {}
  long eval(long x) const override { return value + x; }
};

struct Sum : Node {
  std::vector<std::unique_ptr<Node>> parts;
  long eval(long x) const override {
    long s = 0;
    for (const auto &p : parts) s += p->eval(x + 1);
    return s;
  }
};

struct Forward : Node {
  std::unique_ptr<Node> to;
  long eval(long x) const override { return to->eval(x * 2); } // a virtual tail call
};

struct Checked : Node {
  std::unique_ptr<Node> inner;
  long eval(long x) const override {
    long v = inner->eval(x);
    if (v % 7 == 3) throw std::range_error("three");
    return v;
  }
};

std::unique_ptr<Node> make(int depth) {
  if (depth == 0) return std::make_unique<Const>(5);
  if (depth % 3 == 1) {
    auto f = std::make_unique<Forward>();
    f->to = make(depth - 1);
    return f;
  }
  if (depth % 3 == 2) {
    auto c = std::make_unique<Checked>();
    c->inner = make(depth - 1);
    return c;
  }
  auto s = std::make_unique<Sum>();
  for (int i = 0; i < 3; i++) s->parts.push_back(make(depth - 1));
  return s;
}

template <class T> __attribute__((noinline)) T middle(std::vector<T> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

} // namespace

int main(int argc, char **argv) {
  int n = argc > 1 ? std::atoi(argv[1]) : 20;
  auto tree = make(5);
  if (argc > 2) __builtin_debugtrap(); // the recorder begins here
  std::map<long, int> seen;
  long sum = 0, failed = 0;
  for (int i = 0; i < n; i++) {
    try {
      sum += tree->eval(i);
    } catch (const std::exception &) {
      failed++;
    }
    seen[sum % 13]++;
    sum += middle(std::vector<long>{sum % 5, i, 3, sum % 11, 7});
  }
  std::printf("%ld %ld %zu\n", sum, failed, seen.size());
}
