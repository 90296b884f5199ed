/* Jumps to trampolines are written over the first bytes of functions, and imports are replaced. Those of images that are loaded already
 * are written while all other threads are suspended, if there are any; those of an image that the loader loads later before its code
 * runs. */

IMPORT(void *, CreateToolhelp32Snapshot, u32, u32);
IMPORT(i32, Thread32First, void *, void *);
IMPORT(i32, Thread32Next, void *, void *);
IMPORT(i32, SetThreadContext, void *, const struct context *);
IMPORT(void *, GetProcessHeap, void);
IMPORT(i32, HeapLock, void *);
IMPORT(i32, HeapUnlock, void *);

#include "coff_plan.c"

/* put_name puts the last part of a path. */
static u16 *put_name(u16 *q, const u16 *path, u32 n) {
  enum { MOST = 100 };
  u32 from = n;
  while (from && path[from - 1] != '\\' && path[from - 1] != '/') from--;
  for (u32 i = from; i < n && i - from < MOST; i++) *q++ = path[i];
  return q;
}

/* tell_command appends a line to the file that the command which runs the program reads. Without one, why nothing is hooked is
 * printed. */
static void tell_command(const u16 *why, u32 hooked, const u8 *image) {
  static u16 path[MAX_PATH], name[MAX_PATH], line[512];
  enum { APPEND = 4, OPEN_EXISTING = 3 };
  static char bytes[1024];
  u32 done, n = GetEnvironmentVariableW(u"CAIRN_HOOK_SUMMARY", path, MAX_PATH), length = GetModuleFileNameW(image, name, MAX_PATH);
  u16 *q = put(line, !why ? u"0 detours hooked " : n ? u"0 detours refused " : u"cairn: functions are not hooked: ");
  if (!why) q = put_name(put(put_number(q, hooked), u" of "), name, length);
  else if (image && is_dll(image)) q = put(put(put_name(q, name, length), u": "), why);
  else q = put(q, why);
  *q++ = '\n';
  if (!n && why) print(line, (u32)(q - line));
  void *f = n && n < MAX_PATH ? CreateFileW(path, APPEND, SHARE_ALL, 0, OPEN_EXISTING, NORMAL, 0) : (void *)-1;
  if (f == (void *)-1) return;
  i32 size = WideCharToMultiByte(UTF8, 0, line, (i32)(q - line), bytes, sizeof bytes, 0, 0);
  if (size > 0) WriteFile(f, bytes, (u32)size, &done, 0);
  CloseHandle(f);
}

/* ---- other threads ---- */

#ifndef OTHERS
#define OTHERS 4096
#endif
static void *others[OTHERS]; /* handles of suspended threads */
static u32 suspended_threads;

/* copy_of returns where the copy of an instruction is that begins within the bytes of a jump, 0 if none does. */
static u64 copy_of(const struct placed *x, u64 pc) {
  const struct site *sites = sites_of(x->plan);
  u64 at = pc - moved_by(x), lo = 0, hi = x->plan->sites;
  while (lo < hi) {
    u64 mid = (lo + hi) / 2;
    if (sites[mid].at + JUMP <= at) lo = mid + 1;
    else hi = mid;
  }
  if (lo == x->plan->sites || at <= sites[lo].at || at - sites[lo].at >= JUMP || !sites[lo].inner[at - sites[lo].at - 1]) return 0;
  return (u64)x->blob + sites[lo].entry + sites[lo].inner[at - sites[lo].at - 1];
}

