/* A DLL that counts calls by breakpoints in place of detours: each is reached at the first byte of a function of the plan, which is
 * then stepped over. For programs with one thread. The file of the counts is that of counts.c. */
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#pragma pack(push, 1)
struct plan {
  char magic[8];
  unsigned version, sites, fixups, blob;
  unsigned long long base;
  char rest[40];
};
struct site {
  unsigned long long at;
  char rest[16];
};
#pragma pack(pop)

static struct plan *plan;
static struct site *sites;
static unsigned char *base, *original;
static unsigned long long *count;
static int stepped = -1;

static int site_at(unsigned long long rva) {
  int lo = 0, hi = (int)plan->sites;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (sites[mid].at - plan->base < rva) lo = mid + 1;
    else hi = mid;
  }
  return lo < (int)plan->sites && sites[lo].at - plan->base == rva ? lo : -1;
}

static LONG CALLBACK happens(EXCEPTION_POINTERS *x) {
  enum { TRAP = 0x100 };
  if (x->ExceptionRecord->ExceptionCode == EXCEPTION_BREAKPOINT) {
    unsigned char *at = x->ExceptionRecord->ExceptionAddress;
    int i = site_at(at - base);
    if (i < 0) return EXCEPTION_CONTINUE_SEARCH;
    count[i]++;
    *at = original[i];
    x->ContextRecord->Rip = (unsigned long long)at, x->ContextRecord->EFlags |= TRAP;
    stepped = i;
    return EXCEPTION_CONTINUE_EXECUTION;
  }
  if (x->ExceptionRecord->ExceptionCode == EXCEPTION_SINGLE_STEP && stepped >= 0) {
    base[sites[stepped].at - plan->base] = 0xcc;
    stepped = -1;
    x->ContextRecord->EFlags &= ~TRAP;
    return EXCEPTION_CONTINUE_EXECUTION;
  }
  return EXCEPTION_CONTINUE_SEARCH;
}

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, void *always) {
  DWORD was;
  if (reason == DLL_PROCESS_ATTACH) {
    FILE *f = fopen(getenv("CAIRN_DETOURS"), "rb");
    if (!f) return FALSE;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    plan = malloc(size);
    if (fread(plan, 1, size, f) != size) return FALSE;
    fclose(f);
    sites = (struct site *)(plan + 1), base = (unsigned char *)GetModuleHandleW(0);
    original = calloc(plan->sites, 1), count = calloc(plan->sites, sizeof *count);
    AddVectoredExceptionHandler(1, happens);
    unsigned char *from = base + (sites[0].at - plan->base), *to = base + (sites[plan->sites - 1].at - plan->base);
    VirtualProtect(from, to - from + 1, PAGE_EXECUTE_READWRITE, &was);
    for (unsigned i = 0; i < plan->sites; i++) {
      unsigned char *at = base + (sites[i].at - plan->base);
      original[i] = *at, *at = 0xcc;
    }
  }
  if (reason == DLL_PROCESS_DETACH && always) {
    FILE *f = fopen(getenv("CAIRN_COUNTS"), "wb");
    for (unsigned i = 0; f && i < plan->sites; i++) fprintf(f, "%016llx %016llx\n", sites[i].at - plan->base, count[i]);
    if (f) fclose(f);
  }
  return TRUE;
}
