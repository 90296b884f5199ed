/* Rings of events, and the windows that are cut out of them. A ring belongs to one thread, which
 * nothing interrupts while it changes the ring: signals are blocked. Threads share the windows, and
 * the chunks of discarded windows, under a lock. flight.c, coff_flight.c and macho_flight.c include
 * this file. Before, they define:
 *
 *   own_flight()                 what the thread has: its position, its clock, its last exit
 *   is_deserted(p)               whether this is a child in which no handler of fork ran
 *   recording(p)                 whether there is a log
 *   ring_of(p)                   the thread's ring, or 0
 *   fresh_chunk(p, r)            a chunk of the file that was never used, or 0
 *   zero_chunk(at)               clears a chunk
 *   record_stacks(p, r)          records the ends of the thread's stacks that are not its own: each
 *                                chunk repeats them, as a window may lack the first chunks
 *   lock_windows(p), unlock_windows(p)
 */

/* ---- positions and events ---- */

#ifndef OWN_FLIGHT
#define OWN_FLIGHT struct flight_at
#endif

#define full(position) (!(u16)((position) + 8))
#define chunk_of(position) ((u8 *)((position) & ~(CHUNK - 1)))

/* append adds an event after the last one, if there is room. A signal handler that
 * interrupts it adds its events after that. */
static void append(u32 function, u32 sp) {
  u64 at = own_flight()->position;
  if (full(at)) return;
  own_flight()->position = at + 8;
  barrier();
  ((u32 *)at)[1] = sp;
  ((u32 *)at)[0] = function;
}

static void append_time(struct process *p, u64 ns) { append(LOG_FLIGHT_TIME, (u32)clock_of(p, ns)); }

/* take_chunk returns a chunk of zeros: the oldest of the ring if the ring has its maximum
 * size, else one of a discarded window, or of the file. */
static struct chunk *take_chunk(struct process *p, struct ring *r) {
  struct flight *f = p->flight.recorder;
  struct chunk *c = 0;
  if (r->chunks >= p->flight.chunks) {
    c = r->oldest;
    r->oldest = c->next;
    r->chunks--;
  } else if (load(&f->spare)) {
    if (!lock_windows(p)) return 0;
    if ((c = f->spare)) f->spare = c->next;
    unlock_windows(p);
  }
  if (!c) return fresh_chunk(p, r);
  zero_chunk(c->at);
  return c;
}

/* seal_ring stores the used size of a chunk when its thread leaves it. */
static void seal_ring(struct chunk *c, u64 position, u64 now) {
  u64 used = position - (u64)c->at - LOG_CHUNK_HEADER_SIZE;
  c->used = used && used <= PAYLOAD ? used : PAYLOAD; /* the position is outside this chunk: see more */
  *(u64 *)(c->at + LOG_CHUNK_LAST_OFFSET) = now;
  store((u32 *)(c->at + LOG_CHUNK_USED_OFFSET), (u32)c->used);
}

/* begin_chunk makes c the chunk that the ring's thread records in. */
static void begin_chunk(struct process *p, struct ring *r, struct chunk *c, u64 now) {
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
  own_flight()->position = (u64)h + LOG_CHUNK_HEADER_SIZE;
  append_time(p, now);
  record_stacks(p, r);
}

/* ---- rings ---- */

/* to_sink redirects the events of the thread to memory that is never read. */
static void to_sink(struct process *p, struct ring *r) {
  u8 *sink = p->flight.recorder->sink;
  if (r && (r->sink || (r->sink = anonymous(CHUNK)))) sink = r->sink; /* sharing cache lines with other threads is slow */
  own_flight()->position = (u64)sink + LOG_CHUNK_HEADER_SIZE;
}

static int in_sink(struct process *p, struct ring *r) {
  u8 *at = chunk_of(own_flight()->position);
  return at == p->flight.recorder->sink || (r && at == r->sink);
}

/* next_chunk gives the thread a new chunk. Signals are blocked. */
static void next_chunk(struct process *p, struct ring *r, u64 now) {
  struct chunk *c = r && recording(p) ? take_chunk(p, r) : 0;
  if (r && r->last && !r->last->used) seal_ring(r->last, own_flight()->position, now);
  if (c) begin_chunk(p, r, c, now);
  else to_sink(p, r);
}

HIDDEN void __cairn_flight_turn(u64 sp);

/* begin_ring gives a thread a ring at its first event. */
static void begin_ring(struct process *p, u64 sp, u64 now) {
  u64 mask = block_most(); /* else a signal handler might create the thread's state too */
  struct ring *r = ring_of(p);
  if (r) {
    r->tid = thread_number();
    r->top = (u32)sp;
    r->since = now;
  }
  next_chunk(p, r, now);
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
  OWN_FLIGHT *at = own_flight();
  at->clock = load(word(p, CLOCK));
  if (is_deserted(p)) { /* its clock is 0 */
    at->position = (u64)p->flight.recorder->sink + LOG_CHUNK_HEADER_SIZE;
    return;
  }
  u64 now = __cairn_now(p), mask;
  if (at->position == FLIGHT_NONE) {
    begin_ring(p, sp, now);
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
  next_chunk(p, r, now);
  unblock(mask);
}

/* call_left records the end of the call with stack pointer sp, and its time, so that the next entry
 * need not record it. */
static void call_left(struct process *p, u64 sp) {
  OWN_FLIGHT *at = own_flight();
  if (at->position == FLIGHT_NONE || is_deserted(p)) return;
  u64 now = __cairn_now(p);
  if ((u16)at->position > (u16)(CHUNK - 24)) { /* no room for two events */
    u64 mask = block_most();
    next_chunk(p, ring_of(p), now);
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
  int locked = lock_windows(p), ok = locked && make_room(p, lo, n);
  if (ok) {
    f->window[f->windows++] = (struct window){number, lo, first, n};
    f->chunks += n;
    if (!r->last->used) seal_ring(r->last, own_flight()->position, e);
    for (struct chunk *c = first; c; c = c->next) *(u64 *)(c->at + LOG_CHUNK_EPISODE_OFFSET) = number;
    cut(r, first, n);
  }
  if (locked) unlock_windows(p);
  if (ok) next_chunk(p, r, e);
  else add(&p->flight.missed, 1);
  unblock(mask);
}
