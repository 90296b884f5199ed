/* Counts the instructions of 20 calls of a function one by one, by the trap flag, with those of the loop that calls it. */
#include <stdio.h>
#include <windows.h>
#define NI __attribute__((noinline))
static volatile unsigned long long steps;
static volatile int stop;
NI int leaf(int n) {
  int s = n;
  __asm__ volatile("" : "+r"(s));
  for (int i = 0; i < 3; i++) s += s * i ^ n;
  return s;
}
static LONG CALLBACK step(EXCEPTION_POINTERS *x) {
  if (x->ExceptionRecord->ExceptionCode != EXCEPTION_SINGLE_STEP) return EXCEPTION_CONTINUE_SEARCH;
  steps++;
  if (!stop) x->ContextRecord->EFlags |= 0x100;
  return EXCEPTION_CONTINUE_EXECUTION;
}
static void begin(void) {
  steps = 0, stop = 0;
  __asm__ volatile("pushfq\norl $0x100, (%%rsp)\npopfq\n" ::: "memory", "cc");
}
static unsigned long long end(void) {
  stop = 1;
  return steps;
}
int main(void) {
  int s = 0;
  for (int i = 0; i < 100; i++) s += leaf(i);
  AddVectoredExceptionHandler(1, step);
  unsigned long long n[2];
  for (int k = 0; k < 2; k++) {
    int m = k ? 25 : 5;
    begin();
    for (int i = 0; i < m; i++) s += leaf(i);
    n[k] = end();
  }
  printf("%llu\n", n[1] - n[0]);
  return 0;
}
