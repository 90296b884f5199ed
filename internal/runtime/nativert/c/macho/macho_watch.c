/* The clock's thread looks at the others: see watch_sample.h. Mach tells for how long a thread has run, up to the last time that it
 * stopped, and whether it waits. While one is suspended only Mach is called, by addresses that dyld has looked up before: it may have any lock. */

#define own_tid() thread_number()
#define nap() mach_wait_until(mach_absolute_time() + MS * shared.process->denom / shared.process->numer)
#define forget_handle(w) mach_port_deallocate(mach_task_self_, (w)->port)
#define is_exact(k) 1
#define rests(k) ((k)->rests)
#define slack(x) ((x).in == RAN ? QUANTUM : 2000) /* times have us */
#define others_gone(p) 0
#define place_of_context(c) (c)->pc
#define state_of_watched(p, w) (w)->state

enum { QUANTUM = 10 * MS, MACH = LOG_MACH_TRAPS, PAGE = 4096 };
#define FAULT 0xfffffffel

extern u32 mach_thread_self(void) WEAK;
extern int mach_port_deallocate(u32, u32) WEAK;
extern u64 clock_gettime_nsec_np(int) WEAK;

#include "watch_threads.h"

/* ---- threads ---- */

/* watch_thread makes this thread be watched, and returns its place, 0 if there is none. */
static struct watched *watch_thread(struct process *p) {
  struct watch *k = p->watch;
  u32 tid = own_tid();
  struct watched *w = watched_of(k, tid);
  if (!k || w || tid == k->own) return w;
  for (u32 i = 0; i < WATCHED; i++) {
    w = &k->thread[(tid / 4 + i) % WATCHED];
    if (__atomic_exchange_n(&w->claimed, 1, __ATOMIC_ACQ_REL)) continue;
    w->low = w->high = w->ended = 0, w->state = 0;
    own_stack(&w->low, &w->high);
    w->port = mach_thread_self();
    store(&w->tid, tid);
    return w;
  }
  add(&k->unwatched, 1);
  return 0;
}

/* unwatch_own makes the clock's thread, which is this one, be no longer watched. */
static void unwatch_own(struct watch *k) {
  struct watched *w = watched_of(k, k->own = own_tid());
  if (!w) return;
  forget_handle(w);
  store(&w->tid, 0);
  store(&w->claimed, 0);
}

static watched_hook other_hook;
static u32 hooked; /* other_hook is known */

/* thread_event is called by each thread that begins or ends. */
static void thread_event(u32 event, u64 thread, void *at, u64 size) {
  enum { BEGINS = 2, ENDS = 3 };
  struct process *p = shared.process;
  while (!load(&hooked)) nap();
  if (other_hook) other_hook(event, thread, at, size);
  if (!p || !p->watch || (event != BEGINS && event != ENDS)) return;
  struct watched *w = event == BEGINS ? watch_thread(p) : watched_of(p->watch, own_tid());
  if (w && event == ENDS) store(&w->ended, 1);
}

/* ---- what Mach tells ---- */

static int ask(struct watch *k, const struct watched *w, struct about *x) {
  enum { EXTENDED_INFO = 5 };
  u32 n = sizeof *x / 4;
  return !k->mach.info(w->port, EXTENDED_INFO, (i32 *)x, &n);
}

static int has_ended(struct watched *w) { return load(&w->ended) || !ask(shared.process->watch, w, &shared.process->watch->about); }

/* cpu_of_watched returns how long a thread has run, in ns, and notes whether it waits. Of one that runs it is late. */
static u64 cpu_of_watched(struct watch *k, const struct watched *w) {
  enum { RUNNING = 1 };
  u64 last = w->n ? w->ring[0][(w->n - 1) % SAMPLES].cpu : 0;
  k->about.run_state = 0;
  if (!ask(k, w, &k->about)) return k->rests = 1, last;
  k->rests = k->about.run_state != RUNNING;
  return most(k->about.user + k->about.system, last);
}

static u64 cpu_ns(struct process *p, u64 n) { return n; }
static u64 cpu_step(const struct watch *k) { return 0; }

/* own_cpu returns how long this thread has run, exactly. */
static u64 own_cpu(struct watch *k, const struct watched *w) {
  enum { THREAD_CPUTIME = 16 };
  u64 v = clock_gettime_nsec_np ? clock_gettime_nsec_np(THREAD_CPUTIME) : 0;
  struct about x;
  return v || !ask(k, w, &x) ? v : x.user + x.system;
}

