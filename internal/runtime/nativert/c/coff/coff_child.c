/* Processes that the program starts: those that have a plan get the DLL before they run. What starts them is replaced where modules import it.
 * Left alone are those that are started suspended or to be debugged, as who starts them has plans for them itself. */

IMPORT(i32, CreateProcessW, const void *, void *, void *, void *, i32, u32, const void *, const void *, void *, void **);
IMPORT(i32, CreateProcessA, const void *, void *, void *, void *, i32, u32, const void *, const void *, void *, void **);
IMPORT(void *, OpenSemaphoreW, u32, i32, const u16 *);
IMPORT(i32, ReleaseSemaphore, void *, i32, i32 *);

#include "coff_inject.h"

enum { DEBUGS = 3, BEGIN_SUSPENDED = 4, UNICODE_TEXT = 0x400, BREAKAWAY = 0x1000000 };

/* is_planned reports whether the program of a process that does not run yet has a plan, by the head of its image. */
static int is_planned(void *process) {
  typedef i32 (*query)(void *, u32, void *, u32, u32 *);
  enum { IMAGE_IN_BLOCK = 16, MACHINE = 0x8664 };
  query ask = (query)GetProcAddress(GetModuleHandleW(u"ntdll.dll"), "NtQueryInformationProcess");
  u64 info[6] = {0}, base = 0;
  u32 at = 0, head[22]; /* of the header, to the size of the image */
  if (!ask || ask(process, 0, info, sizeof info, 0) < 0 || !info[1]) return 0;
  if (!ReadProcessMemory(process, (void *)(info[1] + IMAGE_IN_BLOCK), &base, 8, 0) || !ReadProcessMemory(process, (void *)(base + 60), &at, 4, 0)) return 0;
  if (!ReadProcessMemory(process, (void *)(base + at), head, sizeof head, 0) || (u16)head[1] != MACHINE) return 0;
  for (const struct plan *p = 0; (p = next_plan(p));)
    if (!p->dll && p->stamp == head[2] && p->image == head[20]) return 1;
  return 0;
}

/* names_plan reports whether an environment has the variable of the plans. */
static int names_plan(const void *environment, int wide) {
  static const char name[] = "CAIRN_DETOURS=";
  const u8 *s = environment;
  u32 step = wide ? 2 : 1;
  if (!s) return 1; /* that of this process */
  for (;;) {
    u32 i = 0;
    while (i < sizeof name - 1 && (wide ? *(const u16 *)(s + 2 * i) : s[i]) == name[i]) i++;
    if (i == sizeof name - 1) return 1;
    if (!(wide ? *(const u16 *)s : *s)) return 0;
    while (wide ? *(const u16 *)s : *s) s += step;
    s += step;
  }
}

/* count_child tells the launcher that a process is hooked. */
static void count_child(void) {
  enum { MODIFY = 2 };
  u16 name[64];
  u32 n = GetEnvironmentVariableW(u"CAIRN_DETOURS_CHILDREN", name, 64);
  void *h = n && n < 64 ? OpenSemaphoreW(MODIFY, 0, name) : 0;
  if (h) ReleaseSemaphore(h, 1, 0), CloseHandle(h);
}

/* begin_child lets a process that was started suspended run. */
static void begin_child(void **process, u32 flags) {
  enum { PATIENCE = 60000 };
  if (is_planned(process[0]) && inject(process[0], __ImageBase, PATIENCE) && !(flags & BREAKAWAY)) count_child();
  ResumeThread(process[1]);
}

#define STARTS(name)                                                                                                                     \
  static i32 start_by_##name(const void *program, void *line, void *a, void *b, i32 inherit, u32 flags, const void *environment,         \
                             const void *dir, void *how, void **process) {                                                               \
    int ours = !(flags & (BEGIN_SUSPENDED | DEBUGS)) && names_plan(environment, flags & UNICODE_TEXT);                                         \
    i32 ok = name(program, line, a, b, inherit, ours ? flags | BEGIN_SUSPENDED : flags, environment, dir, how, process);                       \
    u32 error = last_error();                                                                                                            \
    if (ok && ours) begin_child(process, flags);                                                                                         \
    set_last_error(error);                                                                                                               \
    return ok;                                                                                                                           \
  }
STARTS(CreateProcessW)
STARTS(CreateProcessA)

/* What starts processes, and what is called in its place. */
static struct {
  u64 function, by;
} starts[4];

/* find_starts finds the functions that start processes: those of kernel32 may be others than those of kernelbase. Nothing is replaced unless
 * the program of some process has a plan. */
static void find_starts(void) {
  int programs = 0;
  for (const struct plan *p = 0; (p = next_plan(p));) programs += !p->dll;
  for (u32 i = 0; i < 4 && programs; i++) {
    void *module = GetModuleHandleW(i < 2 ? u"kernel32.dll" : u"kernelbase.dll");
    starts[i].function = module ? (u64)GetProcAddress(module, i % 2 ? "CreateProcessA" : "CreateProcessW") : 0;
    starts[i].by = i % 2 ? (u64)start_by_CreateProcessA : (u64)start_by_CreateProcessW;
  }
}

static u64 replacement_of(u64 function) {
  for (u32 i = 0; i < 4; i++)
    if (starts[i].function == function) return starts[i].by;
  return 0;
}
