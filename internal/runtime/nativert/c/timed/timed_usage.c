/* Why a call took long: whether its thread ran or waited, and in which system call, and its page
 * faults and context switches.
 *
 * The kernel's counts for a thread are known only when they are read, and nobody reads them at the
 * entry of a call that turns out to be long. So the clock's thread samples the processor time of
 * the others at its ticks, and a long call's processor time lies between two samples. What a
 * waiting thread waits for is read once per wait. Only the thread itself can read the other counts
 * cheaply: it reads them after a slow call, so they cover the time since an earlier reading.
 * Sampling takes at most about a hundredth of a processor, whatever the number of threads. */

#include "task.h"
#include "timed.h"
#include "wait.h"

enum { SAMPLES = 256, SHIFT = 4, RINGS = 2, THREADS = 64, LAP = 8, COST = 100000, READ_PAUSE = 500000, LIST_PAUSE = 100 * MS };
enum { WAITS = 8, LOOK_SHARE = 100 }; /* looking at waits takes at most that part of the time */
enum { RAN = -1, UNKNOWN = -2, READY = -3 }; /* it waits for a processor */

/* A sample: how long the thread had run. in is the system call that it had waited in since the
 * previous sample. */
struct sample {
  u64 at, cpu;
  i64 in;
};
struct sampled {
  i32 tid; /* 0: free */
  i32 file; /* plus one: its open file of the system call it is in; 0: none */
  u8 told; /* it has waited for the threshold, and the log's thread was told */
  u64 still; /* since when it has not run; 0: it runs */
  u64 n;
  struct sample ring[RINGS][SAMPLES]; /* every sample, and every 16th */
  u64 waits;
  struct wait wait[WAITS]; /* ring */
};
struct usage {
  struct sampled thread[THREADS];
  u32 next, count;
  u8 own_files; /* the clock's thread has a file table of its own */
  u64 listed, read, sampled, look; /* look: when a wait may be looked at next */
};

/* ---- the clock's thread ---- */

static struct sampled *sampled_of(struct usage *u, i32 tid) {
  for (u32 i = 0; i < THREADS; i++)
    if (load(&u->thread[((u32)tid + i) % THREADS].tid) == tid) return &u->thread[((u32)tid + i) % THREADS];
  return 0;
}

static void sample_too(struct process *p, struct usage *u, i32 tid) {
  for (u32 i = 0; i < OWN_THREADS; i++)
    if (load(&p->signal.own[i]) == tid) return;
  if (u->count == THREADS || sampled_of(u, tid)) return;
  for (u32 i = 0; i < THREADS; i++) {
    struct sampled *s = &u->thread[((u32)tid + i) % THREADS];
    if (s->tid) continue;
    s->n = s->waits = s->still = s->told = 0;
    s->file = 0;
    store(&s->tid, tid);
    u->count++;
    return;
  }
}

/* list looks for new threads, if there are more than the known ones: a listing makes names, see
 * task.h. */
static void list(struct process *p, struct usage *u) {
  char b[2048];
  i64 n, fd = u->count < THREADS ? open_file("/proc/self/task", O_RDONLY | O_CLOEXEC, 0) : -1;
  if (fd < 0) return;
  int more = __cairn_threads(p, fd) > u->count;
  for (u32 reads = 0; more && reads < 8 && (n = sys3(SYS_getdents64, fd, b, sizeof b)) > 0; reads++)
    for (i64 at = 0; at < n; at += *(u16 *)(b + at + 16)) {
      i32 tid = 0;
      for (const char *s = b + at + 19; *s >= '0' && *s <= '9'; s++) tid = tid * 10 + (*s - '0');
      if (tid) sample_too(p, u, tid);
    }
  sys1(SYS_close, fd);
}

/* close_file closes a thread's file. */
static void close_file(struct sampled *s) {
  if (s->file) sys1(SYS_close, s->file - 1);
  s->file = 0;
}

/* read_call reads which system call a thread is in. The file stays open, since to open it takes four times as long
 * as to read it, unless the program would see it in its table. If there is no room in the table, all are closed. */
