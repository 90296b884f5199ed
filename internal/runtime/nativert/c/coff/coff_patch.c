/* The plan of detours is read, trampolines are put near the program, and jumps to them are written over the first bytes of functions.
 * Memory is never writable and executable at a time. Meanwhile all other threads are suspended, if there are any. */

/* The file of a plan, which internal/instrument/detour writes. */
struct plan {
  char magic[8];
  u32 version, sites, fixups, blob;
  u64 base; /* preferred address of the image */
  u32 image, stamp; /* SizeOfImage, TimeDateStamp */
  u32 functions, table; /* of the trampolines, and their place in the blob */
  u8 id_len, id[20], derived, pad[2]; /* derived: the program has none */
};
struct site {
  u64 at;
  u32 entry;
  u8 original[5], inner[4], pad[3];
};
struct fixup {
  u32 at, kind;
  u64 target;
};
_Static_assert(sizeof(struct plan) == 72 && sizeof(struct site) == 24 && sizeof(struct fixup) == 16, "package detour");

IMPORT(i32, RtlAddFunctionTable, const void *, u32, u64);
IMPORT(void *, CreateToolhelp32Snapshot, u32, u32);
IMPORT(i32, Thread32First, void *, void *);
IMPORT(i32, Thread32Next, void *, void *);
IMPORT(i32, SetThreadContext, void *, const struct context *);
IMPORT(void *, GetProcessHeap, void);
IMPORT(i32, HeapLock, void *);
IMPORT(i32, HeapUnlock, void *);

enum { JUMP = 5, PAGE_RX = 0x20, MAP_READ = 4 };

static const struct plan *plan;
static const struct site *sites;
static const struct fixup *fixups;
static u64 image_base, moved; /* moved: from the preferred address */

static u64 moved_from(u64 pc) {
  u64 base = 0;
  if (pc - (u64)blob >= blob_size) return 0;
  const struct function *f = RtlLookupFunctionEntry(pc, &base, 0);
  return f && base == (u64)blob ? *(const u64 *)(base + f->begin - 8) + 1 : 0;
}

/* tell_command appends a line to the file that the command which runs the program reads. Without one, why nothing is hooked is
 * printed. */
static void tell_command(const u16 *why) {
  static u16 path[MAX_PATH], line[256];
  enum { APPEND = 4, OPEN_EXISTING = 3 };
  static char bytes[512];
  u32 done, n = GetEnvironmentVariableW(u"CAIRN_HOOK_SUMMARY", path, MAX_PATH);
  u16 *q = why ? put(put(line, n ? u"0 detours refused " : u"cairn: functions are not hooked: "), why) : put_number(put(line, u"0 detours hooked "), hooked);
  *q++ = '\n';
  if (!n && why) print(line, (u32)(q - line));
  void *f = n && n < MAX_PATH ? CreateFileW(path, APPEND, SHARE_ALL, 0, OPEN_EXISTING, NORMAL, 0) : (void *)-1;
  if (f == (void *)-1) return;
  i32 size = WideCharToMultiByte(UTF8, 0, line, (i32)(q - line), bytes, sizeof bytes, 0, 0);
  if (size > 0) WriteFile(f, bytes, (u32)size, &done, 0);
  CloseHandle(f);
}

static int same_bytes(const void *a, const void *b, u64 n) {
  const u8 *x = a, *y = b;
  while (n && *x == *y) x++, y++, n--;
  return !n;
}

/* map_plan maps the file of the plan, and returns what is wrong with it. */
static const u16 *map_plan(const u16 *path) {
  enum { READ = (i32)0x80000000, OPEN_EXISTING = 3, READONLY = 2 };
  u64 size = 0;
  void *f = CreateFileW(path, (u32)READ, SHARE_ALL, 0, OPEN_EXISTING, NORMAL, 0);
  if (f == (void *)-1) return u"the plan cannot be read";
  void *m = GetFileSizeEx(f, &size) ? CreateFileMappingW(f, 0, READONLY, 0, 0, 0) : 0;
  plan = m ? MapViewOfFile(m, MAP_READ, 0, 0, 0) : 0;
  if (m) CloseHandle(m);
  CloseHandle(f);
  if (!plan || size < sizeof *plan || !same_bytes(plan->magic, "cairndpe", 8) || plan->version != 1) return u"the plan cannot be read";
  u64 need = sizeof *plan + plan->sites * (u64)sizeof *sites + plan->fixups * (u64)sizeof *fixups + plan->blob;
  if (size < need || !plan->sites || plan->blob < 8 || plan->id_len > sizeof plan->id || plan->table + plan->functions * 12ull > plan->blob) return u"the plan is truncated";
  sites = (const struct site *)(plan + 1);
  fixups = (const struct fixup *)(sites + plan->sites);
  return 0;
}

