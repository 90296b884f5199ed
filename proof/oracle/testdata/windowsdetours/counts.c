/* The DLL of detours, which also counts the calls of its hook: CAIRN_COUNTS is the file of the counts, one "RVA COUNT" a line. */
#define HOOK_BEGINS \
  "movq 24(%rsp), %rcx\nsubq blob(%rip), %rcx\nshrq $4, %rcx\nmovq counts(%rip), %rax\nlock incq (%rax,%rcx,8)\n"
#include "coff_detour.c"

__attribute__((used)) static u64 *counts;

static char *write_hex(char *p, u64 v) {
  for (int shift = 60; shift >= 0; shift -= 4) *p++ = "0123456789abcdef"[v >> shift & 15];
  return p;
}

static void write_counts(void) {
  static u16 path[MAX_PATH];
  static char line[64];
  u32 done, n = GetEnvironmentVariableW(u"CAIRN_COUNTS", path, MAX_PATH);
  void *f = n ? CreateFileW(path, (u32)GENERIC_RW, SHARE_ALL, 0, CREATE_NEW, NORMAL, 0) : (void *)-1;
  if (f == (void *)-1) return;
  for (u32 i = 0; i < hooked; i++) {
    char *p = write_hex(line, sites[i].at - plan->base);
    *p++ = ' ';
    p = write_hex(p, counts[(sites[i].entry + CALL_SIZE) >> 4]);
    *p++ = '\n';
    WriteFile(f, line, (u32)(p - line), &done, 0);
  }
  CloseHandle(f);
}

i32 count_calls(const u8 *module, u32 reason, const void *always) {
  enum { ROOM = 8 << 20 };
  if (reason == ATTACH) counts = VirtualAlloc(0, ROOM, MEM_RESERVE | MEM_COMMIT, READWRITE);
  i32 ok = __cairn_enter_library(module, reason, always);
  if (reason == DETACH && always) write_counts();
  return ok;
}
