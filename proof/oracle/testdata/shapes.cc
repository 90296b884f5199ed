// What is hard to follow in C++: exceptions through frames that clean up,
// virtual calls and their thunks, templates and lambdas that the standard
// library calls back, and constructors that run before main. It checks its own
// answers.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#define NOINLINE __attribute__((noinline))

static int failures;
#define CHECK(c) ((c) ? (void)0 : (void)(failures++, std::printf("line %d: %s\n", __LINE__, #c)))

// A registry that is filled before main runs and printed after it.
struct Registry {
  std::map<std::string, int> seen;
  void note(const std::string &s) { seen[s]++; }
  ~Registry() {
    for (auto &[name, n] : seen) std::printf("%s %d\n", name.c_str(), n);
  }
};
static Registry registry;
struct AtStart {
  explicit AtStart(const char *name) { registry.note(name); }
};
static AtStart first("first"), second("second");
static const std::vector<int> primes = [] {
  std::vector<int> v;
  for (int i = 2; v.size() < 30; i++)
    if (std::none_of(v.begin(), v.end(), [i](int p) { return i % p == 0; })) v.push_back(i);
  return v;
}();

// Virtual calls, by two bases: the second needs thunks.
struct Shape {
  virtual ~Shape() { registry.note("~Shape"); }
  virtual double area() const = 0;
  virtual std::string name() const { return "shape"; }
};
struct Tagged {
  virtual ~Tagged() = default;
  virtual int tag() const { return 0; }
};
struct Square : Shape, Tagged {
  double side;
  explicit Square(double s) : side(s) {
    if (s < 0) throw std::invalid_argument("negative side");
  }
  double area() const override { return side * side; }
  std::string name() const override { return "square"; }
  int tag() const override { return static_cast<int>(side); }
};
struct Circle final : Shape {
  double r;
  explicit Circle(double r) : r(r) {}
  double area() const override { return 3 * r * r; }
};

static std::unique_ptr<Shape> make(int i) {
  if (i % 5 == 4) return std::make_unique<Square>(-1);
  if (i % 2) return std::make_unique<Circle>(i);
  return std::make_unique<Square>(i);
}

// Exceptions: thrown at a depth, cleaned up on the way, translated, rethrown.
struct Guard {
  int &n;
  explicit Guard(int &n) : n(n) { n++; }
  ~Guard() { n--; }
};
struct Deep : std::runtime_error {
  int depth;
  explicit Deep(int d) : std::runtime_error("deep"), depth(d) {}
};
NOINLINE static int dive(int n, int &open) {
  Guard g(open);
  if (n == 0) throw Deep(open);
  if (n == 100) throw 100;
  return dive(n - 1, open) + 1;
}
NOINLINE static std::string outcome(int n) {
  int open = 0;
  std::string s;
  try {
    try {
      dive(n, open);
    } catch (const Deep &d) {
      if (d.depth > 5) throw std::out_of_range("too deep");
      s = "deep " + std::to_string(d.depth);
      if (d.depth == 3) throw;
    }
  } catch (const std::out_of_range &e) {
    s = e.what();
  } catch (const std::exception &e) {
    s = std::string("any ") + e.what();
  } catch (...) {
    s = "no exception of ours";
  }
  CHECK(open == 0);
  return s;
}
NOINLINE static int no_throw(int n) noexcept {
  try {
    return std::stoi(n % 2 ? "12" : "no number");
  } catch (const std::invalid_argument &) {
    return -1;
  }
}

// Templates: a function for each type, of one name in the source.
template <typename T> NOINLINE T sum_of(const std::vector<T> &v) { return std::accumulate(v.begin(), v.end(), T()); }
template <int N> struct Power {
  NOINLINE static long of(long b) { return b * Power<N - 1>::of(b); }
};
template <> struct Power<0> {
  static long of(long) { return 1; }
};
template <typename... F> struct Overload : F... { using F::operator()...; };
template <typename... F> Overload(F...) -> Overload<F...>;

static std::function<int(int)> adder(int n) {
  static int made = 0; // initialised when first called
  registry.note("adder " + std::to_string(made++ > 2));
  return [n](int m) { return n + m; };
}

static void containers() {
  std::unordered_map<std::string, std::vector<int>> words;
  std::istringstream in("one two three two one two zero");
  int at = 0;
  for (std::string w; in >> w;) words[w].push_back(at++);
  std::vector<std::pair<size_t, std::string>> byCount;
  for (auto &[w, v] : words) byCount.emplace_back(v.size(), w);
  std::sort(byCount.begin(), byCount.end(), [](auto &a, auto &b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  CHECK(byCount.front().second == "two" && byCount.back().second == "zero");
  std::vector<std::variant<int, double, std::string>> mixed{1, 2.5, std::string("x"), 4};
  double total = 0;
  for (auto &v : mixed)
    total += std::visit(Overload{[](int i) { return double(i); }, [](double d) { return d * 2; }, [](const std::string &s) { return double(s.size()); }}, v);
  CHECK(total == 11);
  std::printf("%zu words, total %g\n", words.size(), total);
}

int main() {
  double area = 0;
  int thrown = 0;
  for (int i = 0; i < 20; i++) {
    try {
      auto s = make(i);
      area += s->area();
      registry.note(s->name());
      if (auto *t = dynamic_cast<Tagged *>(s.get())) registry.note("tag " + std::to_string(t->tag() % 3));
    } catch (const std::invalid_argument &) {
      thrown++;
    }
  }
  CHECK(thrown == 4);
  for (int n : {2, 0, 1, 9, 101}) std::printf("%d: %s\n", n, outcome(n).c_str());
  CHECK(no_throw(1) == 12 && no_throw(2) == -1);
  int added = 0;
  for (int i = 0; i < 5; i++) added = adder(i)(added);
  CHECK(added == 10);
  CHECK(sum_of(primes) == 1593 && sum_of<double>({0.5, 1.5}) == 2 && sum_of<std::string>({"a", "b"}) == "ab");
  CHECK(Power<7>::of(3) == 2187);
  containers();
  std::printf("area %g, %d failures\n", area, failures);
  return failures != 0;
}
