/* Calls that have not ended. A call is evaluated when it ends, so one that hangs would leave no
 * trace. Therefore the thread of the log looks at the other threads from outside: where the kernel
 * says that a thread waits, its stack is walked, and the stamps of its calls tell since when they
 * go on. If one is over its threshold, a record in the log describes the stack, and is kept up to
 * date: it is there when the process is killed.
 *
 * A thread is looked at when it has waited for its threshold, and again after it has run. It runs
 * meanwhile, so a look counts only if its processor time is the same before and after. Looks take
 * at most about a hundredth of a processor, whatever the number of threads. */

#include "task.h"
#include "open.h"
#include "wait.h"
#include "walk.h"

enum { OPEN_KINDS = LOG_WAIT_LISTENER | LOG_WAIT_INCOMING | LOG_WAIT_OUTGOING | LOG_WAIT_INTERNAL | LOG_WAIT_FILE | LOG_WAIT_UNKNOWN | LOG_WAIT_THREAD };
enum { COST = 100, PAUSE = SECOND, MAX_WALK = 256 };
enum { REST = (LOG_MAX_PEER + 7) / 8 * 8 + 8, INNER = 16 }; /* the text, and who has the lock */
enum { ENTRIES = (LOG_OPEN_SLOT - LOG_OPEN_SIZE - REST) / LOG_ENTRY_SIZE };

#include "open_record.h"

/* ---- threads ---- */

static u64 cpu_of(i32 tid) { return __cairn_cpu((i64)(i32)(~(u32)tid << 3 | 6)); }

/* read_task reads a file of a thread, and returns its length. */
static i64 read_task(i32 tid, const char *file, char *to, u64 room) {
  char path[64];
  put(put_task(path, tid), file);
  i64 fd = open_file(path, O_RDONLY | O_CLOEXEC, 0), n;
  if (fd < 0) return 0;
  n = sys3(SYS_read, fd, to, room - 1);
  sys1(SYS_close, fd);
  n = n < 0 ? 0 : n;
  to[n] = 0;
  return n;
}

/* place is where a thread waits. */
struct place {
  i64 call; /* number of the system call; -1: it waits elsewhere in the kernel */
  u64 sp, pc;
};

#include "hex.h"

static u64 number_at(const char **s) {
  u64 v = 0;
  while (**s == ' ') ++*s;
  if ((*s)[0] == '0' && (*s)[1] == 'x') {
    *s += 2;
    return hex(s);
  }
  for (; **s >= '0' && **s <= '9'; ++*s) v = v * 10 + (u64)(**s - '0');
  return v;
}

/* waits_at finds out where a thread waits; 0: it runs, or that is not known, as in an emulator. */
static int waits_at(struct process *p, i32 tid, struct place *at) {
  char b[256];
  const char *s = b;
  if (__cairn_calls(p) != OWN_CALLS || !read_task(tid, "/syscall", b, sizeof b) || b[0] == 'r') return 0;
  int none = b[0] == '-';
  if (none) s++;
  at->call = (i64)number_at(&s);
  if (none) at->call = LOG_CALL_FAULT;
  for (int i = 0; !none && i < 6; i++) number_at(&s);
  at->sp = number_at(&s), at->pc = number_at(&s);
  return at->sp && at->pc;
}

static struct watched *watched_of(struct open_state *o, i32 tid) {
  struct watched *empty = 0;
  for (u32 i = 0; i < OPEN_WATCHED; i++) {
    struct watched *w = &o->watched[((u32)tid + i) % OPEN_WATCHED];
    if (w->tid == tid) return w;
    if (!w->tid && !empty) empty = w;
    if (!w->tid && !w->seen) break; /* never used: there is none behind it */
  }
  if (empty) {
    clear(empty, sizeof *empty);
    empty->tid = tid;
  }
  return empty;
}

static int is_own(struct process *p, i32 tid) {
  for (u32 i = 0; i < OWN_THREADS; i++)
    if (load(&p->signal.own[i]) == tid) return 1;
  return 0;
}

/* list finds the threads of the process, if their number has changed, and if there are others than the
 * first one and the runtime's: a listing makes names, see task.h. */