static i64 read_call(struct usage *u, struct sampled *s, char *b, u64 room) {
  i64 n = -1;
  for (u32 tries = 0; tries < 2 && n < 0; tries++) { /* the number is another thread's now */
    if (!s->file) {
      put(put_task(b, s->tid), "/syscall");
      i64 fd = open_file(b, O_RDONLY | O_CLOEXEC, 0);
      if (fd < 0) {
        for (u32 i = 0; i < THREADS; i++) close_file(&u->thread[i]);
        continue;
      }
      s->file = (i32)fd + 1;
    }
    n = read_at(s->file - 1, b, room, 0);
    if (n < 0 || !u->own_files) close_file(s);
  }
  return n;
}

/* waits_in returns which system call a thread is in. */
static i64 waits_in(struct usage *u, struct sampled *s) {
  char b[128];
  i64 n = read_call(u, s, b, sizeof b), nr = 0, i = 0;
  if (n > 0 && b[0] == 'r') return READY; /* "running", or about to */
  if (n > 1 && b[0] == '-' && b[1] == '1') return LOG_CALL_FAULT; /* it waits outside of system calls */
  for (; i < n && i < 4 && b[i] >= '0' && b[i] <= '9'; i++) nr = nr * 10 + (b[i] - '0');
  return i ? nr : UNKNOWN;
}

/* is_thread reports whether the process has a thread with a number. */
static int is_thread(i32 tid) {
  char b[64];
  put(put_number(put(b, "/proc/self/task/"), (u64)(u32)tid), "/comm");
  i64 fd = open_file(b, O_RDONLY | O_CLOEXEC, 0);
  if (fd >= 0) sys1(SYS_close, fd);
  return fd >= 0;
}

/* follow notes that a thread waits in a system call at a sample, as at the one before, if that was in
 * the same wait. What it waits for is looked at once, if the wait may be that of a long call. */
static void follow(struct process *p, struct usage *u, struct sampled *s, i64 call, int same, u64 from, u64 now) {
  struct wait *w = &s->wait[(s->waits - 1) % WAITS];
  if (!s->waits || !same || w->call != call) {
    w = &s->wait[s->waits % WAITS];
    w->from = from, w->call = call, w->on = w->slots = 0, w->peer[0] = 0, w->holder = 0, w->readers = w->shared = 0, w->held = 0;
    store(&w->to, now);
    store(&s->waits, s->waits + 1);
  }
  store(&w->to, now);
  if (w->on || now - w->from < p->set.threshold / 2 || now < u->look) return;
  u64 cpu = __cairn_cpu(THREAD_CPU); /* not the time: the thread may lose its processor */
  __cairn_wait_look(p, s->tid, w);
  if (w->holder == s->tid || (w->holder && !sampled_of(u, w->holder) && !is_thread(w->holder))) {
    w->holder = 0; /* it was no mutex */
    if (w->on == LOG_WAIT_THREAD) w->on = LOG_WAIT_UNKNOWN;
  }
  store(&w->held, now);
  u->look = now + LOOK_SHARE * less(__cairn_cpu(THREAD_CPU), cpu);
}

/* tell wakes the log's thread for a thread that has waited for its threshold, see timed_open.c. */
static void tell(struct process *p, struct sampled *s, u64 now, int waits, u64 since) {
  if (!waits) s->still = s->told = 0;
  else if (!s->still) s->still = since;
  if (!waits || s->told || now - s->still < load(&p->set.threshold)) return;
  s->told = 1;
  store(&p->open.wanted, 1);
  store(word(p, PENDING), 1);
}

