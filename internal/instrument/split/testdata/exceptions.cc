// A program that throws, catches and unwinds in every way, and says what it did.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include <setjmp.h>
static int depth;
#define NOINLINE __attribute__((noinline))
struct Guard { int id; NOINLINE explicit Guard(int id):id(id){ std::printf("+%d ",id);} NOINLINE ~Guard(){ std::printf("-%d ",id);} };
struct Base { virtual ~Base(){} virtual int v() const {return 1;} };
struct Derived : Base { int v() const override {return 2;} };
struct Multi : std::runtime_error, Base { Multi():std::runtime_error("multi"){} };
NOINLINE void raise(int k) {
  switch (k % 8) {
  case 1: throw 1;
  case 2: throw std::string("text");
  case 3: throw std::runtime_error("runtime");
  case 4: throw Derived();
  case 5: throw Multi();
  case 6: throw std::out_of_range("range");
  case 7: { Derived d; throw d.v() ? 7L : 0L; }
  }
}
NOINLINE int nested(int k) {
  Guard a(100);
  try { Guard b(101); raise(k); std::printf("quiet "); }
  catch (int i) { Guard c(102); std::printf("int%d ", i); try { raise(k+1); } catch (std::string &s) { std::printf("inner-%s ", s.c_str()); } return 1; }
  catch (std::logic_error &e) { std::printf("logic-%s ", e.what()); throw; }
  catch (Base &b) { Guard d(103); std::printf("base%d ", b.v()); raise(k+2); }
  catch (const std::exception &e) { std::printf("std-%s ", e.what()); throw std::string("from ")+e.what(); }
  return 2;
}
NOINLINE int loop(int n) {
  int sum = 0; std::vector<std::unique_ptr<Guard>> gs;
  for (int i = 0; i < n; i++) {
    try { gs.push_back(std::make_unique<Guard>(i)); sum += nested(i); if (i % 3 == 2) gs.clear(); }
    catch (std::string &s) { sum += s.size(); std::printf("str[%s] ", s.c_str()); if (i % 5 == 4) gs.pop_back(); }
    catch (std::exception &e) { sum += 1000; std::printf("exc[%s] ", e.what()); }
    catch (...) { sum += 7; std::printf("any "); }
    std::puts("");
  }
  return sum;
}
NOINLINE int rec(int n, int k) {
  Guard g(1000+n);
  if (n == 0) { raise(k); return 0; }
  try { return rec(n-1, k) + 1; }
  catch (int) { if (n > 2) throw; return 50; }
  catch (std::exception &e) { if (n & 1) throw; if (n == 2) throw std::string("re"); throw; }
}
NOINLINE void never() noexcept { Guard g(5); raise(1); }
NOINLINE int functional(std::function<int(int)> f, int x) { try { return f(x); } catch (const std::bad_function_call &) { return -1; } catch (std::exception &e) { std::printf("f:%s ", e.what()); return -2; } }
template <class T> NOINLINE T at(const std::map<T,T> &m, T k) { try { return m.at(k); } catch (std::out_of_range &) { return T(); } }
struct Ctor { Guard a, b; std::string s; NOINLINE Ctor(int k) try : a(200), b((raise(k),201)), s("x") { Guard c(202); raise(k+1); } catch (std::string &t) { std::printf("ctor-%s ", t.c_str()); } };
NOINLINE int spec(int k) noexcept(false) { struct X { int k; ~X() noexcept(false) { if (k == 9 && !std::uncaught_exceptions()) throw 99; } } x{k}; raise(k == 9 ? 0 : k); return k; }
jmp_buf jb;
NOINLINE void jump(int k) { volatile int x = k; if (setjmp(jb)) { std::printf("jumped%d ", x); return; } if (k > 3) longjmp(jb, 1); std::printf("stayed "); }
int main(int argc, char **argv) {
  std::printf("loop %d\n", loop(24));
  for (int n = 0; n < 6; n++) for (int k = 0; k < 8; k++) try { std::printf("rec %d\n", rec(n,k)); } catch (std::string &s) { std::printf("main-%s\n", s.c_str()); } catch (std::exception &e) { std::printf("main-%s\n", e.what()); } catch (Base &) { std::puts("main-base"); } catch (int i) { std::printf("main-%d\n", i); } catch (...) { std::puts("main-any"); }
  std::printf("%d %d %d\n", functional(nullptr, 1), functional([](int x){ if (x > 1) throw std::runtime_error("lambda"); return x; }, 1), functional([](int x){ raise(x); return 4; }, 3));
  std::printf("%d [%s]\n", at<int>({{1,2}}, 5), at<std::string>({{"a","b"}}, "a").c_str());
  for (int k = 0; k < 8; k++) try { Ctor c(k); std::printf("made\n"); } catch (std::string &) { std::puts("ctor string"); } catch (...) { std::puts("ctor any"); }
  for (int k : {0, 9, 1, 3}) try { std::printf("spec %d\n", spec(k)); } catch (int i) { std::printf("spec threw %d\n", i); } catch (...) { std::puts("spec any"); }
  for (int k = 2; k < 6; k++) jump(k);
  try { try { throw std::runtime_error("inner"); } catch (...) { std::throw_with_nested(std::logic_error("outer")); } }
  catch (std::exception &e) { std::printf("%s", e.what()); try { std::rethrow_if_nested(e); } catch (std::exception &i) { std::printf("<%s>\n", i.what()); } }
  std::exception_ptr p; try { raise(6); } catch (...) { p = std::current_exception(); } try { std::rethrow_exception(p); } catch (std::out_of_range &e) { std::puts(e.what()); }
  std::set_terminate([]{ std::puts("terminated"); std::fflush(stdout); std::_Exit(3); });
  never();
}
