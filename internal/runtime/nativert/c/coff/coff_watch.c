/* The clock's thread looks at the others: see watch_sample.h. Windows knows for how long they have run at any time. While one is suspended
 * nothing else but calls of the kernel is done, as it may have any lock. */

/* Pages with the same attributes. */
struct region {
  u64 base, allocation, allowed, size;
  u32 use, protection, type, unused;
};

IMPORT(u32, ResumeThread, void *);
IMPORT(i32, GetThreadContext, void *, struct context *);
IMPORT(u64, VirtualQuery, u64, struct region *, u64);
IMPORT(i32, GetThreadTimes, void *, u64 *, u64 *, u64 *, u64 *);

/* What the sources that macOS shares get from Windows. */
#define own_tid() GetCurrentThreadId()
#define nap() Sleep(1)
#define has_ended(w) thread_ended((w)->handle)
#define forget_handle(w) CloseHandle((w)->handle)
#define cpu_of_watched(k, w) cpu_of(k, (w)->handle)
#define own_cpu(k, w) cpu_of(k, (w)->handle)
#define is_exact(k) ((k)->cycles != 0) /* a thread that has the same time as before has not run */
#define rests(k) 1 /* the thread of the last time may have rested since the one before */
#define slack(x) 0 /* by how much the time of a sample may be late, ns; see cpu_step */
#define state_of_watched(p, w) state_of(p, (w)->tid)
#define others_gone(p) ((p)->terminates)
#define place_of_context(c) (c)->rip
#define name_of_watched(w, name) read_name((w)->handle, name)

enum { OTHER_CALL = 4095 };
enum { STEP = 20 * MS /* a thread's times may be late by that */ };

#include "watch_threads.h"

/* ---- threads ---- */

/* watch_thread makes this thread be watched. It opens its own handle: its number may be another thread's later. */
static void watch_thread(struct process *p) {
  enum { SUSPEND_RESUME = 2, GET_CONTEXT = 8, QUERY = 0x40 };
  struct watch *k = p->watch;
  u32 tid = GetCurrentThreadId();
  if (!k || tid == k->own || watched_of(k, tid)) return;
  for (u32 i = 0; i < WATCHED; i++) {
    struct watched *w = &k->thread[(tid / 4 + i) % WATCHED];
    if (__atomic_exchange_n(&w->claimed, 1, __ATOMIC_ACQ_REL)) continue;
    __asm__ volatile("movq %%gs:0x30, %0" : "=r"(w->block));
    if ((w->handle = OpenThread(SUSPEND_RESUME | GET_CONTEXT | QUERY | SYNCHRONIZE, 0, tid))) store(&w->tid, tid);
    else store(&w->claimed, 0);
    return;
  }
  add(&k->unwatched, 1);
}

/* state_of returns the state of a thread that runs, 0 if it has none. */
static const struct thread *state_of(struct process *p, u32 tid) {
  const struct thread *t = load(&p->newest);
  while (t && t->tid != tid) t = t->older;
  return t;
}

