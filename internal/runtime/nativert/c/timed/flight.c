/* Rings of events, and the windows that are cut out of them. A ring belongs to one thread,
 * which blocks signals while it changes the ring. Threads share the windows, and the
 * chunks of discarded windows, under a lock that is never held during a system call that
 * may block. */

#include "flight.h"

#define CHUNK ((u64)LOG_CHUNK_SIZE)
#define PAYLOAD ((u64)LOG_CHUNK_SIZE - LOG_CHUNK_HEADER_SIZE)
enum { SEGMENT = 16 /* chunks that are mapped at once */, POPULATE_WRITE = 23 };

/* ---- positions and events ---- */

#define full(position) (!(u16)((position) + 8))
#define chunk_of(position) ((u8 *)((position) & ~(CHUNK - 1)))

/* append adds an event after the last one, if there is room. A signal handler that
 * interrupts it adds its events after that. */
static void append(u32 function, u32 sp) {
  u64 at = own_local()->flight.position;
  if (full(at)) return;
  own_local()->flight.position = at + 8;
  barrier();
  ((u32 *)at)[1] = sp;
  ((u32 *)at)[0] = function;
}

static u64 clock_of(struct process *p, u64 ns) { return (ns - p->origin) / 1000 + 1; }

static void append_time(struct process *p, u64 ns) { append(LOG_FLIGHT_TIME, (u32)clock_of(p, ns)); }

/* ---- chunks ---- */