/* leave_site moves a suspended thread that is in the bytes of a jump to the copy of its instruction. */
static void leave_site(void *thread) {
  static struct context c;
  enum { CONTROL = 0x100001 };
  c.flags = CONTROL;
  u64 to = 0;
  if (!GetThreadContext(thread, &c)) return;
  for (const struct placed *x = placed; x < placed + places && !to; x++) to = copy_of(x, c.rip);
  if (to) c.rip = to, SetThreadContext(thread, &c);
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

/* ---- jumps ---- */

/* write_piece writes the jumps from a site on whose bytes are in one piece of memory, and returns the index of the next site. */
static u32 write_piece(const struct placed *x, u32 i, u32 *written) {
  const struct site *sites = sites_of(x->plan);
  struct region r;
  u64 moved = moved_by(x), from = sites[i].at + moved;
  u32 was, unused, n = x->plan->sites;
  if (!VirtualQuery(from, &r, sizeof r)) return n;
  u64 end = r.base + r.size, to = from;
  u32 last = i;
  while (last < n && sites[last].at + moved + JUMP <= end) to = sites[last++].at + moved + JUMP;
  if (last == i) return i + 1;
  if (!VirtualProtect((void *)from, to - from, READWRITE, &was)) return n;
  for (u32 k = i; k < last; k++) {
    u8 *at = (u8 *)(sites[k].at + moved);
    *(i32 *)(at + 1) = (i32)((u64)x->blob + sites[k].entry - (u64)(at + JUMP));
    *(volatile u8 *)at = 0xe9;
  }
  VirtualProtect((void *)from, to - from, was, &unused);
  FlushInstructionCache((void *)-1, (void *)from, to - from);
  *written += last - i;
  return last;
}

static u32 write_jumps(const struct placed *x) {
  u32 written = 0;
  for (u32 i = 0; i < x->plan->sites;) i = write_piece(x, i, &written);
  return written;
}

/* tell_written tells how many functions of an image are hooked. */
static void tell_written(const struct placed *x, u32 written) { tell_command(written ? 0 : u"the system allows no change of its code", written, x->base); }

/* ---- imports ---- */

/* An entry of the directory of imports. */
struct import {
  u32 names, unused[2], library, functions;
};

/* replace replaces an import, for good. */
static void replace(u64 *at, u64 by) {
  u32 was, unused;
  if (!VirtualProtect(at, sizeof *at, READWRITE, &was)) return;
  store(at, by);
  VirtualProtect(at, sizeof *at, was, &unused);
}

/* Where control goes on that calls longjmp: C libraries have one each. */
enum { JUMPERS = 4 };
__attribute__((used)) u64 __cairn_longjmp[JUMPERS];

/* jumper_for returns what is called in place of a longjmp, 0 if there is none. */
static u64 jumper_for(u64 longjmp) {
  static void (*const jumpers[JUMPERS])(void) = {__cairn_longjmp_0, __cairn_longjmp_1, __cairn_longjmp_2, __cairn_longjmp_3};
  u32 i = 0;
  while (i < JUMPERS && __cairn_longjmp[i] && __cairn_longjmp[i] != longjmp) i++;
  if (i == JUMPERS) return 0;
  __cairn_longjmp[i] = longjmp;
  return (u64)jumpers[i];
}

/* See coff_child.c. */
static u64 replacement_of(u64 function);
static void find_starts(void);

/* replace_imports makes an image that imports longjmp, or what starts processes, call those of this DLL. These call the ones of kernel32,
 * which call those of kernelbase. */
static void replace_imports(const u8 *base) {
  const u32 *directory = (const u32 *)(optional(base) + 112 + 8);
  u64 size = image_size(base), by;
  if (base == __ImageBase || base == GetModuleHandleW(u"kernel32.dll") || base == GetModuleHandleW(u"kernelbase.dll")) return;
  if (!directory[0] || !directory[1] || directory[0] >= size) return;
  for (const struct import *i = (const struct import *)(base + directory[0]); i->functions && i->functions < size; i++) {
    const u64 *name = i->names && i->names < size ? (const u64 *)(base + i->names) : 0;
    for (u64 *f = (u64 *)(base + i->functions); *f && (!name || *name); f++, name += name != 0) {
      int named = name && *name < size && same_bytes(base + *name + 2, "longjmp", sizeof "longjmp");
      if ((by = named ? jumper_for(*f) : replacement_of(*f))) replace(f, by);
    }
  }
}

/* ---- the process ---- */

/* image_says hooks a DLL that the loader has mapped, before its code runs, and forgets one that it unmaps. */
static void image_says(u32 reason, const struct notice *n, void *unused) {
  enum { LOADED = 1 };
  const u16 *why = 0;
  struct placed *x = 0;
  (void)unused;
  if (reason != LOADED) {
    for (x = placed; x < placed + places; x++)
      if (x->base == n->base) x->base = 0;
    return;
  }
  const struct plan *p = plan_of(n->base, &why);
  if (p) why = place(p, n->base, &x);
  if (x) tell_written(x, write_jumps(x));
  else if (why) tell_command(why, 0, n->base);
  replace_imports(n->base);
}

/* shadow_stacks reports whether the processor keeps return addresses (CET). */
static int shadow_stacks(void) {
  enum { SHADOW_STACK_POLICY = 15 };
  i32 (*policy)(void *, u32, void *, u64) = (i32(*)(void *, u32, void *, u64))GetProcAddress(GetModuleHandleW(u"kernel32.dll"), "GetProcessMitigationPolicy");
  u32 flags = 0;
  return policy && policy((void *)-1, SHADOW_STACK_POLICY, &flags, sizeof flags) && flags & 1;
}

/* hook_loaded hooks what is loaded, and returns what prevents it. */
static const u16 *hook_loaded(void) {
  static const u8 *modules[MODULES];
  static u32 written[PLACED];
  const u16 *why;
  u32 size = 0;
  if (!K32EnumProcessModules((void *)-1, (const void **)modules, sizeof modules, &size)) size = 0;
  size = size / sizeof *modules < MODULES ? size / sizeof *modules : MODULES;
  for (u32 i = 0; i < size; i++) {
    struct placed *x;
    why = 0;
    const struct plan *p = plan_of(modules[i], &why);
    if (p) why = place(p, modules[i], &x);
    if (why) tell_command(why, 0, modules[i]);
  }
  why = suspend_others();
  for (u32 i = 0; !why && i < places; i++) written[i] = write_jumps(&placed[i]);
  for (u32 i = 0; !why && i < size; i++) replace_imports(modules[i]);
  resume_others();
  for (u32 i = 0; !why && i < places; i++) tell_written(&placed[i], written[i]);
  return why;
}

/* hook hooks the functions of the plans, and returns what prevents it. */
static const u16 *hook(void) {
  typedef i32 (*listener)(u32, void (*)(u32, const struct notice *, void *), void *, void **);
  static u16 path[MAX_PATH];
  static void *cookie;
  const u16 *why;
  u32 n = GetEnvironmentVariableW(u"CAIRN_DETOURS", path, MAX_PATH), tls;
  if (!n || n >= MAX_PATH) return u"CAIRN_DETOURS does not name a plan";
  if ((why = map_plans(path))) return why;
  if (shadow_stacks()) return u"shadow stacks (CET) are enabled";
  if ((tls = TlsAlloc()) >= SLOTS) return u"none of the first 64 slots of thread-local storage is left";
  __cairn_detour_slot = TLS_SLOTS + 8 * tls;
  find_starts();
  if ((why = hook_loaded())) return why;
  listener listen = (listener)GetProcAddress(GetModuleHandleW(u"ntdll.dll"), "LdrRegisterDllNotification");
  if (listen) listen(0, image_says, 0, &cookie);
  return 0;
}

/* load_plan hooks functions, or tells why not: then the program runs as it is. */
static void load_plan(struct process *p) {
  const u16 *why = p && !plans && !p->off ? hook() : 0;
  if (why) tell_command(why, 0, 0);
}
