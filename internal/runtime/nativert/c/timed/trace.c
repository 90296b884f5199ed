/* Chunks of events, the file that they are in, the clock, and fork. Package format/tracelog/wire
 * documents the layout.
 *
 * A thread calls this once in 8183 events, possibly from a signal handler, from malloc or before
 * main: so signals are blocked while the lock is held, and only system calls are used. */

#include "trace.h"
#include "create.h"

#define CHUNK ((u64)LOG_CHUNK_SIZE)

HIDDEN int __cairn_deserted(i32 pid);
HIDDEN void __cairn_follow(i32 pid);

u64 __cairn_trace_now(void) {
  u64 ts[2];
  read_clock(MONOTONIC, ts);
  return ts[0] * SECOND + ts[1];
}

void __cairn_trace_error(const char *what, i64 err) {
  char b[TRACE_DIR + 512], *p = put(b, "cairn: no calls are logged: ");
  for (u32 n = 0; *what && n < TRACE_DIR + 256; n++) *p++ = *what++;
  *p = 0;
  if (err < 0) p = put_number(put(p, ": errno "), (u64)-err);
  p = put(p, "\n");
  sys3(SYS_write, 2, b, (u64)(p - b));
}

/* ---- the file ---- */

enum { POPULATE_WRITE = 23 };

/* file_size returns the size that the file has unless another process truncates it. */
static u64 file_size(const struct tracer *t) { return t->shortened ? t->shortened : (t->file_chunks + 1) * CHUNK; }

/* room allocates memory and disk blocks for a chunk, as a full disk would end the program by
 * SIGBUS. A truncated file is not extended. */
static i64 room(struct tracer *t, u8 *c, u64 at) {
  i64 size = is_file(t->fd, t->device, t->inode), err;
  if (size >= 0 && (u64)size < file_size(t)) return -ESTALE;
  if (t->shortened && at + CHUNK > t->shortened) {
    if ((err = resize_file(t->fd, at + CHUNK)) < 0) return err;
    t->shortened = at + CHUNK;
  }
  err = sys3(SYS_madvise, c, CHUNK, POPULATE_WRITE);
  if (err >= 0 || size < 0 /* the program has closed it */) return err < 0 ? err : 0;
  err = allocate_file(t->fd, at, CHUNK);
  return err == -EOPNOTSUPP ? 0 : err;
}