static u8 *anonymous(u64 size) {
  u8 *m = (u8 *)map(0, size + CHUNK, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return failed(m) ? 0 : (u8 *)(((u64)m + CHUNK - 1) & ~(CHUNK - 1));
}

static void print_error(struct process *p, i64 err) {
  char b[128], *q = put(b, "cairn: no room for more calls in the log: errno ");
  if (__atomic_exchange_n(&p->flight.recorder->failed, 1, __ATOMIC_RELAXED)) return;
  q = put(put_number(q, (u64)-err), "\n");
  __cairn_print(b, (u64)(q - b));
}

/* room allocates memory and disk blocks for a chunk of the file, as otherwise a full disk would end
 * the program by SIGBUS. Writing zeros takes a third of the time that fallocate and page faults
 * take. */
static i64 room(struct process *p, struct chunk *c) {
  if (!__cairn_file_own(p)) return -EBADF;
  if (!fits((c->number + 2) * CHUNK)) return -EFBIG;
  i64 n = sys4(SYS_pwrite, p->log.file.fd, p->flight.recorder->zeros, CHUNK, (c->number + 1) * CHUNK);
  if (n < 0) return n;
  if ((u64)n < CHUNK) return -ENOSPC;
  __cairn_file_reached(p, (c->number + 2ul) * CHUNK);
  sys3(SYS_madvise, c->at, CHUNK, POPULATE_WRITE); /* at once, not page by page */
  return 0;
}

/* fresh_chunk returns a chunk of the file that was never used, or 0. */
static struct chunk *fresh_chunk(struct process *p, struct ring *r) {
  struct chunk *c = r->fresh;
  i64 err = 0;
  if (!c) {
    c = (struct chunk *)map(0, SEGMENT * sizeof *c, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (failed(c)) err = (i64)c;
    else err = __cairn_file_grow(p, SEGMENT, &c->at, &c->number);
    for (u32 i = 1; err >= 0 && i < SEGMENT; i++) {
      c[i].at = c->at + i * CHUNK, c[i].number = c->number + i;
      c[i - 1].next = &c[i];
    }
  }
  if (err >= 0) err = room(p, c);
  if (err < 0) {
    print_error(p, err);
    return 0;
  }
  r->fresh = c->next;
  return c;
}

/* new_chunk returns a chunk of zeros: the oldest of the ring if the ring has its maximum
 * size, else one of a discarded window, or of the file. */
static struct chunk *new_chunk(struct process *p, struct ring *r) {
  struct flight *f = p->flight.recorder;
  struct chunk *c = 0;
  if (r->chunks >= p->flight.chunks) {
    c = r->oldest;
    r->oldest = c->next;
    r->chunks--;
  } else if (load(&f->spare)) {
    lock(&f->lock);
    if ((c = f->spare)) f->spare = c->next;
    unlock(&f->lock);
  }
  if (!c) return fresh_chunk(p, r);
  clear(c->at, CHUNK);
  return c;
}

/* seal stores the used size of a chunk when its thread leaves it. */
static void seal(struct chunk *c, u64 position, u64 now) {
  u64 used = position - (u64)c->at - LOG_CHUNK_HEADER_SIZE;
  c->used = used && used <= PAYLOAD ? used : PAYLOAD; /* the position is outside this chunk: see more */
  *(u64 *)(c->at + LOG_CHUNK_LAST_OFFSET) = now;
  store((u32 *)(c->at + LOG_CHUNK_USED_OFFSET), (u32)c->used);
}

/* record_stack_end records the end of a stack that is not the thread's own. Each chunk repeats the
 * known ones, as a window may lack the first chunks. */
static void record_stack_end(const struct region *r) { append(r->handlers ? LOG_FLIGHT_HANDLERS : LOG_FLIGHT_STACK, (u32)r->top); }

/* begin makes c the chunk that the ring's thread records in. */
static void begin(struct process *p, struct ring *r, struct chunk *c, u64 now) {
  u8 *h = c->at;
  *(u32 *)(h + LOG_CHUNK_KIND_OFFSET) = LOG_KIND_FLIGHT;
  *(u32 *)(h + LOG_CHUNK_PID_OFFSET) = (u32)p->pid;
  *(u32 *)(h + LOG_CHUNK_TID_OFFSET) = r->tid;
  *(u32 *)(h + LOG_CHUNK_SEQUENCE_OFFSET) = r->sequence++;
  *(u64 *)(h + LOG_CHUNK_FIRST_OFFSET) = now;
  *(u32 *)(h + LOG_CHUNK_TOP_OFFSET) = r->top;
  store((u64 *)h, LOG_CHUNK_MAGIC | (u64)LOG_KIND_FLIGHT << 32);
  c->begun = now;
  c->used = 0;
  c->next = 0;
  if (r->last) r->last->next = c;
  else r->oldest = c;
  r->last = c;
  r->chunks++;
  own_local()->flight.position = (u64)h + LOG_CHUNK_HEADER_SIZE;
  append_time(p, now);
  struct thread *t = __cairn_thread(p);
  for (u32 i = 0; t && i < t->regions; i++) record_stack_end(&t->region[i]);
}

/* ---- rings ---- */

/* to_sink redirects the events of the thread to memory that is never read. */
static void to_sink(struct process *p, struct ring *r) {
  u8 *sink = p->flight.recorder->sink;
  if (r && (r->sink || (r->sink = anonymous(CHUNK)))) sink = r->sink; /* sharing cache lines with other threads is slow */
  own_local()->flight.position = (u64)sink + LOG_CHUNK_HEADER_SIZE;
}

static int in_sink(struct process *p, struct ring *r) {
  u8 *at = chunk_of(own_local()->flight.position);
  return at == p->flight.recorder->sink || (r && at == r->sink);
}

/* recording reports whether there is a log. */
static int recording(struct process *p) { return p->flight.chunks && !p->flight.recorder->failed && !p->log.file.failed && load(&p->log.file.begun); }

static struct ring *ring_of(struct process *p) {
  struct thread *t = __cairn_thread(p);
  if (!t) return 0;
  if (!t->ring) {
    struct ring *r = (struct ring *)map(0, 4096, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (failed(r)) return 0;
    t->ring = r;
  }
  return t->ring;
}

/* next gives the thread a new chunk. Signals are blocked. */
static void next(struct process *p, struct ring *r, u64 now) {
  struct chunk *c = r && recording(p) ? new_chunk(p, r) : 0;
  if (r && r->last && !r->last->used) seal(r->last, own_local()->flight.position, now);
  if (c) begin(p, r, c, now);
  else to_sink(p, r);
}

HIDDEN void __cairn_flight_turn(u64 sp);

/* begin_thread gives a thread a ring at its first event. */
static void begin_thread(struct process *p, u64 sp, u64 now) {
  u64 mask = block_most(); /* else a signal handler might create the thread's state too */
  struct ring *r = ring_of(p);
  if (r) {
    r->tid = (u32)sys0(SYS_gettid);
    r->top = (u32)sp;
    r->since = now;
  }
  next(p, r, now);
  unblock(mask);
}

/* more is called by inserted code of a function whose stack pointer at entry is sp: in
 * signal handlers, in malloc, before main, and in children in which no handler of fork
 * ran.
 *
 * The position may be outside of the current chunk: if a signal handler got a new chunk
 * after the interrupted code had read the position, that code stores the old one. */
HIDDEN void __cairn_flight_more(u64 sp) {
  struct process *p = __cairn_state;
  struct flight_at *at = &own_local()->flight;
  at->clock = load(word(p, CLOCK));
  if (!load(word(p, ALIVE))) { /* a child: its clock is 0 */
    at->position = (u64)p->flight.recorder->sink + LOG_CHUNK_HEADER_SIZE;
    return;
  }
  u64 now = __cairn_now(p), mask;
  if (at->position == FLIGHT_NONE) {
    begin_thread(p, sp, now);
    __cairn_flight_turn(sp);
    at->left = (u32)sp;
    return;
  }
  struct ring *r = ring_of(p);
  if (recording(p) ? r && r->last && chunk_of(at->position) == r->last->at : in_sink(p, r)) {
    append_time(p, now);
    if (!full(at->position)) return;
  }
  mask = block_most();
  next(p, r, now);
  unblock(mask);
}

/* turn is called by inserted code if a call was entered outside of the known range of the
 * thread's stack. A stack is recorded when it is first seen. */
HIDDEN void __cairn_flight_turn(u64 sp) {
  struct process *p = __cairn_state;
  struct flight_at *at = &own_local()->flight;
  if (!load(word(p, ALIVE))) return;
  u64 mask = block_most();
  struct thread *t = __cairn_thread(p);
  u32 known = t ? t->region_number : 0;
  if (t) {
    struct region *r = __cairn_stack_at(p, t, sp, &at->low, &at->size);
    if (r && t->region_number != known) record_stack_end(r);
  }
  unblock(mask);
}

/* left records the end of the call with stack pointer sp, and its time, so that the next entry need
 * not record it. */
static void left(struct process *p, u64 sp) {
  struct flight_at *at = &own_local()->flight;
  if (at->position == FLIGHT_NONE || !load(word(p, ALIVE))) return;
  u64 now = __cairn_now(p);
  if ((u16)at->position > (u16)(CHUNK - 24)) { /* no room for two events */
    u64 mask = block_most();
    next(p, ring_of(p), now);
    unblock(mask);
  }
  append_time(p, now);
  append(LOG_FLIGHT_EXIT, (u32)sp);
  at->left = (u32)sp | 1;
}

/* ---- windows ---- */

/* drop_window frees the chunks of a window. */
static void drop_window(struct flight *f, struct window *w) {
  struct chunk *last = w->first;
  for (struct chunk *c = w->first; c; last = c, c = c->next) clear(c->at, LOG_CHUNK_HEADER_SIZE);
  last->next = f->spare;
  f->spare = w->first;
  f->chunks -= w->chunks;
  *w = f->window[--f->windows];
}

static struct window *least_window(struct flight *f) {
  struct window *w = &f->window[0];
  for (u32 i = 1; i < f->windows; i++)
    if (f->window[i].lo < w->lo) w = &f->window[i];
  return w;
}

/* make_room discards windows of calls shorter than lo until there is room for one of n chunks. It
 * returns 0 if that is not enough. */
static int make_room(struct process *p, u64 lo, u32 n) {
  struct flight *f = p->flight.recorder;
  u32 limit = WINDOW_RINGS * p->flight.chunks, chunks = f->chunks, windows = f->windows;
  for (u32 i = 0; i < f->windows; i++)
    if (f->window[i].lo < lo) chunks -= f->window[i].chunks, windows--;
  if (chunks + n > limit || windows == WINDOWS) return 0;
  while (f->chunks + n > limit || f->windows == WINDOWS) drop_window(f, least_window(f));
  return 1;
}

/* cut removes the chunks from first on from a ring. */
static void cut(struct ring *r, struct chunk *first, u32 n) {
  struct chunk **link = &r->oldest, *before = 0;
  while (*link != first) before = *link, link = &before->next;
  *link = 0;
  r->last = before;
  r->chunks -= n;
}

/* keep_window keeps the thread's events, beginning some time before the call of episode number,
 * which took lo to hi ns and ended at e. */
static void keep_window(struct process *p, struct thread *t, u64 number, u64 lo, u64 hi, u64 e) {
  struct flight *f = p->flight.recorder;
  struct ring *r = t->ring;
  u64 from = less(e, (1 + LOG_FLIGHT_LEAD) * hi);
  u32 n = 0;
  if (!r || !r->last || in_sink(p, r)) return;
  u64 mask = block_most();
  struct chunk *first = r->oldest;
  while (first->next && (first->next->begun <= from || first->begun < r->since)) first = first->next;
  for (struct chunk *c = first; c; c = c->next) n++;
  lock(&f->lock);
  int ok = make_room(p, lo, n);
  if (ok) {
    f->window[f->windows++] = (struct window){number, lo, first, n};
    f->chunks += n;
    if (!r->last->used) seal(r->last, own_local()->flight.position, e);
    for (struct chunk *c = first; c; c = c->next) *(u64 *)(c->at + LOG_CHUNK_EPISODE_OFFSET) = number;
    cut(r, first, n);
  }
  unlock(&f->lock);
  if (ok) next(p, r, e);
  else add(&p->flight.missed, 1);
  unblock(mask);
}

/* ---- the process ---- */

/* forked removes the rings in a child: they belong to the parent. The memory stays mapped, as
 * a frame that a signal interrupted may be about to write to it. */
static void forked(struct process *p) {
  struct flight *f = p->flight.recorder;
  for (struct thread *t = p->threads; t; t = t->next) t->ring = 0;
  f->lock = f->windows = f->chunks = f->failed = 0;
  f->spare = 0;
  p->flight.missed = 0;
  own_local()->flight.position = FLIGHT_NONE;
}

/* start is called once for each module; first is set in a process without other threads. The
 * log is opened immediately, since it contains the rings. */
HIDDEN void __cairn_flight_start(struct process *p, int first) {
  if (!p->flight.recorder) {
    struct flight *f = (struct flight *)map(0, 4096, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (failed(f) || !(f->sink = anonymous(CHUNK)) || !(f->zeros = anonymous(CHUNK))) sys1(SYS_exit_group, 127);
    p->flight.left = left;
    p->flight.keep_window = keep_window;
    p->flight.forked = forked;
    store(&p->flight.recorder, f);
    if (!first) __cairn_pin();
  }
  if (p->off || !p->flight.chunks) return;
  if (first) __cairn_begin(p);
  else if (!load(&p->log.file.begun)) __cairn_flush(p); /* the thread of the log opens it */
}