/* differs returns how the program differs from that of the plan, 0 if it does not. */
static const u16 *differs(const u8 *base) {
  const struct codeview *id = find_id(base);
  const u16 *why = u"its plan is of another program";
  image_base = (u64)base, moved = image_base - plan->base;
  if (image_size(base) != plan->image || *(const u32 *)(optional(base) - 16) != plan->stamp) return why;
  if (plan->id_len && !plan->derived && (!id || !same_bytes(id->id, plan->id, plan->id_len))) return why;
  for (u32 i = 0; i < plan->sites; i++) {
    const struct site *s = &sites[i];
    if (s->at - plan->base >= plan->image - JUMP || s->entry >= plan->blob || (i && s->at < s[-1].at + JUMP)) return u"its plan is damaged";
    if (!same_bytes((const void *)(s->at + moved), s->original, JUMP)) return u"its code differs from its file";
  }
  if (plan->derived) copy(planned_id.id, plan->id, sizeof planned_id.id), planned_base = base;
  return 0;
}

/* ---- trampolines ---- */

/* near reserves memory that is within reach of the whole image. */
static u8 *near(u64 size) {
  enum { FREE = 0x10000 };
  const u64 reach = 0x7ff00000;
  u64 end = image_base + plan->image, from = end > reach ? end - reach : GRAIN;
  struct region r;
  for (u64 at = most(from, GRAIN); at + size - image_base < reach || at < image_base; at = r.base + r.size) {
    if (!VirtualQuery(at, &r, sizeof r)) return 0;
    u64 begin = (most(r.base, from) + GRAIN - 1) & -(u64)GRAIN;
    if (r.use != FREE || begin + size > r.base + r.size) continue;
    if (begin > image_base && begin + size - image_base >= reach) return 0;
    u8 *found = VirtualAlloc((void *)begin, size, MEM_RESERVE | MEM_COMMIT, READWRITE);
    if (found) return found;
  }
  return 0;
}

/* place puts the trampolines near the image, and returns what prevents it. */
static const u16 *place(void) {
  enum { FIXUP_ADDRESS = 1 };
  u8 *b = near(plan->blob);
  u32 was;
  if (!b) return u"there is no free memory near its code";
  copy(b, fixups + plan->fixups, plan->blob);
  *(u64 *)b = (u64)__cairn_detour_hook;
  for (u32 i = 0; i < plan->fixups; i++) {
    const struct fixup *f = &fixups[i];
    if (f->at > plan->blob - 8ull) return u"its plan is damaged";
    u64 target = f->target + moved;
    if (f->kind == FIXUP_ADDRESS) *(u64 *)(b + f->at) = target;
    else *(i32 *)(b + f->at) = (i32)(target - (u64)(b + f->at) - 4);
  }
  if (!VirtualProtect(b, plan->blob, PAGE_RX, &was)) return u"the system allows no new code";
  if (!RtlAddFunctionTable(b + plan->table, plan->functions, (u64)b)) return u"their unwind information is rejected";
  FlushInstructionCache((void *)-1, b, plan->blob);
  blob_size = plan->blob;
  store(&blob, b);
  return 0;
}

/* ---- jumps ---- */

#ifndef OTHERS
#define OTHERS 4096
#endif
static void *others[OTHERS]; /* handles of suspended threads */
static u32 suspended_threads;

/* leave_site moves a suspended thread that is in the bytes of a jump to the copy of its instruction. */
static void leave_site(void *thread) {
  static struct context c;
  enum { CONTROL = 0x100001 };
  c.flags = CONTROL;
  u64 at, lo = 0, hi = plan->sites;
  if (!GetThreadContext(thread, &c)) return;
  at = c.rip - moved;
  while (lo < hi) {
    u64 mid = (lo + hi) / 2;
    if (sites[mid].at + JUMP <= at) lo = mid + 1;
    else hi = mid;
  }
  if (lo == plan->sites || at <= sites[lo].at || at - sites[lo].at >= JUMP || !sites[lo].inner[at - sites[lo].at - 1]) return;
  c.rip = (u64)blob + sites[lo].entry + sites[lo].inner[at - sites[lo].at - 1];
  SetThreadContext(thread, &c);
}

/* suspend_others suspends all other threads, until a list has no more of them, and returns what prevents it. To make a list needs the heap
 * in Wine, so no suspended thread may have its lock. */
