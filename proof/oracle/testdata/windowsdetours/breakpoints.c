/* A DLL that counts calls by breakpoints in place of detours: each is reached at the first byte of a function of the plans, of images that
 * are loaded, which is then stepped over. For programs with one thread. The file of the counts is that of counts.c. */
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>
#include <psapi.h>

#pragma pack(push, 1)
struct plan {
  char magic[8];
  unsigned version, sites, fixups, blob;
  unsigned long long base;
  unsigned image, stamp;
  char rest[32];
  unsigned long long length;
};
struct site {
  unsigned long long at;
  char rest[16];
};
#pragma pack(pop)

struct image {
  struct plan *plan;
  struct site *sites;
  unsigned char *base, *original;
  unsigned long long *count;
} images[16];
static int count;
static unsigned char *stepped;

static int site_at(const struct image *m, unsigned char *at) {
  int lo = 0, hi = (int)m->plan->sites;
  unsigned long long rva = at - m->base;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (m->sites[mid].at - m->plan->base < rva) lo = mid + 1;
    else hi = mid;
  }
  return lo < (int)m->plan->sites && m->sites[lo].at - m->plan->base == rva ? lo : -1;
}

static LONG CALLBACK happens(EXCEPTION_POINTERS *x) {
  enum { TRAP = 0x100 };
  if (x->ExceptionRecord->ExceptionCode == EXCEPTION_BREAKPOINT) {
    unsigned char *at = x->ExceptionRecord->ExceptionAddress;
    for (struct image *m = images; m < images + count; m++) {
      int i = m->base ? site_at(m, at) : -1;
      if (i < 0) continue;
      m->count[i]++;
      *at = m->original[i];
      x->ContextRecord->Rip = (unsigned long long)at, x->ContextRecord->EFlags |= TRAP;
      stepped = at;
      return EXCEPTION_CONTINUE_EXECUTION;
    }
    return EXCEPTION_CONTINUE_SEARCH;
  }
  if (x->ExceptionRecord->ExceptionCode == EXCEPTION_SINGLE_STEP && stepped) {
    *stepped = 0xcc, stepped = 0;
    x->ContextRecord->EFlags &= ~TRAP;
    return EXCEPTION_CONTINUE_EXECUTION;
  }
  return EXCEPTION_CONTINUE_SEARCH;
}

static unsigned char *image_of(const struct plan *p) {
  static HMODULE all[256];
  DWORD size = 0;
  EnumProcessModules(GetCurrentProcess(), all, sizeof all, &size);
  for (unsigned i = 0; i < size / sizeof *all; i++) {
    IMAGE_NT_HEADERS *h = (IMAGE_NT_HEADERS *)((char *)all[i] + ((IMAGE_DOS_HEADER *)all[i])->e_lfanew);
    if (h->OptionalHeader.SizeOfImage == p->image && h->FileHeader.TimeDateStamp == p->stamp) return (unsigned char *)all[i];
  }
  return 0;
}

static void put_breakpoints(struct image *m) {
  DWORD was;
  unsigned n = m->plan->sites;
  unsigned char *from = m->base + (m->sites[0].at - m->plan->base), *to = m->base + (m->sites[n - 1].at - m->plan->base);
  m->original = calloc(n, 1), m->count = calloc(n, sizeof *m->count);
  VirtualProtect(from, to - from + 1, PAGE_EXECUTE_READWRITE, &was);
  for (unsigned i = 0; i < n; i++) {
    unsigned char *at = m->base + (m->sites[i].at - m->plan->base);
    m->original[i] = *at, *at = 0xcc;
  }
}

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, void *always) {
  if (reason == DLL_PROCESS_ATTACH) {
    FILE *f = fopen(getenv("CAIRN_DETOURS"), "rb");
    if (!f) return FALSE;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *all = malloc(size);
    if (fread(all, 1, size, f) != size) return FALSE;
    fclose(f);
    AddVectoredExceptionHandler(1, happens);
    for (struct plan *p = (struct plan *)all; (char *)p < all + size && count < 16; p = (struct plan *)((char *)p + p->length)) {
      struct image *m = &images[count++];
      m->plan = p, m->sites = (struct site *)(p + 1), m->base = image_of(p);
      if (m->base) put_breakpoints(m);
    }
  }
  if (reason == DLL_PROCESS_DETACH && always) {
    FILE *f = fopen(getenv("CAIRN_COUNTS"), "wb");
    for (int k = 0; f && k < count; k++)
      for (unsigned i = 0; images[k].base && i < images[k].plan->sites; i++)
        fprintf(f, "%016llx %016llx\n", (unsigned long long)k << 40 | (images[k].sites[i].at - images[k].plan->base), images[k].count[i]);
    if (f) fclose(f);
  }
  return TRUE;
}
