// A program with deep calls, threads and an exception, and, with DENIES, a DLL that makes functions of Windows fail that the program
// imports, from the call on that DENY says: "VirtualAlloc:3", "VirtualAlloc:3." for that call alone. SLOTS is how many slots of
// thread-local storage the DLL takes before.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#ifdef DENIES
static char name[64], only;
static volatile LONG left;
static int denied(void) {
  LONG n = InterlockedDecrement(&left);
  if (only ? n : n > 0) return 0;
  SetLastError(ERROR_NOT_ENOUGH_MEMORY);
  return 1;
}
#define DENY(f, type, failure, parameters, arguments) \
  static type(WINAPI *real_##f) parameters;           \
  static type WINAPI my_##f parameters { return denied() ? failure : real_##f arguments; }
DENY(VirtualAlloc, void *, 0, (void *a, SIZE_T n, DWORD t, DWORD p), (a, n, t, p))
DENY(TlsAlloc, DWORD, TLS_OUT_OF_INDEXES, (void), ())
DENY(CreateThread, HANDLE, 0, (void *a, SIZE_T n, LPTHREAD_START_ROUTINE f, void *x, DWORD o, DWORD *i), (a, n, f, x, o, i))
DENY(CreateFileW, HANDLE, INVALID_HANDLE_VALUE, (const WCHAR *n, DWORD a, DWORD s, void *x, DWORD c, DWORD f, HANDLE t), (n, a, s, x, c, f, t))
DENY(CreateFileMappingW, HANDLE, 0, (HANDLE f, void *a, DWORD p, DWORD h, DWORD l, const WCHAR *n), (f, a, p, h, l, n))
DENY(MapViewOfFile, void *, 0, (HANDLE m, DWORD a, DWORD h, DWORD l, SIZE_T n), (m, a, h, l, n))
DENY(OpenThread, HANDLE, 0, (DWORD a, BOOL i, DWORD t), (a, i, t))
#define FUNCTION(f) {#f, (void *)my_##f, (void **)&real_##f}
static const struct {
  const char *name;
  void *mine, **real;
} functions[] = {FUNCTION(VirtualAlloc), FUNCTION(TlsAlloc), FUNCTION(CreateThread), FUNCTION(CreateFileW), FUNCTION(CreateFileMappingW), FUNCTION(MapViewOfFile), FUNCTION(OpenThread)};

static void replace(const char *function, void *mine, void **real) {
  char *base = (char *)GetModuleHandleW(0);
  IMAGE_NT_HEADERS *h = (IMAGE_NT_HEADERS *)(base + ((IMAGE_DOS_HEADER *)base)->e_lfanew);
  IMAGE_IMPORT_DESCRIPTOR *d = (IMAGE_IMPORT_DESCRIPTOR *)(base + h->OptionalHeader.DataDirectory[1].VirtualAddress);
  for (; d->Name; d++) {
    ULONG_PTR *names = (ULONG_PTR *)(base + d->OriginalFirstThunk), *at = (ULONG_PTR *)(base + d->FirstThunk);
    for (; *names; names++, at++)
      if (!(*names >> 63) && !strcmp(base + *names + 2, function)) {
        DWORD was;
        VirtualProtect(at, sizeof *at, PAGE_READWRITE, &was);
        *real = (void *)*at, *at = (ULONG_PTR)mine;
      }
  }
}
BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, void *always) {
  const char *deny = getenv("DENY"), *slots = getenv("SLOTS");
  if (reason != DLL_PROCESS_ATTACH) return 1;
  for (int i = slots ? atoi(slots) : 0; i; i--) TlsAlloc();
  if (deny && strchr(deny, ':')) {
    memcpy(name, deny, strcspn(deny, ":"));
    left = atoi(strchr(deny, ':') + 1), only = strchr(deny, '.') != 0;
    for (int i = 0; i < sizeof functions / sizeof *functions; i++)
      if (!strcmp(functions[i].name, name)) replace(name, functions[i].mine, functions[i].real);
  }
  return 1;
}
__declspec(dllexport) int times(void) { return 3; }
#else
#include <process.h>
#define NI __attribute__((noinline))
__declspec(dllimport) int times(void);
NI int leaf(int n) {
  volatile char room[4000];
  int s = 0;
  for (int i = 0; i < 10; i++) room[i * 100 + n % 100] = (char)(s += i * n ^ s);
  return s + room[n % 100];
}
NI int deep(int n) {
  volatile char room[2000];
  room[n % 2000] = (char)n;
  return (n ? deep(n - 1) : leaf(n)) + leaf(n) + room[n % 2000];
}
NI int jump(jmp_buf back, int n) {
  if (n == 0) longjmp(back, 1);
  return jump(back, n - 1) + 1;
}
NI int leave(int n) {
  jmp_buf back;
  return setjmp(back) ? leaf(n) : jump(back, n);
}
NI int straight(int n) {
  volatile char room[4000];
  room[n & 31] = 1;
  int s = n ? straight(n - 1) : 1;
  return s + room[n & 31];
}
NI int work(int n) {
  int s = straight(n);
  for (int i = 0; i < 20; i++) s += deep(n) + leave(i);
  return s;
}
static unsigned __stdcall thread(void *of) {
  *(int *)of += work(*(int *)of);
  return 0;
}
int main(void) {
  int of[16], s = 0;
  for (int k = 0; k < times(); k++) {
    HANDLE h[16];
    for (int i = 0; i < 16; i++) of[i] = 20 * i, h[i] = (HANDLE)_beginthreadex(0, 4 << 20, thread, &of[i], 0, 0);
    WaitForMultipleObjects(16, h, 1, INFINITE);
    for (int i = 0; i < 16; i++) s += of[i], CloseHandle(h[i]);
    s += work(300);
    Sleep(30);
  }
  printf("%d\n", s);
  return 7; // Wine's code of a page fault is 5
}
#endif
