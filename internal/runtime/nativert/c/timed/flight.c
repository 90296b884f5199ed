/* Where the flight recorder has its chunks and stacks, and what it does in children. The rings are
 * in flight_ring.c. Its lock is never held during a system call that may block. */

#include "timed.h"

#include "flight.h"

#define CHUNK ((u64)LOG_CHUNK_SIZE)
#define PAYLOAD ((u64)LOG_CHUNK_SIZE - LOG_CHUNK_HEADER_SIZE)
enum { SEGMENT = 16 /* chunks that are mapped at once */, POPULATE_WRITE = 23 };

#define own_flight() (&own_local()->flight)
#define is_deserted(p) (!load(word(p, ALIVE)))
#define lock_windows(p) (lock(&(p)->flight.recorder->lock), 1)
#define unlock_windows(p) unlock(&(p)->flight.recorder->lock)
#define zero_chunk(at) clear(at, CHUNK)
#define thread_number() ((u32)sys0(SYS_gettid))

static u64 clock_of(struct process *p, u64 ns) { return (ns - p->origin) / 1000 + 1; }

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

static void append(u32 function, u32 sp);

static void record_stack_end(const struct region *r) { append(r->handlers ? LOG_FLIGHT_HANDLERS : LOG_FLIGHT_STACK, (u32)r->top); }

static void record_stacks(struct process *p, struct ring *r) {
  struct thread *t = __cairn_thread(p);
  for (u32 i = 0; t && i < t->regions; i++) record_stack_end(&t->region[i]);
}

#include "flight_ring.c"

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

/* ---- the process ---- */

/* forked removes the rings in a child: they belong to the parent. The memory stays mapped, as
 * a frame that a signal interrupted may be about to write to it. */
static void forked(struct process *p) {
  struct flight *f = p->flight.recorder;
  for (struct thread *t = p->threads; t; t = t->next) t->ring = 0;
  f->lock = f->windows = f->chunks = f->failed = 0;
  f->spare = 0;
  p->flight.missed = 0;
  own_flight()->position = FLIGHT_NONE;
}

/* start is called once for each module; first is set in a process without other threads. The
 * log is opened immediately, since it contains the rings. */
HIDDEN void __cairn_flight_start(struct process *p, int first) {
  if (!p->flight.recorder) {
    struct flight *f = (struct flight *)map(0, 4096, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (failed(f) || !(f->sink = anonymous(CHUNK)) || !(f->zeros = anonymous(CHUNK))) sys1(SYS_exit_group, 127);
    p->flight.left = call_left;
    p->flight.keep_window = keep_window;
    p->flight.forked = forked;
    store(&p->flight.recorder, f);
    if (!first) __cairn_pin();
  }
  if (p->off || !p->flight.chunks) return;
  if (first) __cairn_begin(p);
  else if (!load(&p->log.file.begun)) __cairn_flush(p); /* the thread of the log opens it */
}