static u32 name_of_watched(const struct watched *w, char *to) {
  struct about x;
  x.name[0] = 0;
  if (!ask(shared.process->watch, w, &x)) return 0;
  u32 n = 0;
  for (; n < sizeof x.name && x.name[n]; n++) to[n] = x.name[n];
  return n;
}

/* ---- a look ---- */

static u64 read_memory(const struct watch *k, u64 at, void *to, u64 n) {
  u64 done = 0;
  return k && !k->mach.read(mach_task_self_, at, n, (u64)to, &done) && done == n ? n : 0;
}

/* copy_stack copies a stack from k->low on, and returns how much of it. */
static u64 copy_stack(struct watch *k, const struct watched *w) {
  u64 done = 0, n = 1;
  if (k->low >= w->low && k->low < w->high) return read_memory(k, k->low, k->copy, least(COPY, w->high - k->low));
  for (; n && done < COPY; done += n) n = read_memory(k, k->low + done, k->copy + done, least(PAGE - (k->low + done) % PAGE, COPY - done));
  return done;
}

#if __aarch64__
#define ARGUMENT(n) (n)
#define REGISTER_FP 29
#define REGISTER_SP 31
#define REGISTER_PC 32
enum { STATE = 6, STATE_WORDS = 68 };

/* call_of returns the number of the system call whose instruction is in front of a place, RAN if there is none. */
static i64 call_of(const struct watch *k, u64 pc) {
  u32 code = 0;
  i64 n = (i32)k->state[16];
  if (!read_memory(k, pc - 4, &code, 4) || (code & 0xffe0001f) != 0xd4000001) return RAN;
  return n < 0 ? MACH - n : n;
}
#else
#define ARGUMENT(n) ((n) == 0 ? 4 : (n) == 1 ? 5 : 10) /* rdi, rsi; 3: r10 */
#define REGISTER_FP 6
#define REGISTER_SP 7
#define REGISTER_PC 16
enum { STATE = 4, STATE_WORDS = 42 };

static i64 call_of(const struct watch *k, u64 pc) {
  enum { CLASS_MACH = 1 };
  unsigned short code = 0;
  u32 n = (u32)k->state[0];
  if (!read_memory(k, pc - 2, &code, 2) || code != 0x050f) return RAN;
  return (n >> 24 == CLASS_MACH ? MACH : 0) + (n & 0xffffff);
}
#endif

/* find_context finds where a thread is that was stopped: in a function that makes a system call and has no frame, or else in one that
 * has its frame, unless its return address is seen to be that of a leaf. */
static void find_context(struct process *p, struct watch *k) {
  struct context *c = &k->context;
  struct span s = {k->low, k->high, k->delta, 0};
  u64 fp = k->state[REGISTER_FP], sp = k->state[REGISTER_SP], pc = k->state[REGISTER_PC], f[2] = {0, 0};
  k->call = call_of(k, pc);
#if __aarch64__
  u64 next = k->state[30] & ADDRESS, of = start_of(p, next);
  int leaf = k->call != RAN || (of && start_of(p, pc) && of != start_of(p, pc));
#else
  u64 next = sp + 8 <= k->high ? *(u64 *)(sp + k->delta) : 0;
  int leaf = k->call != RAN;
#endif
  if (leaf) *c = (struct context){pc, sp, next, fp};
  else if (fp >= sp && frame_at(&s, fp, f)) *c = (struct context){pc, fp + FRAME, f[1], f[0]};
  else *c = (struct context){pc, sp, 0, 0};
}

/* same_place reports whether a thread is where it was when its registers were copied. */
static int same_place(const struct watch *k, const struct watched *w) {
  u64 now[STATE_WORDS / 2];
  u32 words = STATE_WORDS;
  return !k->mach.state(w->port, STATE, (u32 *)now, &words) && now[REGISTER_PC] == k->state[REGISTER_PC] && now[REGISTER_SP] == k->state[REGISTER_SP] &&
         now[REGISTER_FP] == k->state[REGISTER_FP];
}