static void sample(struct process *p, struct usage *u, struct sampled *s, u64 now) {
  u64 ts[2], n = s->n;
  /* The id of a thread's processor time clock is made of the thread's id. */
  if (read_clock((i64)(i32)(~(u32)s->tid << 3 | 6), ts) < 0) {
    close_file(s);
    store(&s->tid, 0);
    u->count--;
    return;
  }
  struct sample x = {now, ts[0] * SECOND + ts[1], RAN};
  const struct sample *last = &s->ring[0][(n - 1) % SAMPLES];
  if (n && x.cpu - last->cpu < (now - last->at) / 2) {
    x.in = last->in >= 0 && x.cpu == last->cpu ? last->in : UNKNOWN;
    int same = x.in >= 0;
    if (!same && now - u->read >= READ_PAUSE) x.in = waits_in(u, s), u->read = now;
    if (x.in >= 0) follow(p, u, s, x.in, same, last->at, now);
  }
  tell(p, s, now, n && x.cpu == last->cpu, last->at);
  for (u32 r = 0; r < RINGS && !(n & ((1ul << r * SHIFT) - 1)); r++) s->ring[r][(n >> r * SHIFT) % SAMPLES] = x;
  store(&s->n, n + 1);
}

u64 __cairn_usage_still(struct process *p, i32 tid, u64 cpu) {
  struct sampled *s = p->usage ? sampled_of(p->usage, tid) : 0;
  u64 at = 0;
  for (u32 r = 0; s && r < RINGS; r++) {
    u64 n = load(&s->n), first;
    n = n ? ((n - 1) >> r * SHIFT) + 1 : 0;
    first = less(n, SAMPLES - LAP);
    while (n > first && s->ring[r][(n - 1) % SAMPLES].cpu == cpu) {
      u64 then = s->ring[r][--n % SAMPLES].at;
      at = at ? least(at, then) : then;
    }
    if (n > first) break; /* it ran before */
  }
  return at;
}

int __cairn_usage_wait(struct process *p, i32 tid, i64 call, u64 since, struct wait *to) {
  const struct sampled *s = p->usage ? sampled_of(p->usage, tid) : 0;
  u64 n = s ? load(&s->waits) : 0;
  const struct wait *w = n ? &s->wait[(n - 1) % WAITS] : 0;
  if (!w || w->call != call || !load(&w->held) || load(&w->to) < since) return 0;
  copy(to, w, sizeof *to);
  return load(&s->waits) == n && to->call == call && to->on;
}

/* usage_tick samples some threads. */
void __cairn_usage_tick(struct process *p, u64 now) {
  struct usage *u = p->usage;
  if (!u || load(&p->signal.owned) < 2 /* the log's thread is not known yet */) return;
  if (now - u->listed >= LIST_PAUSE || !u->listed) {
    u->listed = now;
    sample_too(p, u, p->pid);
    list(p, u);
  }
  u32 budget = (u32)most(1, least(now - u->sampled, p->set.threshold) / COST);
  u->sampled = now;
  for (u32 i = 0; i < THREADS && budget; i++) {
    struct sampled *s = &u->thread[u->next++ % THREADS];
    if (s->tid) sample(p, u, s, now), budget--;
  }
}