static const u16 *suspend_others(void) {
  enum { THREADS = 4, ACCESS = 2 | 8 | 16 /* suspend, get and set the context */, DENIED = 5 };
  static u32 known[OTHERS];
  struct {
    u32 size, usage, tid, pid, priority[2], flags;
  } x;
  const u16 *why = 0;
  HeapLock(GetProcessHeap());
  for (int more = 1; more && !why;) {
    void *list = CreateToolhelp32Snapshot(THREADS, 0);
    more = 0;
    if (list == (void *)-1) return u"its threads cannot be listed";
    x.size = sizeof x;
    for (i32 ok = Thread32First(list, &x); ok && !why; ok = Thread32Next(list, &x)) {
      u32 i = 0;
      while (i < suspended_threads && known[i] != x.tid) i++;
      if (x.pid != state->pid || x.tid == GetCurrentThreadId() || i < suspended_threads) continue;
      void *h = suspended_threads < OTHERS ? OpenThread(ACCESS, 0, x.tid) : 0;
      if (suspended_threads == OTHERS) why = u"it has too many threads";
      else if (!h && GetLastError() == DENIED) why = u"one of its threads cannot be suspended";
      if (!h) continue; /* it has ended */
      if (SuspendThread(h) == (u32)-1) CloseHandle(h);
      else known[suspended_threads] = x.tid, others[suspended_threads++] = h, more = 1;
    }
    CloseHandle(list);
  }
  for (u32 i = 0; !why && i < suspended_threads; i++) leave_site(others[i]);
  return why;
}

static void resume_others(void) {
  while (suspended_threads) {
    void *h = others[--suspended_threads];
    ResumeThread(h);
    CloseHandle(h);
  }
  HeapUnlock(GetProcessHeap());
}

/* write_jumps writes the jumps whose bytes are in one piece of memory, and returns the index of the next site. */
static u32 write_jumps(u32 i) {
  struct region r;
  u64 from = sites[i].at + moved;
  u32 was, unused;
  if (!VirtualQuery(from, &r, sizeof r)) return plan->sites;
  u64 end = r.base + r.size, to = from;
  u32 last = i;
  while (last < plan->sites && sites[last].at + moved + JUMP <= end) to = sites[last++].at + moved + JUMP;
  if (last == i) return i + 1;
  if (!VirtualProtect((void *)from, to - from, READWRITE, &was)) return plan->sites;
  for (u32 k = i; k < last; k++) {
    u8 *at = (u8 *)(sites[k].at + moved);
    *(i32 *)(at + 1) = (i32)((u64)blob + sites[k].entry - (u64)(at + JUMP));
    *(volatile u8 *)at = 0xe9;
  }
  VirtualProtect((void *)from, to - from, was, &unused);
  FlushInstructionCache((void *)-1, (void *)from, to - from);
  hooked += last - i;
  return last;
}

/* An entry of the directory of imports. */
struct import {
  u32 names, unused[2], library, functions;
};

/* replace_longjmp makes a program that imports longjmp call the one of this DLL. */
static void replace_longjmp(const u8 *base) {
  const u32 *directory = (const u32 *)(optional(base) + 112 + 8);
  u32 was, unused;
  if (!directory[0] || !directory[1]) return;
  for (const struct import *i = (const struct import *)(base + directory[0]); i->functions; i++) {
    const u64 *name = (const u64 *)(base + i->names);
    for (u64 *f = (u64 *)(base + i->functions); i->names && *name; name++, f++) {
      if (*name >> 63 || !same_bytes(base + *name + 2, "longjmp", sizeof "longjmp")) continue;
      if ((__cairn_longjmp && *f != __cairn_longjmp) || !VirtualProtect(f, sizeof *f, READWRITE, &was)) continue;
      __cairn_longjmp = *f;
      store(f, (u64)__cairn_detour_longjmp);
      VirtualProtect(f, sizeof *f, was, &unused);
    }
  }
}

/* shadow_stacks reports whether the processor keeps return addresses (CET). */
static int shadow_stacks(void) {
  enum { SHADOW_STACK_POLICY = 15 };
  i32 (*policy)(void *, u32, void *, u64) = (i32(*)(void *, u32, void *, u64))GetProcAddress(GetModuleHandleW(u"kernel32.dll"), "GetProcessMitigationPolicy");
  u32 flags = 0;
  return policy && policy((void *)-1, SHADOW_STACK_POLICY, &flags, sizeof flags) && flags & 1;
}

/* hook hooks the functions of the plan, and returns what prevents it. */
static const u16 *hook(void) {
  static u16 path[MAX_PATH];
  const u16 *why;
  u32 n = GetEnvironmentVariableW(u"CAIRN_DETOURS", path, MAX_PATH), tls;
  if (!n || n >= MAX_PATH) return u"CAIRN_DETOURS does not name a plan";
  if ((why = map_plan(path)) || (why = differs(GetModuleHandleW(0)))) return why;
  if (shadow_stacks()) return u"shadow stacks (CET) are enabled";
  if ((tls = TlsAlloc()) >= SLOTS) return u"none of the first 64 slots of thread-local storage is left";
  __cairn_detour_slot = TLS_SLOTS + 8 * tls;
  if ((why = place())) return why;
  why = suspend_others();
  for (u32 i = 0; !why && i < plan->sites;) i = write_jumps(i);
  if (!why) replace_longjmp(GetModuleHandleW(0));
  resume_others();
  if (why) return why;
  return hooked ? 0 : u"the system allows no change of its code";
}

/* load_plan hooks functions, or tells why not: then the program runs as it is. */
static void load_plan(struct process *p) {
  if (p && !plan && !p->off) tell_command(hook());
}
