/* The DLL of detours, which also counts the calls of its hook: CAIRN_COUNTS is the file of the counts, one "RVA COUNT" a line, with the
 * number of the plan above the 40 bits of the RVA. */
#define HOOK_BEGINS \
  "movq 24(%rsp), %rcx\nshrq $4, %rcx\nandl $0x7fffff, %ecx\nmovq counts(%rip), %rax\nlock incq (%rax,%rcx,8)\n"
#include "coff_detour.c"

__attribute__((used)) static u64 *counts; /* by the address of what the hook returns to, which is unlikely to be the same for two */

static char *write_hex(char *p, u64 v) {
  for (int shift = 60; shift >= 0; shift -= 4) *p++ = "0123456789abcdef"[v >> shift & 15];
  return p;
}

static void write_count(void *f, u64 key, u64 n) {
  static char line[64];
  u32 done;
  char *p = write_hex(line, key);
  *p++ = ' ';
  p = write_hex(p, n);
  *p++ = '\n';
  WriteFile(f, line, (u32)(p - line), &done, 0);
}

static void write_counts(void) {
  static u16 path[MAX_PATH];
  u32 n = GetEnvironmentVariableW(u"CAIRN_COUNTS", path, MAX_PATH);
  void *f = n ? CreateFileW(path, (u32)GENERIC_RW, SHARE_ALL, 0, CREATE_NEW, NORMAL, 0) : (void *)-1;
  if (f == (void *)-1) return;
  for (const struct placed *x = placed; x < placed + places; x++) {
    u64 number = 0;
    for (const struct plan *p = 0; (p = next_plan(p)) != x->plan;) number++;
    for (const struct site *s = sites_of(x->plan); s < sites_of(x->plan) + x->plan->sites; s++)
      write_count(f, number << 40 | (s->at - x->plan->base), counts[((u64)x->blob + s->entry + CALL_SIZE) >> 4 & 0x7fffff]);
  }
  CloseHandle(f);
}

i32 count_calls(const u8 *module, u32 reason, const void *always) {
  enum { SIZE = 64 << 20 };
  if (reason == ATTACH) counts = VirtualAlloc(0, SIZE, MEM_RESERVE | MEM_COMMIT, READWRITE);
  i32 ok = __cairn_enter_library(module, reason, always);
  if (reason == DETACH && always) write_counts();
  return ok;
}
