/* The clock's thread looks at the others, as c/timed/timed_usage.c does: how long they have run, and where they wait. Windows
 * knows the first at any time. For the second, a thread that has not run for a part of the threshold is suspended while its
 * registers and its stack are copied; nothing else but calls of the kernel is done meanwhile, as it may have any lock. The stack is
 * walked in the copy. Both take about a hundredth of a processor at most, but threads are sampled four times in a threshold. */

/* Pages with the same attributes. */
struct region {
  u64 base, allocation, allowed, size;
  u32 use, protection, type, unused;
};

IMPORT(u32, ResumeThread, void *);
IMPORT(i32, GetThreadContext, void *, struct context *);
IMPORT(u64, VirtualQuery, u64, struct region *, u64);
IMPORT(i32, GetThreadTimes, void *, u64 *, u64 *, u64 *, u64 *);

enum { OTHER_CALL = 4095 };
enum { STEP = 20 * MS /* a thread's times may be late by that */, SHARE = 100, PAUSE = SECOND, ROUND = 8 };

/* See coff_open.c. */
static void open_found(struct process *p, struct watch *k, struct watched *w, i64 call);
static void open_lasts(struct watched *w, u64 time);
static void open_left(struct process *p, struct watch *k, struct watched *w);

/* ---- threads ---- */

/* watched_of returns what is known of a thread, 0 if it is not watched. */
static struct watched *watched_of(struct watch *k, u32 tid) {
  for (u32 i = 0; k && i < WATCHED; i++) {
    struct watched *w = &k->thread[(tid / 4 + i) % WATCHED];
    if (load(&w->tid) == tid) return w;
  }
  return 0;
}

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
  struct thread *t = TlsGetValue(p->tls);
  if (t) return t;
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

/* lock_watch takes what belongs to who looks at threads, and reports whether it did: another thread may have been ended with it. */
static int lock_watch(struct watch *k, u32 tries) {
  while (__atomic_exchange_n(&k->lock, 1, __ATOMIC_ACQUIRE)) {
    if (!tries--) return 0;
    Sleep(1);
  }
  return 1;
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

/* look_at finds the stack of a thread, with the times of its calls, and reports whether it could. */
static int look_at(struct process *p, struct watch *k, struct watched *w, u64 *pc) {
  u64 begun = now(p), end;
  if (begun < k->look_due || !stop(k, w)) return 0;
  *pc = k->context.rip;
  w->looked = now(p); /* no stamp on the stack is later */
  walk_copy(p, &k->context, w->looked, &k->stack, k->low, k->high, k->delta);
  k->stack.entry[0].flags |= LOG_ENTRY_EXACT;
  end = now(p);
  k->look_due = end + least(SHARE * (end - begun), p->threshold);
  return k->stack.n != 0;
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

/* note_wait notes that a thread waits in a system call, with its stack, since it has not run, or was seen elsewhere; the samples
 * since then are of that call. */
static void note_wait(struct watch *k, struct watched *w, i64 call, u64 pc) {
  int moved = w->place[0] != k->low || w->place[1] != pc;
  struct wait *x = &w->wait[(w->waits - !moved) % WAITS];
  if (moved && w->place[0]) w->still = w->elsewhere;
  w->in = call, w->place[0] = k->low, w->place[1] = pc, w->elsewhere = w->looked;
  if (call == RAN) return;
  x->to = w->looked;
  u64 from = moved ? w->still : x->from;
  if (moved) x->from = from, x->call = call, x->slots = 1, x->holder = 0;
  u32 holder = holder_of(k, w);
  if (holder) x->holder = holder, x->held = w->looked, x->lock = w->lock;
  x->slot[0][0] = k->low, x->slot[0][1] = pc;
  for (u32 i = 1; moved && i < k->stack.n && x->slots < LOG_MAX_WAIT_STACK; i++, x->slots++)
    x->slot[i][0] = k->stack.sp[i - 1], x->slot[i][1] = k->stack.entry[i].pc;
  store(&w->waits, w->waits + moved);
  for (u32 r = 0; r < RINGS; r++)
    for (u64 n = w->n ? ((w->n - 1) >> r * SHIFT) + 1 : 0, i = n; i-- > less(n, SAMPLES - LAP) && w->ring[r][i % SAMPLES].at > from;)
      w->ring[r][i % SAMPLES].in = call;
}

/* looked notes where a thread is that was looked at. */
static void looked(struct process *p, struct watch *k, struct watched *w, u64 pc) {
  i64 call = w->still ? call_at(k, pc) : RAN;
  if (w->still) note_wait(k, w, call, pc);
  open_found(p, k, w, call);
}

/* ---- samples ---- */

/* forget_thread makes room for another thread. */
static void forget_thread(struct process *p, struct watch *k, struct watched *w) {
  open_left(p, k, w);
  CloseHandle(w->handle);
  w->n = w->waits = w->still = w->looked = w->due = w->no_room = w->lock = 0;
  store(&w->tid, 0);
  store(&w->claimed, 0);
}

/* is_due reports whether a thread is to be looked at: if it has not run for half of the threshold, or when a call of it is over its
 * own. Where times have steps, it is looked at again, as it may have run. Threads that run are looked at once in a second. */
static int is_due(struct process *p, const struct watch *k, const struct watched *w, u64 time) {
  if (!w->still || time - w->still < p->threshold / 2) return time - w->looked >= PAUSE;
  if (w->due && time >= w->due) return 1;
  return !w->place[0] || (!k->cycles && time - w->looked >= p->threshold / 4);
}

/* sample notes how long a thread has run, and looks at it if that is due. */
static void sample(struct process *p, struct watch *k, struct watched *w, u64 time) {
  u64 cpu = cpu_of(k, w->handle), n = w->n, pc;
  const struct sample *last = &w->ring[0][(n - 1) % SAMPLES];
  struct sample x = {time, cpu, RAN};
  int same = n && cpu == last->cpu;
  if (same && thread_ended(w->handle)) {
    forget_thread(p, k, w);
    return;
  }
  if (same && !w->still) w->still = last->at, w->in = k->cycles ? UNKNOWN : RAN, w->place[0] = 0;
  if (!same) w->still = w->due = 0;
  if (same) x.in = k->cycles ? w->in : RAN; /* where times have steps it may have run */
  else if (n && k->cycles && cpu_ns(p, cpu - last->cpu) < (time - last->at) / 2) x.in = UNKNOWN;
  for (u32 r = 0; r < RINGS && !(n & ((1ull << r * SHIFT) - 1)); r++) w->ring[r][(n >> r * SHIFT) % SAMPLES] = x;
  store(&w->n, n + 1);
  if (same && w->in >= 0 && k->cycles) {
    store(&w->wait[(w->waits - 1) % WAITS].to, time);
    open_lasts(w, time);
  }
  if (is_due(p, k, w, time) && look_at(p, k, w, &pc)) looked(p, k, w, pc);
}

/* watch_tick samples some threads. */
static void watch_tick(struct process *p, u64 time) {
  struct watch *k = p->watch;
  u64 end;
  if (!k || is_quiet(p) || time < k->due || !lock_watch(k, 0)) return;
  for (u32 i = 0, done = 0; i < WATCHED && done < ROUND && !load(&p->ended); i++) {
    struct watched *w = &k->thread[k->next++ % WATCHED];
    if (!load(&w->tid)) continue;
    u32 before = w->no_room;
    sample(p, k, w, time), done++;
    k->no_room += w->no_room - before;
  }
  end = now(p);
  k->due = end + least(SHARE * (end - time), p->threshold / 4);
  store(&k->lock, 0);
}

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