static void list(struct process *p, struct open_state *o) {
  char b[2048];
  u64 stat[STAT_WORDS];
  u32 unwatched = 0;
  i64 n, fd = open_file("/proc/self/task", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return;
  int same = sys2(SYS_fstat, fd, stat) >= 0 && o->listing && LINKS(stat) == o->links;
  if (!same) {
    u32 threads = __cairn_threads(p, fd); /* 0: not known while one of the runtime's begins */
    o->links = threads ? LINKS(stat) : 0;
    o->listing++;
    struct watched *w = watched_of(o, p->pid);
    if (w) w->seen = o->listing;
    same = threads <= 1;
  }
  while (!same && (n = sys3(SYS_getdents64, fd, b, sizeof b)) > 0)
    for (i64 at = 0; at < n; at += *(u16 *)(b + at + 16)) {
      i32 tid = 0;
      for (const char *s = b + at + 19; *s >= '0' && *s <= '9'; s++) tid = tid * 10 + (*s - '0');
      if (!tid || is_own(p, tid)) continue;
      struct watched *w = watched_of(o, tid);
      if (w) w->seen = o->listing;
      else unwatched++;
    }
  if (!same) o->unwatched = unwatched;
  sys1(SYS_close, fd);
}

/* ---- records ---- */

static u64 *fields(const struct open_call *c) { return (u64 *)c->record; }

static void close_call(struct open_call *c, u64 time, u32 how) {
  u64 *f = fields(c);
  if (load(&f[ENDED])) return;
  begin_change(f);
  *(u32 *)(f + FLAGS) |= how;
  store(&f[ENDED], time);
  end_change(f);
}

/* goes_on reports whether the call of a record has its stamp: one that ends late removes it, and what is entered in its place
 * is later. Of old calls the beginning is known less well than before. */
static int goes_on(struct process *p, const struct open_call *c, u64 now) {
  u64 t0, t1;
  return __cairn_entered(p, c->sp, now, &t0, &t1) && t0 <= c->t0 && c->t0 <= t1;
}

/* not_found closes the record of a thread in which no call over its threshold was found, unless that is only since it
 * moved. */
static void not_found(struct process *p, const struct watched *w, u64 now) {
  if (w->call && !goes_on(p, w->call, now)) close_call(w->call, now, 0);
}

/* call_of returns room for the record of a thread: its own, a new one, or that of a call that has ended. */
static struct open_call *call_of(struct process *p, struct open_state *o, struct watched *w, u64 now) {
  if (w->call) return w->call;
  struct open_call *c = 0;
  for (u32 i = 0; i < o->used && !c; i++)
    if (!o->call[i].tid) c = &o->call[i];
  if (!c && o->used < LOG_OPEN_SLOTS * OPEN_CHUNKS) {
    u32 k = o->used / LOG_OPEN_SLOTS;
    if (k == o->chunks) {
      u8 *chunk = __cairn_file_chunk(p, LOG_KIND_OPEN, now);
      if (!chunk) return 0;
      o->chunk[o->chunks++] = chunk;
    }
    c = &o->call[o->used];
    c->record = o->chunk[k] + LOG_CHUNK_HEADER_SIZE + o->used % LOG_OPEN_SLOTS * LOG_OPEN_SLOT;
    ((u16 *)c->record)[1] = LOG_OPEN_SLOT;
    begin_change(fields(c));
    store((u16 *)c->record, LOG_TYPE_OPEN);
    store(&o->used, o->used + 1);
  }
  if (c) w->call = c, store(&c->tid, w->tid);
  return c;
}

/* ---- a look ---- */

struct look {
  struct walker walker;
  struct wait wait;
  struct place at;
  u64 now, threshold, number;
  u32 n, peak; /* peak: index of the innermost call over its threshold; n: none */
  u64 due;             /* when the innermost call will be */
  u32 flags;
  u64 sp[MAX_WALK], t0;
  struct entry entry[MAX_WALK];
};

#include "open_rule.h"

/* walk_calls finds the calls of a stack with their times. */
static void walk_calls(struct process *p, struct walker *w, struct look *k, const struct thread *t, u32 n) {
  k->n = n;
  k->peak = NEVER;
  k->due = NONE;
  for (int more = 1; more && k->n < MAX_WALK;) {
    struct entry *x = &k->entry[k->n];
    u64 t0, t1, named;
    x->pc = w->pc, x->lo = x->hi = 0, x->sp = 0;
    x->flags = LOG_ENTRY_NO_STAMP | (w->exact ? LOG_ENTRY_EXACT : 0u);
    more = __cairn_walk_step(w);
    k->sp[k->n] = w->entry;
    x->sp = (u32)w->entry;
    if (w->entry && (named = __cairn_walk_stamped(w)) && __cairn_entered(p, w->entry, k->now, &t0, &t1)) {
      if (named != 1 && k->n + 1 < MAX_WALK) { /* the function with the probe jumped to this one */
        k->sp[++k->n] = w->entry;
        *++x = (struct entry){named, 0, 0, LOG_ENTRY_EXACT, (u32)w->entry};
      }
      u64 threshold = open_rule(p, t, w->entry);
      x->flags &= ~LOG_ENTRY_NO_STAMP;
      x->lo = k->now - t1, x->hi = k->now - t0;
      if (t0 < p->fork_time) x->flags |= LOG_ENTRY_BEFORE_FORK;
      if (threshold && x->lo >= threshold && k->peak == NEVER) k->peak = k->n, k->threshold = threshold, k->t0 = t0;
      if (threshold && k->due == NONE) k->due = t1 + threshold;
    }
    k->n++;
  }
}

/* thread_of returns the state of a thread, 0 if it has none. */
static const struct thread *thread_of(struct process *p, i32 tid) {
  for (const struct thread *t = load(&p->threads); t; t = t->next)
    if (load(&t->owner) == tid) return t;
  return 0;
}

/* since returns when a thread began to wait, as its samples have it. */
static u64 still_since(struct process *p, const struct watched *w) {
  u64 at = __cairn_usage_still(p, w->tid, w->cpu);
  return at ? least(at, w->still) : w->still;
}

/* add_wait puts what a thread waits for into its record, if that is known, which begins at its latest wait. The
 * clock's thread looks at waits when it has time to, so it may be known later than the stack. */
static void add_wait(struct process *p, struct look *k, struct open_call *c, i32 tid, i64 call) {
  u64 *f = fields(c), size = 0;
  struct wait *w = &k->wait;
  if (call < 0 || !__cairn_usage_wait(p, tid, call, f[SINCE], w)) return;
  u8 *text = c->record + LOG_OPEN_SIZE + ((f[COUNTS] & 0xffff) + (f[COUNTS] >> 16 & 0xffff)) * LOG_ENTRY_SIZE;
  while (size < LOG_MAX_PEER && w->peer[size]) size++;
  clear(text, up8(size));
  copy(text, w->peer, size);
  ((u32 *)(f + NUMBER))[1] = (u32)size << 16;
  u32 flags = (w->on & OPEN_KINDS) << LOG_OPEN_KIND_SHIFT;
  if (w->holder || w->readers) {
    flags |= LOG_OPEN_HELD;
    u32 *holder = (u32 *)(text + up8(size));
    holder[0] = (u32)w->holder, holder[1] = w->readers;
  }
  __atomic_fetch_or((u32 *)(f + FLAGS), flags, __ATOMIC_RELEASE); /* its owner may end the call */
}

/* write puts what a look has found into the record of a thread: first the calls from the peak
 * outwards, then those that it made, from the outermost on. */
static void write(struct process *p, const struct watched *w, struct open_call *c, struct look *k) {
  u64 *f = fields(c);
  char *name = (char *)(f + NAME);
  u32 inner = (u32)least(k->peak, INNER), outer = (u32)least(k->n - k->peak, ENTRIES - inner);
  struct entry *x = (struct entry *)(c->record + LOG_OPEN_SIZE);
  begin_change(f);
  ((u32 *)f)[1] = (u32)w->tid;
  c->sp = k->sp[k->peak], c->t0 = k->t0;
  store(&f[ENDED], 0);
  f[AT] = k->now, f[SINCE] = still_since(p, w), f[THRESHOLD] = k->threshold;
  f[FRAME_NUMBER] = load(&p->frames.current), f[CPU] = w->cpu;
  f[FLAGS] = k->flags | (u64)(u32)(k->at.call + 1) << 32;
  f[COUNTS] = outer | inner << 16 | (u64)(k->n - k->peak) << 32;
  for (u32 i = 0; i < outer; i++) x[i] = k->entry[k->peak + i];
  for (u32 i = 0; i < inner; i++) x[outer + i] = k->entry[k->peak - 1 - i];
  clear(name, LOG_OPEN_NAME);
  i64 n = read_task(w->tid, "/comm", name, LOG_OPEN_NAME);
  if (n && name[n - 1] == '\n') name[n - 1] = 0;
  ((u32 *)(f + NUMBER))[1] = 0;
  add_wait(p, k, c, w->tid, k->at.call);
  store(&f[UNTIL], k->now);
}

/* ---- threads that run ---- */

/* Where a running thread is, nobody but itself knows. But the stamps of its stack tell which call it
 * entered last. At that moment that call and its callers went on. Those of them that have ended
 * since were short, or their ends were slow and have removed their stamps. So what is found has not
 * ended, except for the innermost calls if they were shorter than the inline threshold. */

enum { CANDIDATES = 8, BUFFER = 1024, PAGES = 8192 };

/* mapping finds the mapping that an address is in. */
static int mapping(u64 at, u64 *lo, u64 *hi) {
  char b[BUFFER], *line = b;
  u64 have = 0;
  i64 n, fd = open_file("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0), found = 0;
  while (fd >= 0 && !found && (n = sys3(SYS_read, fd, b + have, sizeof b - 1 - have)) > 0) {
    have += (u64)n;
    b[have] = 0;
    char *from = b;
    for (line = b; !found && line < b + have; line++) {
      if (*line != '\n') continue;
      const char *s = from;
      u64 start = hex(&s), end = *s == '-' ? (s++, hex(&s)) : 0;
      if (at >= start && at < end) *lo = start, *hi = end, found = 1;
      from = line + 1;
    }
    u64 rest = (u64)(b + have - from);
    if (rest == sizeof b - 1) rest = 0; /* the rest of a long line: a path */
    for (u64 i = 0; i < rest; i++) b[i] = from[i];
    have = rest;
  }
  if (fd >= 0) sys1(SYS_close, fd);
  return found != 0;
}

/* bounds finds the stack of a thread: below the end of that of the first thread, or in the mapping of
 * the thread's control block, where C libraries keep the head of its list of robust locks. */
static int bounds(struct process *p, i32 tid, u64 *lo, u64 *hi) {
  u64 head = 0, size = 0;
  if (tid == p->pid) {
    if (!p->main_top || !mapping(p->main_top - 1, lo, hi)) return 0;
    *hi = p->main_top;
    return 1;
  }
  if (sys3(SYS_get_robust_list, tid, &head, &size) < 0 || !head || !mapping(head, lo, hi)) return 0;
  *hi = head;
  return 1;
}

/* last_entered finds the latest stamps on a stack, the latest first. */
static u32 last_entered(struct process *p, struct open_state *o, u64 lo, u64 hi, u64 *at) {
  u64 when[CANDIDATES], now = __cairn_stamp_now(p);
  u32 n = 0;
  lo = most(lo, less(hi, PAGES * 4096ul)) & ~4095ul;
  u8 *there = o->copy; /* is a page of the stack in memory? */
  if (sys3(SYS_mincore, lo, (hi - lo + 4095) & ~4095ul, there) < 0) return 0;
  for (u64 page = (hi - 1) & ~4095ul; page >= lo; page -= 4096) {
    if (!(there[(page - lo) / 4096] & 1)) continue;
    for (u64 sp = page + ENTRY_BELOW_CFA; sp < page + 4096 && sp < hi; sp += 16) {
      u64 age = __cairn_stamp_age(p, sp, now);
      if (age == NONE) continue;
      u32 i = n < CANDIDATES ? n++ : CANDIDATES;
      /* Of calls that began in one step of the clock, the lower one is the inner one. */
      for (; i && when[i - 1] >= age; i--)
        if (i < CANDIDATES) when[i] = when[i - 1], at[i] = at[i - 1];
      if (i < CANDIDATES) when[i] = age, at[i] = sp;
    }
  }
  return n;
}

/* look_at_running looks at a thread that runs, unless a filter might end the process for the system calls that this
 * needs. */
static void look_at_running(struct process *p, struct open_state *o, struct watched *w, struct look *k) {
  u64 lo, hi, at[CANDIDATES], t0, t1, back, frame;
  struct walker *walker = &k->walker;
  w->ran = k->now;
  u32 n = FRAME_IS_ENTRY && !__cairn_is_filtered() && bounds(p, w->tid, &lo, &hi) ? last_entered(p, o, lo, hi, at) : 0;
  for (u32 i = 0; i < n; i++) {
    if (!__cairn_peek(p, at[i], &back, 8) || !__cairn_entered(p, at[i], k->now, &t0, &t1)) continue;
    __cairn_walk(walker, p, back, at[i] + ENTRY_BELOW_CFA, 0);
    walker->copy = 0;
    u64 to = __cairn_walk_called(walker, at[i]);
    if (!to) continue;
    if (__cairn_peek(p, at[i] - 8, &frame, 8) && frame > at[i] && frame < hi) {
      walker->reg[FRAME_REGISTER] = frame;
      walker->known |= 1u << FRAME_REGISTER;
    }
    k->sp[0] = at[i];
    k->entry[0] = (struct entry){to, k->now - t1, k->now - t0, LOG_ENTRY_EXACT, (u32)at[i]};
    const struct thread *t = thread_of(p, w->tid);
    walk_calls(p, walker, k, t, 1);
    if (!walker->ended) continue;
    u64 threshold = open_rule(p, t, at[i]);
    if (threshold && k->now - t1 >= threshold) k->peak = 0, k->threshold = threshold, k->t0 = t0;
    break;
  }
  if (!n || k->peak == NEVER || !walker->ended) {
    not_found(p, w, k->now);
    return;
  }
  /* It may have entered another one meanwhile. */
  u64 again[CANDIDATES];
  struct open_call *c = last_entered(p, o, lo, hi, again) && again[0] == at[0] ? call_of(p, o, w, k->now) : 0;
  if (!c) return;
  k->flags = LOG_OPEN_RUNS;
  k->at.call = -1;
  write(p, w, c, k);
  end_change(fields(c));
}

/* look_at looks at one thread. */
static void look_at(struct process *p, struct open_state *o, struct watched *w, struct look *k, int asked) {
  u64 cpu = cpu_of(w->tid);
  k->now = __cairn_now(p);
  if (cpu == NONE) {
    if (w->call) close_call(w->call, k->now, LOG_OPEN_LEFT), store(&w->call->tid, 0);
    clear(w, sizeof *w);
    w->seen = 1;
    o->links = 0;
    return;
  }
  if (cpu == w->cpu && w->still) {
    if (w->call && !load(&fields(w->call)[ENDED])) {
      u64 *f = fields(w->call);
      if (!((u32)f[FLAGS] & (OPEN_KINDS << LOG_OPEN_KIND_SHIFT | LOG_OPEN_RUNS)) && !(*(u32 *)(f + NUMBER) & 1)) {
        begin_change(f);
        add_wait(p, k, w->call, w->tid, (i64)(f[FLAGS] >> 32) - 1);
        end_change(f);
      }
      store(&f[UNTIL], k->now);
    }
    if (!w->due || k->now < w->due) return;
  } else {
    w->still = k->now;
  }
  w->cpu = cpu;
  w->due = 0;
  w->no_room = 0;
  struct walker *walker = &k->walker;
  if (!waits_at(p, w->tid, &k->at)) {
    if (asked || k->now - w->ran >= PAUSE) look_at_running(p, o, w, k);
    return;
  }
  k->flags = 0;
  __cairn_walk(walker, p, k->at.pc, k->at.sp, 1);
  if (o->copy) __cairn_walk_copy(walker, o->copy);
  walk_calls(p, walker, k, thread_of(p, w->tid), 0);
  if (!__cairn_known(p, k->entry[k->n - 1].pc) && __cairn_list_again(p)) {
    __cairn_walk(walker, p, k->at.pc, k->at.sp, 1);
    walk_calls(p, walker, k, thread_of(p, w->tid), 0);
  }
  w->due = k->due == NONE || k->due <= k->now ? 0 : k->due; /* a call that an open one made is over its threshold then */
  if (cpu_of(w->tid) != cpu) { /* the stack was moving, and what was found on it may be of several moments */
    w->still = w->cpu = 0;
    look_at_running(p, o, w, k);
    return;
  }
  if (k->peak == NEVER) {
    not_found(p, w, k->now);
    return;
  }
  struct open_call *c = call_of(p, o, w, k->now);
  w->no_room = !c;
  if (!c) return;
  write(p, w, c, k);
  end_change(fields(c));
}

/* look looks at all threads, if one has been waiting for long, or the last time was long ago. */
void __cairn_open_look(struct process *p, int last) {
  struct open_state *o = &p->open;
  u64 now = __cairn_now(p), cpu;
  if (p->off || p->stacks.trees || load(&p->set.quiet) || !load(&p->log.file.begun) || p->log.file.failed) {
    store(&o->answered, load(&o->asked));
    return;
  }
  u32 asked = load(&o->asked), is_asked = asked != o->answered;
  if (now < o->next && !last && !is_asked) return;
  store(&o->wanted, 0);
  cpu = __cairn_cpu(THREAD_CPU);
  if (!o->copy) {
    i64 m = map(0, WALK_COPY + sizeof(struct look), PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (failed(m)) return;
    o->copy = (u8 *)m;
  }
  struct look *k = (struct look *)(o->copy + WALK_COPY);
  list(p, o);
  u32 no_room = 0;
  for (u32 i = 0; i < OPEN_WATCHED; i++) {
    if (o->watched[i].tid) look_at(p, o, &o->watched[i], k, (int)is_asked);
    no_room += o->watched[i].no_room;
  }
  o->no_room = no_room;
  store(&o->answered, asked);
  o->next = now + most(least((__cairn_cpu(THREAD_CPU) - cpu) * COST, PAUSE), MS);
}

/* pause returns how long the writer may sleep until the next look. */
u64 __cairn_open_pause(struct process *p, u64 pause) {
  if (load(&p->open.asked) != p->open.answered) return 0;
  return load(&p->open.wanted) ? least(pause, most(MS, less(p->open.next, __cairn_now(p)))) : pause;
}

/* any reports whether the log has calls that go on. */
int __cairn_open_any(struct process *p) {
  struct open_state *o = &p->open;
  for (u32 i = 0, n = (u32)least(load(&o->used), OPEN_CHUNKS * LOG_OPEN_SLOTS); i < n; i++)
    if (load(&o->call[i].tid) && !load(&fields(&o->call[i])[ENDED])) return 1;
  return 0;
}

/* ended notes that a thread's call has ended: what the log has of it is no longer so. An outer
 * call ends after an inner one, unless that was left. */
void __cairn_open_ended(struct process *p, i32 tid, u64 sp, u64 t0, u64 e) {
  struct open_state *o = &p->open;
  for (u32 i = 0, n = (u32)least(load(&o->used), OPEN_CHUNKS * LOG_OPEN_SLOTS); i < n; i++) {
    struct open_call *c = &o->call[i];
    if (load(&c->tid) != tid || sp < c->sp || load(&fields(c)[ENDED])) continue;
    if (sp > c->sp && t0 <= c->t0) add((u32 *)(fields(c) + FLAGS), LOG_OPEN_LEFT);
    store(&fields(c)[ENDED], e);
  }
}

/* forget leaves the log to the parent, in a child made by fork. */
void __cairn_open_forget(struct process *p) {
  struct open_state *o = &p->open;
  u8 *copy = o->copy;
  for (u32 i = 0; i < o->chunks; i++) __cairn_file_unmap(o->chunk[i]);
  clear(o, sizeof *o);
  o->copy = copy;
}