/* extend_at maps n more chunks at the end of the file, aligned, or one at an address that is a chunk's. */
static u8 *extend_at(struct tracer *t, u64 n, u8 *place, i64 *err) {
  u64 at = (t->file_chunks + 1) * CHUNK, size = n * CHUNK;
  u8 *m = place ? place : (u8 *)map(0, size + CHUNK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (failed(m)) {
    *err = (sword)m;
    return 0;
  }
  u8 *c = (u8 *)(((uword)m + CHUNK - 1) & -(uword)CHUNK);
  if (is_file(t->fd, t->device, t->inode) < (i64)(t->file_chunks ? least(at, file_size(t)) : LOG_HEADER_SIZE)) *err = -EBADF;
  else *err = fits(at + size) ? resize_file(t->fd, at + size) : -EFBIG;
  if (*err >= 0) {
    sword mapped = map(c, size, PROT_RW, MAP_SHARED | MAP_FIXED, t->fd, at);
    *err = failed(mapped) ? mapped : 0;
  }
  if (*err < 0) {
    if (!place) sys2(SYS_munmap, m, size + CHUNK);
    return 0;
  }
  t->file_chunks += n;
  t->shortened = 0;
  if (place) return c;
  if (c > m) sys2(SYS_munmap, m, c - m);
  if (c + size < m + size + CHUNK) sys2(SYS_munmap, c + size, m + CHUNK - c);
  __cairn_bus_add(c, size);
  return c;
}

static u8 *extend(struct tracer *t, u64 n, i64 *err) { return extend_at(t, n, 0, err); }

/* set_aside takes n unused chunks from the end of the file again: they stay mapped, and room gives them back. So the
 * file is as large as its data, also when the process is killed: tools that copy it may write the zeros of a hole. */
static void set_aside(struct tracer *t, u64 n) {
  u64 size = (t->file_chunks + 1 - n) * CHUNK;
  if (resize_file(t->fd, size) >= 0) t->shortened = size;
}

/* begin_records makes c a chunk of records. */
static void begin_records(struct tracer *t, u8 *c) {
  u32 *h = (u32 *)c;
  h[1] = LOG_KIND_RECORDS, h[2] = (u32)t->pid;
  ((u64 *)c)[3] = ((u64 *)c)[4] = t->origin;
  store(h, LOG_CHUNK_MAGIC);
}

/* more_room makes another chunk of records. */
static int more_room(struct tracer *t) {
  i64 err;
  u8 *c = extend(t, 1, &err);
  if (!c || room(t, c, t->file_chunks * CHUNK) < 0) return 0;
  begin_records(t, c);
  if (t->more && t->fulls < FULL_CHUNKS) t->full[t->fulls++] = t->more;
  t->more = c;
  t->more_used = LOG_CHUNK_HEADER_SIZE;
  return 1;
}

/* record returns room for a record, or 0. */
u8 *__cairn_trace_record(struct tracer *t, u32 type, u64 size, u32 a) {
  if (!t->first) return 0;
  int full = t->first_used + size > CHUNK;
  if (full && (!t->more || t->more_used + size > CHUNK) && !more_room(t)) return 0;
  u32 *used = full ? &t->more_used : &t->first_used;
  u8 *r = (full ? t->more : t->first) + *used;
  *used += (u32)size;
  ((u32 *)r)[1] = a;
  ((u16 *)r)[1] = (u16)size;
  store((u16 *)r, (u16)type);
  return r;
}

static u64 time_of(struct tracer *t, u64 clock) { return t->origin + (clock - 1) * LOG_CLOCK_UNIT; }

/* status updates the first record. */
static void status(struct tracer *t) {
  if (!t->first) return;
  u64 *f = (u64 *)(t->first + LOG_CHUNK_HEADER_SIZE);
  f[1] = time_of(t, t->clock), f[2] = t->ticks, f[3] = t->period, f[4] = t->worst;
  f[5] = t->ring_chunks * CHUNK, f[6] = t->sequence, f[7] = t->overwritten;
}

static void put_header(struct tracer *t, u8 *h, int forked) {
  u64 ts[2];
  copy(h, LOG_MAGIC, 8);
  ((u16 *)h)[4] = LOG_VERSION;
  ((u16 *)h)[5] = LOG_HEADER_SIZE;
  ((u32 *)h)[3] = (u32)t->pid;
  read_clock(REALTIME, ts);
  ((u64 *)h)[2] = ts[0] * SECOND + ts[1];
  ((u64 *)h)[3] = t->origin;
  ((u64 *)h)[4] = ticks();
  ((u32 *)h)[12] = forked ? LOG_FORKED : 0;
  ((u32 *)h)[13] = LOG_MODE_TRACE;
  ((u32 *)h)[14] = sum(h, 56);
}

/* open_log creates the file, with its first chunk and the ring. */
static i64 open_log(struct tracer *t, int forked) {
  char path[TRACE_DIR + 256], *end;
  u8 h[LOG_HEADER_SIZE] = {0};
  make_dir(t->dir, 0777);
  end = put_number(put(__cairn_trace_name(put(put(path, t->dir), "/")), "."), (u64)t->pid);
  put_header(t, h, forked);
  i64 err = create(t->dir, path, put(end, "."), h);
  if ((t->fd = (i32)err) < 0) {
    __cairn_trace_error(path, err);
    return err;
  }
  identify(t->fd, &t->device, &t->inode);
  if ((t->first = extend(t, 1, &err)) && (err = room(t, t->first, CHUNK)) >= 0) {
    begin_records(t, t->first);
    t->first_used = LOG_CHUNK_HEADER_SIZE;
    __cairn_trace_record(t, LOG_TYPE_TRACE, LOG_TRACE_SIZE, 0);
    if (t->ring_chunks && (t->ring = extend(t, t->ring_chunks, &err))) set_aside(t, t->ring_chunks);
  }
  if (err < 0) __cairn_trace_error(path, err);
  return err;
}

/* ---- the clock ---- */

/* tick sets the clock, and returns the exact time. A separate thread calls it each period, and so
 * does every thread that begins a chunk: with many calls, times are finer than the period. */
u64 __cairn_trace_tick(struct tracer *t) {
  u64 now = __cairn_trace_now(), c = (now - t->origin) / LOG_CLOCK_UNIT + 1, old = load(&t->clock);
  while (c > old) {
    if (!__atomic_compare_exchange_n(&t->clock, &old, c, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) continue;
    u64 gap = (c - old) * LOG_CLOCK_UNIT, worst = load(&t->worst);
    if (add(&t->ticks, 1))
      while (gap > worst && !__atomic_compare_exchange_n(&t->worst, &worst, gap, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) ;
    break;
  }
  return now;
}

/* ---- the end ---- */

/* shorten removes the chunks at the end of the file that were not used: tools that copy the file may
 * write their zeros. What the destructors of other modules call makes it longer again. The thread of
 * the clock has descriptors of its own. The program may have another file under the number, of which
 * even an open may have an effect: so it is looked at first, by a descriptor that opens nothing. */
static void shorten(struct tracer *t) {
  enum { O_PATH = 010000000 };
  char path[64];
  put_number(put(path, "/proc/self/fd/"), (u64)t->fd);
  i32 fd = (i32)open_file(path, O_PATH | O_CLOEXEC, 0);
  i64 own = is_file(fd, t->device, t->inode);
  sys1(SYS_close, fd);
  fd = own < 0 ? -1 : (i32)open_file(path, O_RDWR | O_CLOEXEC, 0);
  lock(&t->lock);
  u64 none = t->ring_chunks ? less(t->ring_chunks, t->hand) : t->ring ? SEGMENT - t->hand : 0;
  int last = !t->ring_chunks || t->file_chunks == t->ring_chunks + 1; /* the ring is at the end */
  u64 size = (t->file_chunks + 1 - none) * CHUNK;
  if (none && last && !t->shortened && is_file(fd, t->device, t->inode) == (i64)file_size(t) && !resize_file(fd, size))
    t->shortened = size;
  unlock(&t->lock);
  if (fd >= 0) sys1(SYS_close, fd);
  store(&t->ending, SHORTEN_DONE);
}

/* finish_file waits for the thread of the clock to do that, for a few periods at most. It makes no
 * system call: a filter may forbid all by then. */
static void finish_file(struct tracer *t) {
  u64 since = load(&t->ticks);
  if (t->off || !t->ring || load(&t->ending) || !load(t->alive)) return;
  store(&t->ending, SHORTEN_NOW);
  for (u32 i = 0; i < 1000000 && load(&t->ending) == SHORTEN_NOW && load(&t->ticks) - since < 8; i++) pause_briefly();
}

enum { LOOK = 20 * MS };

static void run_clock(struct tracer *t) {
  i32 priority = 1;
  sys2(SYS_prctl, 15 /* PR_SET_NAME */, "cairn-clock");
  leave_files();
  sys2(SYS_prctl, 29 /* PR_SET_TIMERSLACK */, 1);
  if (sys3(SYS_sched_setscheduler, 0, 1 /* SCHED_FIFO */, &priority) < 0) sys3(SYS_setpriority, 0, 0, -20);
  for (u64 looked = 0;;) {
    u64 ts[2] = {t->period / SECOND, t->period % SECOND};
    sleep_by(MONOTONIC, ts);
    u64 now = __cairn_trace_tick(t);
    status(t);
    if (load(&t->ending) == SHORTEN_NOW) shorten(t);
    if (now - looked < LOOK) continue;
    looked = now;
    if (__cairn_deserted(t->pid)) __cairn_follow(t->pid);
  }
}

/* start_clock starts a thread without the C library, so that it does not keep the process alive,
 * and works before main. Signals are blocked in it, as they are here. */
static i64 start_clock(struct tracer *t) {
  u8 *stack = (u8 *)map(0, THREAD_STACK, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (failed(stack)) return (sword)stack;
  uword *sp = (uword *)(stack + THREAD_STACK) - 2;
  sp[0] = (uword)run_clock, sp[1] = (uword)t;
  return start_thread(sp);
}

/* ---- the process ---- */

/* copy_modules copies the records of modules from the parent's log to the child's. */
static void copy_modules(struct tracer *t, const u8 *from, u32 used) {
  for (u32 i = LOG_CHUNK_HEADER_SIZE; i + 8 <= used;) {
    u16 type = *(const u16 *)(from + i), size = *(const u16 *)(from + i + 2);
    if (size < 8 || i + size > used) return; /* it is a file */
    u8 *r = type == LOG_TYPE_MODULE ? __cairn_trace_record(t, type, size, *(const u32 *)(from + i + 4)) : 0;
    if (r) copy(r + 8, from + i + 8, size - 8);
    i += size;
  }
}

/* The chunks of records of a parent process, in their order. */
struct records {
  u32 n, used[FULL_CHUNKS + 2];
  const u8 *chunk[FULL_CHUNKS + 2];
};

static void add_records(struct records *r, const u8 *chunk, u32 used) {
  if (chunk) r->chunk[r->n] = chunk, r->used[r->n++] = used;
}

static void parents_records(const struct tracer *t, struct records *r) {
  r->n = 0;
  add_records(r, t->first, t->first_used);
  for (u32 i = 0; i < t->fulls; i++) add_records(r, t->full[i], CHUNK);
  add_records(r, t->more, t->more_used);
}

/* begin begins the log of a process or of a child made by fork. The parent's file stays mapped in
 * the child, as a frame may be about to write there. */
static void begin(struct tracer *t) {
  struct records parent;
  int forked = t->alive != 0;
  parents_records(t, &parent);
  if (!forked) {
    u8 *m = (u8 *)map(0, 3 * CHUNK, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (failed(m)) sys1(SYS_exit_group, 127);
    t->sink = (u8 *)(((uword)m + CHUNK - 1) & -(uword)CHUNK);
    t->alive = (u32 *)(t->sink + CHUNK);
    sys3(SYS_madvise, t->alive, 4096, MADV_WIPEONFORK);
    __cairn_trace_configure(t);
  } else if (is_file(t->fd, t->device, t->inode) >= 0) { /* the program may have closed it, and have another file under its number */
    sys1(SYS_close, t->fd);
  }
  t->pid = (i32)sys0(SYS_getpid);
  t->origin = __cairn_trace_now();
  t->clock = 1;
  t->ending = 0;
  t->file_chunks = t->shortened = t->hand = t->overwritten = t->worst = t->ticks = 0;
  t->sequence = t->first_used = t->fulls = 0;
  t->first = t->more = t->ring = t->segment_before = 0;
#if FEW_ADDRESSES
  t->places = 0;
#endif
  t->fd = -1;
  if (!t->off) {
    if (open_log(t, forked) < 0) t->off = 1;
    else if (start_clock(t) < 0) __cairn_trace_error("no thread can be made for the clock: it advances with new chunks only", 0);
    for (u32 i = 0; i < parent.n && t->first; i++) copy_modules(t, parent.chunk[i], parent.used[i]);
    status(t);
  }
  store(t->alive, 1);
}

static int dead(struct tracer *t, i32 tid) { return sys3(SYS_tgkill, t->pid, tid, 0) == -ESRCH; }

/* ring_chunk returns the oldest chunk that no thread writes to, or 0. */
static u8 *ring_chunk(struct tracer *t, u32 tid) {
  for (u64 i = 0; i < t->ring_chunks; i++) {
    u64 at = (t->hand % t->ring_chunks + 2) * CHUNK;
    u8 *c = t->ring + t->hand++ % t->ring_chunks * CHUNK;
    u32 *h = (u32 *)c;
    if (t->shortened && at >= t->shortened) return room(t, c, at) < 0 ? 0 : c;
    if (!h[0]) return room(t, c, (t->hand + 1) * CHUNK) < 0 ? 0 : c;
    /* This thread's previous chunk is complete. Another chunk of it was begun by a signal handler
     * before the interrupted code stored its own position. */
    if (!h[5] && h[3] != tid && !dead(t, (i32)h[3])) continue;
    t->overwritten++;
    store(h, 0);
    clear(c, CHUNK);
    return c;
  }
  i64 err;
  u8 *c = extend(t, 1, &err); /* all are in use */
  return c && room(t, c, t->file_chunks * CHUNK) >= 0 ? c : 0;
}

/* next_of_file returns the next chunk of a file that grows without limit. The pages of full
 * segments are returned to the kernel; their addresses stay mapped, as a frame that a signal
 * interrupted long ago may be about to write there. */
#if FEW_ADDRESSES
/* It is at the address of the thread's last one, or of one whose thread has ended. */
static u8 *next_of_file(struct tracer *t, u8 *old) {
  i64 err;
  for (u32 i = 0; !old && i < 16 && i < t->places; i++) {
    u8 *c = t->place[t->hand++ % t->places];
    if (dead(t, (i32)((u32 *)c)[3])) old = c;
  }
  u8 *c = extend_at(t, 1, old, &err);
  if (c && !old && t->places < sizeof t->place / sizeof *t->place) t->place[t->places++] = c;
  return c && room(t, c, t->file_chunks * CHUNK) >= 0 ? c : 0;
}
#else
static u8 *next_of_file(struct tracer *t, u8 *old) {
  i64 err;
  (void)old;
  if (!t->ring || t->hand == SEGMENT) {
    if (t->segment_before) sys3(SYS_madvise, t->segment_before, SEGMENT * CHUNK, 4 /* MADV_DONTNEED */);
    t->segment_before = t->ring;
    t->hand = 0;
    if (!(t->ring = extend(t, SEGMENT, &err))) return 0;
    set_aside(t, SEGMENT);
  }
  u8 *c = t->ring + t->hand++ * CHUNK;
  return room(t, c, (t->file_chunks - SEGMENT + t->hand) * CHUNK) < 0 ? 0 : c;
}
#endif

/* take completes a thread's chunk and gives it another. */
static u8 *take(struct tracer *t, u8 *old) {
  u32 before = 0, tid = (u32)sys0(SYS_gettid);
  u64 now = __cairn_trace_tick(t);
  if (old && old != t->sink && ((u32 *)old)[0] == LOG_CHUNK_MAGIC) {
    u32 *h = (u32 *)old;
    before = h[4] + 1;
    if (sys0(SYS_getpid) != t->pid) tid = h[3]; /* vfork: the parent continues in this chunk */
    ((u64 *)old)[4] = now;
    h[5] = LOG_CHUNK_SIZE - LOG_CHUNK_HEADER_SIZE;
    h[15] = sum(old, 60);
  } else {
    if (sys0(SYS_getpid) != t->pid) return t->sink;
    old = 0;
  }
  u8 *c = t->ring_chunks ? ring_chunk(t, tid) : next_of_file(t, old);
  if (!c) {
    __cairn_trace_error("the log was truncated, or there is no room for more", 0);
    t->off = 1;
    return t->sink;
  }
  u32 *h = (u32 *)c;
  h[1] = LOG_KIND_EVENTS;
  h[2] = (u32)t->pid;
  h[3] = tid;
  h[4] = t->sequence++;
  ((u64 *)c)[3] = now;
  h[14] = before;
  store(h, LOG_CHUNK_MAGIC);
  return c;
}

/* enter locks the state of the process, and begins its log if necessary. */
u64 __cairn_trace_enter(struct tracer *t, int *child) {
  u64 mask = block_most();
  *child = t->alive && !load(t->alive);
  if (*child) store(&t->lock, 0); /* another thread of the parent may have held it */
  lock(&t->lock);
  if (!t->alive || !load(t->alive)) begin(t);
  __cairn_trace_module(t);
  return mask;
}

void __cairn_trace_leave(struct tracer *t, u64 mask) {
  unlock(&t->lock);
  unblock(mask);
}

/* next is called with the address of the full chunk, 0 for a thread without one. It returns the
 * position after the thread's next event. */
HIDDEN u64 __cairn_trace_next(u8 *old) {
  struct tracer *t = __cairn_tracer;
  int child;
  u64 mask = __cairn_trace_enter(t, &child);
  u8 *c = t->off ? t->sink : take(t, child ? 0 : old);
  __cairn_trace_leave(t, mask);
  return (uword)c + LOG_CHUNK_HEADER_SIZE + 8;
}

/* ---- fork, start ---- */

/* Before the start they are invalid addresses, see timed_start.c. */
struct tracer *__cairn_tracer = NOT_STARTED;
u64 __cairn_local = (uword)NOT_STARTED;
u8 __cairn_plain;
HIDDEN const u8 __cairn_link_with_cairn_cc_timed = 0; /* as there */

#if !__ANDROID__ && __has_include(<gnu/libc-version.h>)
#define GLIBC 1
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) WEAK;
#else
#define GLIBC 0
extern int pthread_atfork(void (*)(void), void (*)(void), void (*)(void)) WEAK;
#endif

/* forked makes the child begin its own log at its next event. */
static void forked(void) {
  own_local()->position = TRACE_NONE;
  store(__cairn_tracer->alive, 0);
  store(&__cairn_tracer->lock, 0);
}

extern int __cxa_atexit(void (*)(void *), void *, void *) WEAK;

/* exits is called before the program's destructors. */
static void exits(void *none) {
  (void)none;
  store(&__cairn_tracer->exiting, 1);
  if (ENDS_WITH_EXIT) finish_file(__cairn_tracer);
}

/* Those of modules without trace_local.c or trace_guest.c. */
FALLBACK u64 __cairn_own_local(void) { return 0; }
FALLBACK struct tracer *__cairn_trace_find(void) { return 0; }
FALLBACK struct tracer *__cairn_trace_plain(void) { return 0; }
FALLBACK void __cairn_trace_gone(void) {}

/* start finds or makes the state of the process, and begins its log. */
void __cairn_trace_start(void) {
  static u8 started;
  struct tracer *t = !&__cairn_traced || ANDROID ? __cairn_trace_find() : &__cairn_traced;
  int child;
  if (started) return;
  started = 1;
  if (!t && !HAS_HOST) {
    __cairn_trace_error("an instrumented library runs without recording: for Armv7 the executable has to be built with cairn as well, in mode trace", 0);
    return;
  }
  if (!t) {
    __cairn_trace_error("an instrumented library runs without recording, as its runtime cannot be loaded: the program needs /proc and "
                        "memfd_create, or a directory /dev/shm or /tmp, or an executable that is built with cairn as well; and files of 256 KB (ulimit -f)", 0);
    if (__cairn_trace_plain()) return;
    __cairn_trace_error("and its code cannot be changed to run without it", 0);
    sys1(SYS_exit_group, 127);
  }
  if (!t->bus) {
    t->local = __cairn_own_local();
    t->bus = __cairn_bus;
  }
  __cairn_bus = t->bus;
  __cairn_local = t->local;
  store(&__cairn_tracer, t);
  __cairn_trace_leave(t, __cairn_trace_enter(t, &child));
}

/* Handlers of fork are registered when the C library is initialized. */
static void late_start(void) {
  __cairn_trace_start();
  struct tracer *t = __cairn_tracer;
  if ((!HAS_HOST && !t) || t->fork_handler || !__cairn_own_local()) return;
  t->fork_handler = 1;
  if (__cxa_atexit) __cxa_atexit(exits, 0, 0);
#if GLIBC
  if (__register_atfork) __register_atfork(0, 0, forked, 0);
#else
  if (pthread_atfork) pthread_atfork(0, 0, forked);
#endif
}

static void finish(void) {
  if (!HAS_HOST && !__cairn_tracer) return;
  if (!load(&__cairn_tracer->exiting)) __cairn_trace_gone();
  else if (__cairn_own_local()) finish_file(__cairn_tracer);
}

__attribute__((section(".init_array.00000"), used)) static void (*const init)(void) = late_start;
__attribute__((section(".fini_array.00000"), used)) static void (*const fini)(void) = finish;
