// Calls that end in all ways: by return, jump, exception and longjmp, in several threads, with arguments of all kinds.
#ifdef OWN_JUMP // as from a C library that is linked into the program: see ownjump.S
#define longjmp unused_longjmp
#include <setjmp.h>
#undef longjmp
#undef setjmp
extern "C" int own_setjmp(void *) __attribute__((returns_twice));
extern "C" void longjmp(void *, int) __attribute__((noreturn));
#define setjmp own_setjmp
#else
#include <setjmp.h>
#endif
#include <stdio.h>
#include <windows.h>
#define NI __attribute__((noinline))

NI int leaf(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) s += i * i ^ s;
  return s;
}
NI int many(int a, int b, int c, int d, int e, int f, int g, int h, double x, double y) {
  return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + (int)(x * y);
}
struct big {
  long long v[5];
};
NI big made(int n) { return {{n, n + 1, n + 2, n + 3, leaf(n)}}; }
struct counted {
  static volatile LONG alive;
  counted() { InterlockedIncrement(&alive); }
  NI ~counted() { InterlockedDecrement(&alive); }
};
volatile LONG counted::alive;
NI int thrower(int n) {
  counted c;
  if (n == 3) throw n;
  return n;
}
NI int through(int n) {
  counted c;
  return thrower(n) + 1;
}
NI int catcher(int n) {
  try {
    return through(n);
  } catch (int x) {
    return 100 + x;
  }
}
struct place {
  jmp_buf at;
};
NI void jumper(place *p, int n) {
  if (n == 9) Sleep(60);
  if (n == 2 || n == 9) longjmp(p->at, 7);
}
NI int middle(place *p, int n) {
  jumper(p, n);
  return n * 2;
}
NI int lander(int n) {
  place p;
  int v = setjmp(p.at);
  return v ? v : middle(&p, n);
}
NI int deep(int n) { return n ? deep(n - 1) + 1 : leaf(3); }
NI int target(int n) { return leaf(n) + 1; }
NI int tail(int n) { return target(n * 2); }
NI void stall(int ms) { Sleep(ms); }
NI int outer(int ms) {
  stall(ms);
  return ms;
}
NI DWORD WINAPI worker(void *sum) {
  int s = 0;
  for (int i = 0; i < 1000; i++) s += catcher(i % 5) + many(i, 2, 3, 4, 5, 6, 7, 8, 1.5, 2.5) + lander(i % 4) + (int)made(i % 7).v[4];
  *(int *)sum = s;
  return 0;
}
int main() {
  int sums[4] = {};
  HANDLE threads[3];
  for (int i = 0; i < 3; i++) threads[i] = CreateThread(0, 0, worker, &sums[i], 0, 0);
  worker(&sums[3]);
  for (int i = 0; i < 3; i++) WaitForSingleObject(threads[i], INFINITE);
  printf("%d %d %d %d, %ld alive\n", sums[0], sums[1], sums[2], sums[3], counted::alive);
  printf("%d %d %d\n", deep(1000), tail(5), outer(60));
  printf("%d\n", lander(9));
  return 9;
}
