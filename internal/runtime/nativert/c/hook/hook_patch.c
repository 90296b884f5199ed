/* Changes of code: for -fpatchable-function-entry, with which the compiler leaves room at the
 * entries of functions and a list of them, and for trampolines. They are made before the
 * program's own code runs. */

#include "hook.h"
#include "elf.h"

enum { MAX_ENTRY_NOPS = 512, CALL_SIZE = 5, REACH = 0x7fff0000 };

/* ---- memory and code ---- */

u8 *__cairn_near(u64 from, u64 to, u64 size) {
  enum { STEP = 65536, MAP_FIXED_NOREPLACE = 0x100000 };
  size = (size + 4095) & ~4095ul;
  /* Below first: the heap grows above an executable. */
  for (u64 at = (from & ~(STEP - 1ul)) - STEP; at >= STEP && at < from && to - at < REACH; at -= STEP) {
    u64 got = (u64)map(at, size, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == at && at + size <= from) return (u8 *)got;
    if (!failed(got)) sys2(SYS_munmap, got, size);
  }
  for (u64 at = (to + 2 * STEP - 1) & ~(STEP - 1ul); at + size - from < REACH; at += STEP) {
    u64 got = (u64)map(at, size, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == at) return (u8 *)got;
    if (!failed(got)) sys2(SYS_munmap, got, size);
  }
  return 0;
}

enum { PROT_RX = 5 };

i64 __cairn_seal(u8 *at, u64 size) { return sys3(SYS_mprotect, at, (size + 4095) & ~4095ul, PROT_RX); }

/* Writes through /proc/self/mem ignore the protection of pages, so that no page is ever
 * writable and executable. Where they are forbidden, pages are not executable during the
 * change. */
