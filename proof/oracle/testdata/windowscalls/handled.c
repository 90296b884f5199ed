// A program that handles exceptions of its own: a call of address 0, and a name of a thread that is not there.
#include <stdio.h>
#include <windows.h>

static LONG CALLBACK handle(EXCEPTION_POINTERS *x) {
  EXCEPTION_RECORD *e = x->ExceptionRecord;
  printf("%lx at %d\n", e->ExceptionCode, e->ExceptionAddress == NULL);
  if (e->ExceptionAddress) return e->ExceptionCode == 0x406d1388 ? EXCEPTION_CONTINUE_EXECUTION : EXCEPTION_CONTINUE_SEARCH;
  x->ContextRecord->Rip = *(DWORD64 *)x->ContextRecord->Rsp; // as if it had returned
  x->ContextRecord->Rsp += 8;
  return EXCEPTION_CONTINUE_EXECUTION;
}

__attribute__((noinline)) static int calls(void (*volatile f)(void)) {
  f();
  return 3;
}

int main(void) {
  ULONG_PTR name[] = {0x1000, 0, (ULONG_PTR)-1};
  AddVectoredExceptionHandler(0, handle);
  setvbuf(stdout, NULL, _IONBF, 0);
  printf("%d\n", calls(NULL));
  RaiseException(0x406d1388, 0, 3, name);
  printf("%d\n", calls(NULL));
  return 7;
}
