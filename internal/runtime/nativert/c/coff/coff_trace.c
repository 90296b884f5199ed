/* Mode trace: chunks of events, as c/timed/trace.c has them. Each chunk is a view of the log's file, and is unmapped when it is full
 * and not in the ring. */

enum { NO_EVENT = 0xfff8 }; /* a position that is full */

#if CAIRN_TRACE_DEPTH
#include "coff_depth.c"
#else
static void depth_left(u64 sp) {}
static void depth_returned(u64 sp) {}
static void start_depth(struct process *p) {}
#endif

#define own_position (*(u64 *)own_word())

/* set_clock moves the clock to now. */
static void set_clock(struct process *p, u64 time) {
  u64 c = less(time, p->mono) / LOG_CLOCK_UNIT + 1, old = load(&p->trace.clock);
  while (c > old && !__atomic_compare_exchange_n(&p->trace.clock, &old, c, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
}

/* log_moment moves the clock to now, and returns it in ns: no event so far is later, and none that follows is earlier. */
static u64 log_moment(struct process *p) {
  set_clock(p, now(p));
  return p->mono + (load(&p->trace.clock) - 1) * LOG_CLOCK_UNIT;
}

static void module_goes(struct process *p, struct module *m) {}
static void module_again(struct process *p, u32 number) {}
static void module_comes(struct process *p, u8 *base, const u16 *path, u32 bytes) {}
static void end_mode(struct process *p) {}
static void write_mode(struct process *p, int final) {}

/* ring_chunk returns the oldest chunk that no thread writes to, or another one. */
static u8 *ring_chunk(struct process *p, u32 tid) {
  for (u64 i = 0; i < p->trace.ring_chunks; i++) {
    u8 **at = &p->trace.ring[p->trace.hand++ % p->trace.ring_chunks];
    u32 *h = (u32 *)*at;
    if (!h) return *at = map_next(p);
    if (!h[LOG_CHUNK_USED_OFFSET / 4] && h[LOG_CHUNK_TID_OFFSET / 4] != tid && !number_ended(h[LOG_CHUNK_TID_OFFSET / 4])) continue;
    p->trace.overwritten++;
    store(h, 0);
    zero_chunk((u8 *)h);
    return (u8 *)h;
  }
  return map_next(p); /* all are in use */
}

/* complete closes a chunk, and returns its number plus 1. */
static u32 complete(struct process *p, u8 *c, u64 time) {
  u32 number = *(u32 *)(c + LOG_CHUNK_SEQUENCE_OFFSET) + 1;
  *(u64 *)(c + LOG_CHUNK_LAST_OFFSET) = time;
  *(u32 *)(c + LOG_CHUNK_USED_OFFSET) = LOG_CHUNK_SIZE - LOG_CHUNK_HEADER_SIZE;
  *(u32 *)(c + LOG_CHUNK_CHECKSUM_OFFSET) = sum_of(c, LOG_CHUNK_CHECKSUM_OFFSET);
  if (!p->trace.ring_chunks) UnmapViewOfFile(c);
  return number;
}

/* another completes a thread's chunk and gives it another. */
static u8 *another(struct process *p, u8 *old) {
  u64 time = log_moment(p);
  u32 tid = GetCurrentThreadId(), before = old && old != p->trace.sink ? complete(p, old, time) : 0;
  if (p->off || !begin_log(p)) return p->trace.sink;
  u8 *c = p->trace.ring_chunks ? ring_chunk(p, tid) : map_next(p);
  if (!c) {
    p->off = 1;
    return p->trace.sink;
  }
  *(u32 *)(c + LOG_CHUNK_KIND_OFFSET) = LOG_KIND_EVENTS;
  *(u32 *)(c + LOG_CHUNK_PID_OFFSET) = p->pid;
  *(u32 *)(c + LOG_CHUNK_TID_OFFSET) = tid;
  *(u32 *)(c + LOG_CHUNK_SEQUENCE_OFFSET) = p->trace.sequence++;
  *(u64 *)(c + LOG_CHUNK_FIRST_OFFSET) = time;
  *(u32 *)(c + LOG_CHUNK_BEFORE_OFFSET) = before;
  store((u32 *)c, LOG_CHUNK_MAGIC);
  return c;
}

/* next returns the position behind the next event of this thread, whose chunk is full, 0 if it has none. */
static u64 next(struct process *p, u8 *old) {
  u8 *c = p->trace.sink;
  if (take(p)) {
    c = another(p, old);
    give(p);
  }
  return (u64)c + LOG_CHUNK_HEADER_SIZE + LOG_EVENT_SIZE;
}

static u64 seen_now(struct process *p) { return 0; }

static i32 note_exception(struct process *p, struct pointers *x) { return 0; }

static void join_mode(struct process *p) {}
static int is_told(void) { return 0; }
static void note_episode(struct process *p, const struct thread *t, const u64 *f) {}

static void begin_thread(void) {
  if (!own_position) own_position = NO_EVENT;
}

/* first_call makes what inserted code needs in a thread, whose first event goes to address 0:
 *
 *      movl    %r10d, -8(%r11)                 or %eax */
static int first_call(struct context *c, u64 at) {
  if (at || c->rip == at || c->r11 != LOG_EVENT_SIZE || own_position != LOG_EVENT_SIZE) return 0;
  u32 code = *(const u32 *)c->rip;
  if (code != 0xf8538945 && code != 0xf8438941) return 0;
  own_position = c->r11 = next(state, 0);
  return 1;
}

/* start_mode makes the place for events that are discarded, and the ring. */
static int start_mode(struct process *p) {
  p->trace.clock = 1;
  start_depth(p);
  p->trace.ring = VirtualAlloc(0, (p->trace.ring_chunks + 1) * sizeof(u8 *), MEM_RESERVE | MEM_COMMIT, READWRITE);
  return p->trace.ring != 0;
}

/* mark stores an event of no function. */
static void mark(u64 frame, u32 kind) {
  u64 at = own_position; /* 0: this thread has called nothing that logs */
  if (at) at = (at & -(u64)GRAIN) | (u16)(at + LOG_EVENT_SIZE);
  if (!(at % GRAIN)) at = next(state, (u8 *)at);
  own_position = at;
  ((u32 *)at)[-2] = (u32)(frame >> 4);
  ((u32 *)at)[-1] = kind;
}

static void *fiber_goes(u64 frame) {
  mark(frame, LOG_EVENT_SUSPEND);
  depth_left(frame);
  return 0;
}

static void fiber_comes(u64 frame, void *none) {
  mark(frame, LOG_EVENT_RESUME);
  depth_returned(frame);
}

/* r11 is the full chunk; it becomes the position. */
static void of_trace_full(struct process *p, struct registers *r) { r->r11 = next(p, (u8 *)r->r11); }

ROUTINE(trace_full)