/* thread_of returns the state of this thread, 0 if there is no memory. */
static struct thread *thread_of(struct process *p) {
  struct thread *t = p->watch && p->tls != (u32)NO_SLOT ? TlsGetValue(p->tls) : 0;
  if (t || !p->watch || p->tls == (u32)NO_SLOT) return t;
  t = VirtualAlloc(0, sizeof *t, MEM_RESERVE | MEM_COMMIT, READWRITE);
  if (!t) return 0;
  t->tid = GetCurrentThreadId();
  t->stack_base[t->stacks++] = (u8 *)stack_base();
  hold_thread(&t->handle);
  t->older = load(&p->newest);
  while (!__atomic_compare_exchange_n(&p->newest, &t->older, t, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  add(&p->threads, 1);
  TlsSetValue(p->tls, t);
  watch_thread(p);
  return t;
}

/* unwatch_own makes the clock's thread, which is this one, be no longer watched. */
static void unwatch_own(struct watch *k) {
  struct watched *w = watched_of(k, k->own = GetCurrentThreadId());
  if (!w) return;
  CloseHandle(w->handle);
  store(&w->tid, 0);
  store(&w->claimed, 0);
}

/* ---- processor time ---- */

static u64 read_tsc(void) {
  u32 low, high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  return (u64)high << 32 | low;
}

/* cpu_of returns how long a thread has run, in cycles or units of 100 ns. */
static u64 cpu_of(struct watch *k, void *handle) {
  u64 v = 0, t[4] = {0, 0, 0, 0};
  if (k->cycles && k->cycles(handle, &v) && v) return v;
  k->cycles = 0;
  GetThreadTimes(handle, t, t + 1, t + 2, t + 3);
  return t[2] + t[3];
}

/* cpu_ns converts a difference of those. */
static u64 cpu_ns(struct process *p, u64 n) {
  struct watch *k = p->watch;
  u64 ms = less(now(p), k->began) / MS, khz = ms ? (read_tsc() - k->tsc) / ms : 0;
  return !k->cycles ? n * 100 : khz ? scaled(n, MS, khz) : 0;
}

/* cpu_step is by how much a difference of those may be wrong, in ns. */
static u64 cpu_step(const struct watch *k) { return k->cycles ? 0 : STEP; }

/* ---- system calls ---- */

/* number_of_word returns the number of a word in a list of words, -1 if it is not in it. */
static i64 number_of_word(const char *list, const char *word) {
  for (i64 n = 0; *list; n++) {
    u32 i = 0;
    while (word[i] && list[i] == word[i]) i++;
    if (!word[i] && (list[i] == ' ' || !list[i])) return n;
    while (*list && *list != ' ') list++;
    if (*list) list++;
  }
  return -1;
}

/* call_in returns the number of the system call that code at an address of a module makes, or RAN: it begins with the last
 * exported name before it. */
static i64 call_in(const u8 *base, u64 pc) {
  enum { STUB = 32 };
  const u32 *directory = (const u32 *)(optional(base) + 112), at = (u32)(pc - (u64)base);
  const u32 *e = (const u32 *)(base + directory[0]);
  const u32 *functions = (const u32 *)(base + e[7]), *names = (const u32 *)(base + e[8]);
  const u16 *ordinals = (const u16 *)(base + e[9]);
  const char *found = 0;
  if (!directory[0] || !directory[1]) return RAN;
  for (u32 i = 0; i < e[6]; i++) {
    u32 begin = functions[ordinals[i]];
    const char *name = (const char *)base + names[i];
    if (begin <= at && at - begin < STUB && name[0] == 'N' && name[1] == 't') found = name;
  }
  if (!found) return RAN;
  i64 n = number_of_word(LOG_WINDOWS_CALLS, found);
  return n < 0 ? OTHER_CALL : n;
}

/* call_at returns the number of the system call that a thread that has not run is in, or RAN. Where times have steps it may have run,
 * if it is in a call in which none waits. */
static i64 call_at(const struct watch *k, u64 pc) {
  for (u32 i = 0; i < 2; i++) {
    const u8 *base = load(&k->calls[i]);
    if (!base || pc - (u64)base >= image_size(base)) continue;
    i64 call = call_in(base, pc);
    return call == OTHER_CALL && !k->cycles ? RAN : call;
  }
  return RAN;
}

/* note_calls notes a module if its functions are system calls. Windows never unloads these. */
static void note_calls(struct process *p, u8 *base, const u16 *path, u32 bytes) {
  static const char names[2][11] = {"ntdll.dll", "win32u.dll"};
  struct watch *k = p->watch;
  for (u32 i = 0; i < 2 && k; i++) {
    u32 n = 0, size = bytes / 2;
    while (names[i][n]) n++;
    int same = size > n && path[size - n - 1] == '\\';
    for (u32 c = 0; same && c < n; c++) same = (path[size - n + c] | 0x20) == (names[i][c] | 0x20);
    if (same) store(&k->calls[i], base);
  }
}

/* ---- a look ---- */

/* readable_to returns where what may be read from an address on ends, in the same allocation, but not behind end. */
static u64 readable_to(u64 at, u64 end) {
  enum { WRITABLE = 0x44, GUARD = 0x100 };
  struct region r;
  u64 first = 0;
  while (at < end && VirtualQuery(at, &r, sizeof r) && r.use == MEM_COMMIT && r.protection & WRITABLE && !(r.protection & GUARD)) {
    if (first && r.allocation != first) break;
    first = r.allocation, at = r.base + r.size;
  }
  return least(at, end);
}

/* hold_end keeps threads from ending the process, and reports whether w does not do that now: the thread that ends it has the loader's
 * lock, ends all others, also this one while it has suspended w, and would remain so for ever if it is w. Where another thread has the
 * lock, w cannot be that thread. */
static int hold_end(struct watch *k, const struct watched *w, u64 *held) {
  enum { TRY = 2, LOCKED = 1, LOADER_LOCK = 0x110 / 8, OWNER = 2 };
  const u64 *process, *loader;
  u32 result = 0;
  *held = 0;
  if (k->lock_loader && k->lock_loader(TRY, &result, held) >= 0 && result == LOCKED) return 1;
  *held = 0;
  __asm__ volatile("movq %%gs:0x60, %0" : "=r"(process));
  loader = (const u64 *)process[LOADER_LOCK];
  return loader && (u32)((volatile const u64 *)loader)[OWNER] != w->tid;
}

/* restore_originals restores return addresses in the copy of a stack, which are those of now. */
static void restore_originals(struct watch *k, u64 n) {
#ifdef CAIRN_DETOURS
  u64 *copy = (u64 *)k->copy;
  read_original(&k->context.rip, k->context.rsp);
  for (u64 i = 0; i < n; i++) read_original(&copy[i], k->low + 8 * i + 8);
#endif
}

/* stop copies the registers and the stack of a thread, and reports whether it could. The thread is suspended only here, maybe
 * while it goes to another stack, of which it has the base already. */
static int stop(struct watch *k, const struct watched *w) {
  enum { CONTROL_INTEGER = 0x100003, BASE = 1, LIMIT = 2 };
  u64 n = 0, held;
  k->context.flags = CONTROL_INTEGER;
  if (!hold_end(k, w, &held)) return 0;
  if (SuspendThread(w->handle) == (u32)-1) {
    if (held) k->unlock_loader(0, held);
    return 0;
  }
  if (GetThreadContext(w->handle, &k->context)) {
    u64 base = k->base = w->block[BASE];
    k->low = k->context.rsp & -16ull;
    if (k->low >= w->block[LIMIT] && k->low < base) n = (readable_to(k->low, least(base, k->low + COPY)) - k->low) / 8;
    for (u64 i = 0; i < n; i++) ((volatile u64 *)k->copy)[i] = ((const volatile u64 *)k->low)[i];
    restore_originals(k, n);
  }
  ResumeThread(w->handle);
  if (held) k->unlock_loader(0, held);
  k->high = k->low + 8 * n;
  k->delta = (u64)k->copy - k->low;
  return n != 0;
}

/* holder_of returns the thread that has the critical section which a thread waits for, 0 if it waits for none. The program may have freed
 * that meanwhile. */
static u32 holder_of(const struct watch *k, const struct watched *w) {
  struct {
    u64 debug;
    i32 count, entered;
    u64 owner;
  } section = {0, 0, 0, 0};
  u64 at = load(&w->lock);
  if (!at || k->low >= w->lock_sp || w->lock_sp >= k->base || !ReadProcessMemory((void *)-1, (void *)at, &section, sizeof section, 0)) return 0;
  return section.owner == w->tid ? 0 : (u32)section.owner;
}

#include "watch_sample.h"

/* start_watch makes the place for what is seen. */
static int start_watch(struct process *p) {
  struct watch *k = VirtualAlloc(0, sizeof *k, MEM_RESERVE | MEM_COMMIT, READWRITE);
  if (!k) return 0;
  k->cycles = (i32 (*)(void *, u64 *))GetProcAddress(GetModuleHandleW(u"kernel32.dll"), "QueryThreadCycleTime");
  k->lock_loader = (i32 (*)(u32, u32 *, u64 *))GetProcAddress(GetModuleHandleW(u"ntdll.dll"), "LdrLockLoaderLock");
  k->unlock_loader = (i32 (*)(u32, u64))GetProcAddress(GetModuleHandleW(u"ntdll.dll"), "LdrUnlockLoaderLock");
  k->tsc = read_tsc(), k->began = now(p);
  p->watch = k;
  watch_thread(p);
  return 1;
}