/* usage_start initializes the state of the clock's thread, also in a child made by fork. */
void __cairn_usage_start(struct process *p, int own_files) {
  struct usage *u = p->usage;
  if (p->stacks.trees || p->kind == KIND_EXACT) return;
  if (u) {
    for (u32 i = 0; i < THREADS; i++) u->thread[i].tid = u->thread[i].file = 0;
    u->own_files = own_files != 0;
    u->next = u->count = 0;
    u->listed = 0;
    return;
  }
  u = (struct usage *)map(0, (sizeof *u + 4095) & ~4095ul, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (failed(u)) return;
  u->own_files = own_files != 0;
  store(&p->usage, u);
}

/* ---- a thread ---- */

/* usage_forget resets the state of a thread whose counts in the kernel start again. */
void __cairn_usage_forget(struct thread *t) {
  clear(t->readings, sizeof t->readings);
  clear(&t->now, sizeof t->now);
  t->reported = 0;
}

/* keep stores a reading: the older readings are, the fewer are kept. */
static void keep(struct process *p, struct thread *t, const struct reading *now) {
  u64 apart = p->set.threshold / 2;
  for (u32 i = 0; i < READING_RINGS; i++, apart *= 8) {
    u32 *n = &t->readings[i];
    if (*n && now->at - t->reading[i][(*n - 1) % READINGS].at < apart) return;
    t->reading[i][(*n)++ % READINGS] = *now;
  }
}

/* read_now reads the kernel's counts for this thread. */
static struct reading read_now(u64 e) {
  uword r[18];
  u64 ts[2] = {0, 0};
  clear(r, sizeof r);
  sys2(SYS_getrusage, 1, r);
  read_clock(THREAD_CPU, ts);
  return (struct reading){e, ts[0] * SECOND + ts[1], {(u32)r[8], (u32)r[9], (u32)r[16], (u32)r[17]}};
}

/* before finds the last reading not after a time. A thread's first reading, all zeros, is from its
 * start. */
static struct reading before(const struct thread *t, u64 at) {
  struct reading best = {0, 0, {0, 0, 0, 0}};
  for (u32 i = 0; i < READING_RINGS; i++)
    for (u32 k = 0; k < READINGS && k < t->readings[i]; k++)
      if (t->reading[i][k].at <= at && t->reading[i][k].at > best.at) best = t->reading[i][k];
  return best;
}

/* Waits that were seen in a call. */
struct seen {
  u64 waits, in; /* samples */
  i64 call;      /* the system call that most of them were in */
  u64 ready;
};

/* look bounds how long the thread had run when the call began, from its samples, and counts its
 * waits since then. */
static void look(struct process *p, i32 tid, u64 t0, u64 t1, u64 *least_cpu, u64 *most_cpu, struct seen *seen) {
  enum { KINDS = 8 };
  struct sampled *s = p->usage ? sampled_of(p->usage, tid) : 0;
  i64 kind[KINDS];
  u64 times[KINDS], kinds = 0;
  if (!s) return;
  for (u32 r = RINGS; r--;) {
    u64 n = load(&s->n), first;
    n = n ? ((n - 1) >> r * SHIFT) + 1 : 0;
    first = less(n, SAMPLES - LAP);
    if (first && s->ring[r][first % SAMPLES].at > t0 && r) first = less(n, 1); /* the ring does not reach back so far */
    int covers = n && s->ring[r][first % SAMPLES].at <= t1;
    if (covers || !r) kinds = 0, clear(seen, sizeof *seen), seen->call = -1;
    for (u64 i = first; i < n; i++) {
      struct sample x = s->ring[r][i % SAMPLES];
      if (x.at <= t0) *least_cpu = most(*least_cpu, x.cpu);
      if (x.at < t1) continue;
      *most_cpu = least(*most_cpu, x.cpu);
      if (!covers && r) continue;
      if (x.in == RAN || x.in == UNKNOWN) continue;
      seen->waits++;
      seen->ready += x.in == READY;
      if (x.in < 0) continue;
      u64 k = 0;
      while (k < kinds && kind[k] != x.in) k++;
      if (k == kinds && kinds < KINDS) kind[kinds] = x.in, times[kinds++] = 0;
      if (k < kinds && ++times[k] > seen->in) seen->in = times[k], seen->call = x.in;
    }
  }
}

/* usage_read reads the kernel's counts at the end of a call that was entered at t0 at the earliest,
 * and returns how often the thread was preempted since an earlier reading. */
u32 __cairn_usage_read(struct process *p, struct thread *t, u64 t0, u64 e) {
  t->now = read_now(e);
  t->was = before(t, t0);
  keep(p, t, &t->now);
  return t->now.count[3] - t->was.count[3];
}

/* longest returns the longest wait of a thread in a call, 0 if none is known. */
static const struct wait *longest(struct process *p, i32 tid, const struct slow_call *c, u64 *time) {
  const struct sampled *s = p->usage ? sampled_of(p->usage, tid) : 0;
  const struct wait *best = 0;
  *time = 0;
  u64 n = s ? load(&s->waits) : 0;
  for (u64 i = less(n, WAITS); i < n; i++) {
    const struct wait *w = &s->wait[i % WAITS];
    u64 t = less(least(load(&w->to) + p->set.period, c->e), most(w->from, c->t0));
    if (w->to > c->t1 && t > *time) best = w, *time = t;
  }
  return best;
}

/* write_wait writes what a call waited for the longest, if that is known. */
static void write_wait(struct process *p, struct thread *t, u64 number, const struct slow_call *c) {
  u64 time, addrs = 0;
  const struct wait *w = longest(p, t->owner, c, &time);
  if (!w || !w->on) return;
  u8 *r = __cairn_reserve(t, LOG_WAIT_SIZE + 8 * LOG_MAX_WAIT_STACK + up8(LOG_MAX_PEER));
  if (!r) {
    add(&p->count.dropped, 1);
    return;
  }
  u64 *f = (u64 *)r, *to = f + LOG_WAIT_SIZE / 8;
  for (u32 i = 0, n = w->slots; i < n && i < LOG_MAX_WAIT_STACK; i++)
    if (w->slot[i][0] < c->sp) to[addrs++] = w->slot[i][1];
  u64 text = 0, size;
  while (text < LOG_MAX_PEER && w->peer[text]) text++;
  size = LOG_WAIT_SIZE + 8 * addrs + up8(text);
  if (text) to[addrs + (text - 1) / 8] = 0;
  copy(to + addrs, w->peer, text);
  f[1] = number, f[2] = c->e, f[3] = (u32)c->sp | (u64)w->on << 32, f[4] = time;
  f[5] = addrs << 16 | text << 32;
  __cairn_publish(p, t, r, LOG_TYPE_WAIT, size);
}

/* write_holder writes which thread had the lock that a call waited for the longest, or how many readers, or whose
 * end it waited for. */
static void write_holder(struct process *p, struct thread *t, u64 number, const struct slow_call *c) {
  u64 time;
  const struct wait *w = longest(p, t->owner, c, &time);
  if (!w || !w->on || (!w->holder && !w->readers)) return;
  u8 *r = __cairn_reserve(t, LOG_HOLDER_SIZE);
  if (!r) {
    add(&p->count.dropped, 1);
    return;
  }
  u64 *f = (u64 *)r, reason = w->on == LOG_WAIT_THREAD ? LOG_REASON_OTHER : w->shared ? LOG_REASON_RW_LOCK : LOG_REASON_LOCK;
  f[1] = number, f[2] = c->e, f[3] = (u32)c->sp | reason << 32, f[4] = w->held, f[5] = time;
  f[6] = (u32)w->holder | (u64)w->readers << 48, f[7] = w->lock;
  __cairn_publish(p, t, r, LOG_TYPE_HOLDER, LOG_HOLDER_SIZE);
}

/* usage_write writes then why the call took long, for an episode. */
void __cairn_usage_write(struct process *p, struct thread *t, u64 number, const struct slow_call *c) {
  const struct reading *now = &t->now, *was = &t->was;
  u64 least_cpu = was->cpu, most_cpu = now->cpu;
  struct seen seen = {0, 0, -1, 0};
  look(p, t->owner, c->t0, c->t1, &least_cpu, &most_cpu, &seen);
  if (c->away_hi) seen = (struct seen){0, 0, -1, 0}; /* the waits may be those of another stack */
  u8 *r = __cairn_reserve(t, LOG_USAGE_SIZE);
  if (!r) {
    add(&p->count.dropped, 1);
    return;
  }
  u64 *f = (u64 *)r;
  f[1] = number, f[2] = c->e, f[4] = least(less(now->cpu, least_cpu), less(c->e - c->t0, c->away_lo));
  f[3] = least(less(less(now->cpu, most_cpu), c->away_hi), f[4]);
  f[5] = was->at;
  for (u32 i = 0; i < 4; i++) ((u32 *)(f + 6))[i] = now->count[i] - was->count[i];
  f[8] = (u32)c->sp | (u64)(u32)(seen.call + 1) << 32;
  f[9] = least(seen.waits, 0xffff) | least(seen.in, 0xffff) << 16 | least(seen.ready, 0xffff) << 32;
  __cairn_publish(p, t, r, LOG_TYPE_USAGE, LOG_USAGE_SIZE);
  if (c->away_hi) return;
  write_wait(p, t, number, c);
  write_holder(p, t, number, c);
}