/* stop copies the registers and the stack of a thread, and reports whether it could. One that waits is not suspended, but must be at
 * the same place after that: a program that suspends its threads might suspend this one while this one suspends that program's thread. Only a
 * thread that runs in a call that is late is suspended. */
static int stop(struct watch *k, const struct watched *w) {
  enum { RUNNING = 1 };
  u32 words = STATE_WORDS;
  u64 n = 0;
  if (load(&w->ended) || !ask(k, w, &k->about)) return 0;
  int runs = k->about.run_state == RUNNING;
  if (runs && k->mach.suspend(w->port)) return 0;
  if (!k->mach.state(w->port, STATE, (u32 *)k->state, &words)) {
    k->low = k->state[REGISTER_SP] & -16ul;
    n = copy_stack(k, w);
  }
  if (runs) k->mach.resume(w->port);
  else if (n && !same_place(k, w)) return 0;
  k->high = k->low + n;
  k->delta = (u64)k->copy - k->low;
  if (n) find_context(shared.process, k);
  return n != 0;
}

/* holder_of returns the thread that has the lock which a stopped thread waits for, 0 if it is not known. The system call for a mutex gets
 * the thread that had it. That for an os_unfair_lock, which newer systems use for mutexes too, gets its address: there is the port of the
 * thread that has it, whose lowest bit tells something else. */
static u32 holder_of(const struct watch *k, const struct watched *w) {
  enum { MUTEXWAIT = 301, ULOCK_WAIT = 515, ULOCK_WAIT2 = 544, OPERATION = 0xff, UNFAIR_LOCK = 2 };
  const u64 *r = k->state;
  u32 owner = 0, of = 0;
  u64 lock = r[ARGUMENT(k->call == MUTEXWAIT ? 0 : 1)];
  if (k->call == MUTEXWAIT) of = (u32)r[ARGUMENT(3)];
  if ((k->call == ULOCK_WAIT || k->call == ULOCK_WAIT2) && (r[ARGUMENT(0)] & OPERATION) == UNFAIR_LOCK && read_memory(k, lock, &owner, 4) && owner)
    for (const struct watched *x = k->thread; x < k->thread + WATCHED; x++)
      if (load(&x->tid) && x->port == (owner | 1)) of = x->tid;
  ((struct watched *)w)->lock = lock;
  return of == w->tid ? 0 : of;
}

/* call_at returns the number of the system call that a thread that waits is in, or RAN. */
static i64 call_at(const struct watch *k, u64 pc) {
  enum { UNINTERRUPTIBLE = 4 };
  return k->call == RAN && k->about.run_state == UNINTERRUPTIBLE ? FAULT : k->call;
}

#include "watch_sample.h"

/* start_watch makes the place for what is seen; without it, calls have no causes. */
static void start_watch(struct process *p) {
  struct mach m = {thread_suspend, thread_resume, thread_get_state, thread_info, vm_read_overwrite};
  if (!m.suspend || !m.resume || !m.state || !m.info || !m.read || !mach_thread_self || !mach_port_deallocate) return;
  struct watch *k = mmap(0, sizeof *k, PROT_RW, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (k == (struct watch *)-1) return;
  k->mach = m;
  p->watch = k;
  watch_thread(p);
}

/* put_unseen tells of threads that were not looked at, and of calls without room. */
static void put_unseen(const struct process *p, u64 *f) {
  if (p->watch) f[22] = p->watch->no_room, f[23] = p->watch->unwatched;
}

static void clock_begins(struct process *p) {
  if (p->watch) unwatch_own(p->watch);
}

/* hear makes threads that begin be watched. This image stays. */
static void hear(struct process *p) {
  if (!p->watch || !pthread_introspection_hook_install) return;
  other_hook = pthread_introspection_hook_install(thread_event);
  store(&hooked, 1);
}

/* fork_watch makes a child watch this thread alone. */
static void fork_watch(struct process *p, struct thread *t) {
  struct watch *k = p->watch;
  if (!k) return;
  k->own = k->used = k->frees = k->unwatched = k->no_room = 0, k->due = k->look_due = 0, k->chunk = 0, k->lock = 0;
  for (struct watched *w = k->thread; w < k->thread + WATCHED; w++)
    w->tid = w->claimed = w->no_room = 0, w->n = w->waits = w->still = w->looked = w->due = 0, w->record = 0;
  struct watched *w = watch_thread(p);
  if (w) w->state = t;
}
