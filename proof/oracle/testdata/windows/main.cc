#include "shared.h"
#include <cstdio>
#include <stdexcept>
#include <thread>

int other(int);
__declspec(dllimport) int dllfn(int);
__attribute__((noinline)) int neverm(int x) { __asm__ volatile(""); return x - 1; }
struct Leave {
  ~Leave() { std::puts("left"); }
};
__attribute__((noinline)) int thrower(int x) {
  Leave leave;
  if (x > 2) throw x;
  return x;
}

int main(int argc, char **) {
  long sum = 0;
  std::thread t([&] {
    for (int i = 0; i < 1000; i++) sum += shared(i);
  });
  t.join();
  if (argc > 5) sum += neverm(argc);
  try {
    sum += thrower(1) + thrower(2);
    thrower(3);
  } catch (int n) {
    std::printf("caught %d\n", n);
  }
  std::printf("%ld %d %d %d\n", sum, shared(argc), other(argc), dllfn(2) + dllfn(1));
  return sum & 3;
}
