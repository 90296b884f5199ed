/* A program that loads the DLL of detours itself, while its threads and fibers run. */
#include <stdio.h>
#include <windows.h>
#define NI __attribute__((noinline))

static volatile LONG stop;
NI int leaf(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) s += i * n ^ s;
  return s;
}
NI int twice(int n) { return leaf(n) + leaf(n + 1); }
NI DWORD WINAPI worker(void *wrong) { /* has the lock of the heap most of the time */
  enum { SIZE = 40000 };
  int want = twice(20);
  for (void *heap = GetProcessHeap(); !stop; *(LONG *)wrong += twice(20) != want) HeapFree(heap, 0, HeapAlloc(heap, 0, SIZE));
  return 0;
}
static void *fibers[64], *home;
NI int switches(int n) {
  SwitchToFiber(home);
  return twice(n);
}
static void CALLBACK fiber(void *sum) {
  for (;;) *(int *)sum += switches(9);
}
int main(void) {
  static LONG wrong[4];
  HANDLE threads[4];
  int sum = 0, want = 0;
  for (int i = 0; i < 4; i++) threads[i] = CreateThread(0, 0, worker, &wrong[i], 0, 0);
  home = ConvertThreadToFiber(0);
  for (int i = 0; i < 64; i++) fibers[i] = CreateFiber(0, fiber, &sum);
  for (int round = 0; round < 100; round++) {
    if (round == 10 && !LoadLibraryA("cairn_detours.dll")) return 1;
    for (int i = 0; i < 64; i++) SwitchToFiber(fibers[i]);
    if (round > 0) want += 64 * twice(9);
  }
  stop = 1;
  WaitForMultipleObjects(4, threads, 1, INFINITE);
  printf("%d %ld\n", sum == want, wrong[0] + wrong[1] + wrong[2] + wrong[3]);
  return *(unsigned char *)twice == 0xe9;
}
