// Names of MSVC's C++ by clang: those of the C++ library's templates, with lambdas, virtual bases and thunks. Without WIDE it leaves
// out headers whose code needs a long of the size of a pointer.
#include <map>
#include <string>
#include <vector>
#include <regex>
#include <functional>
#include <iostream>
#include <sstream>
#include <variant>
#include <algorithm>
#ifdef WIDE
#include <filesystem>
#include <future>
#endif

struct A {
  virtual ~A();
  virtual int f(const char *) const;
};
namespace n {
struct B : virtual A {
  B(int);
  int f(const char *) const override;
  operator std::string() const;
};
} // namespace n
int n::B::f(const char *x) const { return std::regex_match("a", std::regex(x)); }
n::B::B(int) {}
n::B::operator std::string() const { return "x"; }

namespace {
struct local {
  template <class T> operator T() volatile & { return T(); }
  local *operator->() && { return this; }
  bool operator<=>(const local &) const = delete;
} unique;
} // namespace
long double operator""_deg(long double d) { return d; }
std::vector<int> table = {1, 2};
template <int (*F)(int, ...), int local::*M, auto V> int pick(int (*row)[3], int (A::*m)(const char *) const) { return V + F(1) + (row != nullptr) + (m != nullptr); }
int variadic(int x, ...) { return x; }
char8_t *wide(char16_t, char32_t, wchar_t, signed char, unsigned char, const volatile short *, unsigned short &&, unsigned long, long long, bool, float, double &, std::nullptr_t) { return nullptr; }

int main() {
  std::map<std::string, std::vector<std::function<void(int)>>> m;
  m["x"].push_back([&](int i) { std::cout << i; });
  auto f = [=](auto a, auto &b) noexcept { return a + b; };
  int k = 2;
  f(1, k);
  k += static_cast<volatile local &>(unique).operator int() + (std::move(unique).operator->() != nullptr);
  k += pick<variadic, nullptr, 3>(nullptr, &A::f) + int(1.0_deg);
  std::variant<int, std::string, double> v = 1.0;
  std::visit([](auto &&x) { std::cout << x; }, v);
  std::vector<std::shared_ptr<A>> w;
  std::sort(w.begin(), w.end());
  n::B b(1);
#ifdef WIDE
  std::async([] { return 1; }).get();
  for (auto &e : std::filesystem::recursive_directory_iterator("a"))
    std::cout << e.path();
#endif
  return std::string(b).size();
}