i64 __cairn_patch(u64 at, const void *code, u64 n) {
  i64 fd = sys3(SYS_open, "/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
  if (fd >= 0) {
    i64 wrote = sys4(SYS_pwrite, fd, code, n, at);
    sys1(SYS_close, fd);
    if (wrote == (i64)n) return 0;
  }
  u64 page = at & ~4095ul, size = at + n - page;
  i64 err = sys3(SYS_mprotect, page, size, PROT_RW);
  if (err < 0) return err;
  copy((void *)at, code, n);
  return sys3(SYS_mprotect, page, size, PROT_RX);
}

/* ---- entries ---- */

/* As in the C library. */
struct loaded {
  u64 bias;
  const char *name;
  const struct phdr *phdr;
  u16 phnum;
};
extern int dl_iterate_phdr(int (*)(struct loaded *, u64, void *), void *) WEAK;

struct eh_bases {
  void *text, *data, *function;
};
extern const void *_Unwind_Find_FDE(void *pc, struct eh_bases *) WEAK;

/* Of one module. */
struct entries {
  u64 code, code_end; /* executable segments */
  u64 list, count;
  u8 *thunk;          /* near: jumps to the hook */
  u32 patched, shorter, unknown, other; /* unknown: start of the function */
  i64 error;
};

struct section {
  u32 name, type;
  u64 flags, addr, offset, size;
  u32 link, info;
  u64 align, entsize;
};

static int same(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

/* find_list finds the section in the module's file: no table in memory refers to it. */
static void find_list(i64 fd, const struct loaded *m, struct entries *e) {
  static const char want[] = "__patchable_function_entries";
  u8 h[64]; /* the ELF header */
  struct section s, names;
  char name[sizeof want];
  if (sys4(SYS_pread, fd, h, sizeof h, 0) != sizeof h || *(u32 *)h != 0x464c457f) return;
  u64 shoff = *(u64 *)(h + 40);
  u16 shnum = *(u16 *)(h + 60), strings = *(u16 *)(h + 62);
  if (sys4(SYS_pread, fd, &names, sizeof names, shoff + strings * sizeof s) != sizeof names) return;
  for (u32 i = 0; i < shnum; i++) {
    if (sys4(SYS_pread, fd, &s, sizeof s, shoff + i * sizeof s) != sizeof s) return;
    if (sys4(SYS_pread, fd, name, sizeof name, names.offset + s.name) != sizeof name) continue;
    name[sizeof name - 1] = 0;
    if (!same(name, want)) continue;
    e->list = m->bias + s.addr, e->count = s.size / 8;
    return;
  }
}

/* nop returns the length of the nop at p, 0 for other instructions. */
static u32 nop(const u8 *p) {
  u32 n = 0;
  while (n < 8 && (p[n] == 0x66 || p[n] == 0x2e)) n++;
  if (p[n] == 0x90) return n + 1;
  if (p[n] != 0x0f || p[n + 1] != 0x1f) return 0;
  u8 modrm = p[n + 2], mod = modrm >> 6;
  if (mod == 3) return n + 3;
  u32 length = n + 3 + ((modrm & 7) == 4);
  if (mod == 1) length += 1;
  if (mod == 2 || (mod == 0 && (modrm & 7) == 5)) length += 4;
  return length;
}

static int landing_pad(const u8 *p) { return *(const u32 *)p == 0xfa1e0ff3; /* endbr64 */ }

/* nops returns the number of bytes of nops at p, up to the first end of an instruction at or
 * after want. */
static u32 nops(const u8 *p, u32 want) {
  u32 n = 0, k;
  while (n < want && (k = nop(p + n))) n += k;
  return n;
}

/* function_of returns the start of the function that contains pc, by its frame description. */
static u64 function_of(u64 pc) {
  struct eh_bases b = {0, 0, 0};
  return _Unwind_Find_FDE && _Unwind_Find_FDE((void *)pc, &b) ? (u64)b.function : 0;
}

/* entry_of returns the address for the call of an entry of the list: after the landing pad.
 * The list has the first of the nops, some of which can be in front of the function. 0: not
 * known. */
static u64 entry_of(u64 at) {
  u64 f = function_of(at), end;
  if (f == at || (f + 4 == at && landing_pad((u8 *)f))) return at;
  end = at + nops((u8 *)at, MAX_ENTRY_NOPS);
  if ((f = function_of(end)) <= at || f > end) return 0;
  return landing_pad((u8 *)f) ? f + 4 : f;
}

/* patch_entry makes an entry call the hook. */
static void patch_entry(struct entries *e, u64 at) {
  enum { LONGEST = 15 }; /* of an instruction */
  u8 code[CALL_SIZE + LONGEST];
  if (at < e->code || at + 2 * LONGEST > ((e->code_end + 4095) & ~4095ul) || !(at = entry_of(at))) {
    e->unknown++;
    return;
  }
  u32 n = nops((u8 *)at, CALL_SIZE);
  if (n < CALL_SIZE || n > sizeof code) {
    e->shorter++;
    return;
  }
  code[0] = 0xe8;
  *(i32 *)(code + 1) = (i32)((u64)e->thunk - (at + CALL_SIZE));
  for (u32 i = CALL_SIZE; i < n; i++) code[i] = 0x90;
  i64 err = __cairn_patch(at, code, n);
  if (err < 0) e->other++, e->error = err;
  else e->patched++;
}

/* make_thunk makes a jump to the hook near the code. */
static int make_thunk(struct entries *e) {
  if (!(e->thunk = __cairn_near(e->code, e->code_end, 4096))) return 0;
  static const u8 jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* to the address after it */
  copy(e->thunk, jump, sizeof jump);
  *(u64 *)(e->thunk + sizeof jump) = (u64)&__cairn_hook_call;
  return __cairn_seal(e->thunk, 4096) >= 0;
}

static void print_entries(const char *name, const struct entries *e, const char *why) {
  char b[1024], *q = put(b, "entries ");
  q = put_number(q, e->patched);
  if (e->shorter) q = put_number(put(q, " short="), e->shorter);
  if (e->unknown) q = put_number(put(q, " unknown="), e->unknown);
  if (e->other) q = put_number(put(put_number(put(q, " failed="), e->other), " errno="), (u64)-e->error);
  if (why) q = put(put(q, " "), why);
  q = put(q, " in ");
  for (u32 i = 0; name[i] && i < 600; i++) *q++ = name[i];
  *q = 0;
  __cairn_hook_summary(b);
}

/* patch_module hooks the functions in the list of one module. */
static int patch_module(struct loaded *m, u64 size, void *arg) {
  struct entries e;
  const char *refused = arg, *path = m->name && *m->name ? m->name : "/proc/self/exe";
  (void)size;
  clear(&e, sizeof e);
  e.code = NONE;
  for (u32 i = 0; i < m->phnum; i++)
    if (m->phdr[i].type == PT_LOAD && m->phdr[i].flags & 1) {
      e.code = least(e.code, m->bias + m->phdr[i].vaddr);
      e.code_end = most(e.code_end, m->bias + m->phdr[i].vaddr + m->phdr[i].memsz);
    }
  i64 fd = e.code < e.code_end ? sys3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0) : -1;
  if (fd < 0) return 0;
  find_list(fd, m, &e);
  sys1(SYS_close, fd);
  u64 room = 0; /* it must be mapped, whatever the file contains */
  for (u32 i = 0; i < m->phnum; i++)
    if (m->phdr[i].type == PT_LOAD && e.list - m->bias - m->phdr[i].vaddr < m->phdr[i].memsz)
      room = (m->phdr[i].memsz - (e.list - m->bias - m->phdr[i].vaddr)) / 8;
  e.count = least(e.count, room);
  if (!e.count) return 0;
  if (!refused && !make_thunk(&e)) refused = "no memory near the code";
  for (u64 i = 0; !refused && i < e.count; i++) patch_entry(&e, ((u64 *)e.list)[i]);
  print_entries(m->name && *m->name ? m->name : "the program", &e, refused);
  return 0;
}

/* patch_entries does that in all loaded modules. refused: the reason why hooks cannot be enabled. */
HIDDEN void __cairn_patch_entries(const char *refused) {
  if (dl_iterate_phdr) dl_iterate_phdr(patch_module, (void *)refused);
}
