/* The log's file, written through a shared mapping, a chunk at a time: written records survive
 * however the process ends. Disk blocks are allocated before a chunk is mapped, as a full disk
 * would end the program by SIGBUS. Package format/tracelog/wire documents the layout. */

#include "create.h"
#include "wait.h"

static void print_error(const char *what, i64 err) {
  char b[4096], *p = put(b, "cairn: no spikes are logged: ");
  for (u32 n = 0; *what && n < 3000; n++) *p++ = *what++;
  *p = 0;
  p = put(put_number(put(p, ": errno "), (u64)-err), "\n");
  __cairn_print(b, (u64)(p - b));
}

/* own reports whether the descriptor is still that of the log. */
int __cairn_file_own(struct process *p) { return is_file(p->log.file.fd, p->log.file.device, p->log.file.inode) >= 0; }

/* reached records that the file has at least this size. */
void __cairn_file_reached(struct process *p, u64 size) {
  u64 was = load(&p->log.file.size);
  while (size > was && !__atomic_compare_exchange_n(&p->log.file.size, &was, size, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
}

/* look ends the log if another process has truncated it: the rest would be useless. */
void __cairn_file_look(struct process *p) {
  static const char why[] = ": it was truncated\n";
  struct file *f = &p->log.file;
  char b[CONTROL_PATH + 128], *q;
  u64 known = load(&f->size); /* first, as other threads extend it meanwhile */
  i64 size = f->failed || f->fd < 0 ? -1 : is_file(f->fd, f->device, f->inode);
  if (size < 0 || (u64)size >= known) return;
  f->failed = 1;
  q = put(put(put(b, "cairn: nothing more is logged to "), p->log.path), why);
  __cairn_print(b, (u64)(q - b));
}

/* room extends the file for chunk n, with allocated disk blocks. */
static i64 room(i32 fd, u32 n) {
  u64 at = (u64)(n + 1) * LOG_CHUNK_SIZE;
  if (!fits(at + LOG_CHUNK_SIZE)) return -EFBIG;
  i64 err = allocate_file(fd, at, LOG_CHUNK_SIZE);
  if (err != -EOPNOTSUPP) return err;
  u64 zero = 0;
  for (u64 end = at + LOG_CHUNK_SIZE; at < end; at += 512) /* at least one block */
    if (write_at(fd, &zero, sizeof zero, at) != sizeof zero) return -ENOSPC;
  return 0;
}

/* new_chunk maps another chunk; 0 if there is no room for it. */
static u8 *new_chunk(struct process *p, u32 kind, u64 time) {
  struct file *f = &p->log.file;
  if (f->full) return 0;
  u32 n = add(&f->chunks, 1);
  i64 err = __cairn_file_own(p) ? room(f->fd, n) : -EBADF;
  u8 *c = 0;
  if (err >= 0) {
    c = (u8 *)map(0, LOG_CHUNK_SIZE, PROT_RW, MAP_SHARED, f->fd, (u64)(n + 1) * LOG_CHUNK_SIZE);
    if (failed(c)) err = (sword)c;
  }
  if (err >= 0) {
    __cairn_bus_add(c, LOG_CHUNK_SIZE);
    __cairn_file_reached(p, (n + 2ull) * LOG_CHUNK_SIZE);
  }
  if (err < 0) {
    print_error("no room for the log", err);
    f->full = 1; /* existing chunks may have room */
    return 0;
  }
  u32 *h = (u32 *)c;
  h[0] = LOG_CHUNK_MAGIC;
  h[1] = kind;
  h[2] = (u32)p->pid;
  if (kind != LOG_KIND_QUEUE) h[4] = f->sequence++; /* other threads create those */
  *(u64 *)(c + 24) = *(u64 *)(c + 32) = time;
  *(u64 *)(c + 40) = load(&p->count.dropped);
  return c;
}

/* unmap unmaps a chunk. */
void __cairn_file_unmap(u8 *c) {
  __cairn_bus_drop(c);
  unmap(c, LOG_CHUNK_SIZE);
}

/* seal closes a chunk: it stores its used size. */
static void seal(struct file *f) {
  u8 *c = f->chunk;
  *(u64 *)(c + 32) = f->last;
  *(u32 *)(c + 20) = f->used;
  *(u32 *)(c + 60) = sum(c, 60);
  if (c != f->first) __cairn_file_unmap(c);
  f->chunk = 0;
}

/* next returns room for a record, or 0. */
static u8 *next(struct process *p, u32 size, u64 time) {
  struct file *f = &p->log.file;
  if (f->fd < 0 || f->failed || size > LOG_CHUNK_SIZE - LOG_CHUNK_HEADER_SIZE) return 0;
  if (f->chunk && f->used + size > LOG_CHUNK_SIZE - LOG_CHUNK_HEADER_SIZE) seal(f);
  if (!f->chunk) {
    if (!(f->chunk = new_chunk(p, LOG_KIND_RECORDS, time))) {
      f->failed = 1;
      return 0;
    }
    f->used = 0;
  }
  u8 *r = f->chunk + LOG_CHUNK_HEADER_SIZE + f->used;
  f->used += size;
  f->last = time;
  return r;
}

/* record returns room for a record with its header filled in, or 0. The type is stored first, and
 * the caller fills in the rest: a process killed in between leaves a record of zeros, which readers
 * reject individually. */
void *__cairn_file_record(struct process *p, u32 type, u32 size, u32 a, u64 time) {
  u8 *r = next(p, size, time);
  if (!r) return 0;
  ((u32 *)r)[1] = a;
  ((u16 *)r)[1] = (u16)size;
  store((u16 *)r, (u16)type);
  return r;
}

/* copy copies a record of a queue into the log. The type is stored last: readers see the whole
 * record here, or in the queue. */
void __cairn_file_copy(struct process *p, const u8 *record, u32 size, u64 time) {
  u8 *r = next(p, size, time);
  if (!r) return;
  copy(r + 2, record + 2, size - 2);
  store((u16 *)r, *(const u16 *)record);
}

u8 *__cairn_file_seen(struct process *p) {
  struct file *f = &p->log.file;
  if (f->fd < 0 || f->failed) return 0;
  if (!f->seen) f->seen = new_chunk(p, LOG_KIND_SEEN, p->time.clock->last_tick);
  return f->seen ? f->seen + LOG_CHUNK_HEADER_SIZE : 0;
}

/* put_path puts directory/module.id.pid. and returns its end. */
static char *put_path(struct process *p, char *to) {
  const char *base = p->exe.path, *s;
  char *q = put(to, p->dir);
  *q++ = '/';
  for (s = base; *s; s++)
    if (*s == '/') base = s + 1;
  for (u32 i = 0; base[i] && i < 128; i++) *q++ = base[i];
  *q++ = '.';
  for (u32 i = 0; i < p->exe.id_len && i < 6; i++) q = put_hex(q, p->exe.id[i], 2);
  *q++ = '.';
  return put(put_number(q, (u64)p->pid), ".");
}

static void put_header(struct process *p, u8 *h) {
  u64 ns = __cairn_now(p) - p->started.mono, passed = ticks() - p->started.tsc;
  copy(h, LOG_MAGIC, 8);
  ((u16 *)h)[4] = LOG_VERSION;
  ((u16 *)h)[5] = LOG_HEADER_SIZE;
  ((u32 *)h)[3] = (u32)p->pid;
  ((u64 *)h)[2] = p->started.real;
  ((u64 *)h)[3] = p->started.mono;
  ((u64 *)h)[4] = p->started.tsc;
  /* From the time since the start, if that is long enough for six digits. */
  ((u64 *)h)[5] = ns < 50 * MS ? 0 : muldiv(passed, SECOND, ns);
  ((u32 *)h)[12] = (p->forked ? LOG_FORKED : 0) | (p->flight.recorder ? LOG_FLIGHT | LOG_FLIGHT_ENDS : 0) | __cairn_calls(p) << LOG_CALLS_SHIFT;
  ((u32 *)h)[13] = p->kind == KIND_STACKS ? 8 /* prof.ModeStacks */ : 7 /* prof.ModeSpike */;
  ((u32 *)h)[14] = sum(h, 56);
}

/* open makes the file, with the trailer as its first record. */
int __cairn_file_open(struct process *p) {
  struct file *f = &p->log.file;
  char *path = (char *)p->log.scratch + 8192;
  u8 h[LOG_HEADER_SIZE] = {0};
  if (f->fd >= 0) return 1;
  if (f->failed || !p->dir[0]) return 0;
  make_dir(p->dir, 0777);
  put_header(p, h);
  i64 fd = create(p->dir, path, put_path(p, path), h);
  if (fd < 0) {
    print_error(path, fd);
    f->failed = 1;
    return 0;
  }
  f->fd = (i32)fd;
  identify(f->fd, &f->device, &f->inode);
  if (length(path) < sizeof p->log.path) put(p->log.path, path);
  if (!__cairn_file_record(p, LOG_TYPE_TRAILER, LOG_TRAILER_SIZE, 0, p->time.clock->last_tick)) return 0;
  f->first = f->chunk;
  __cairn_trailer(p, 0);
  return 1;
}

/* grow maps n more chunks, each aligned to its size. number is the first one's position in the
 * file: the caller must allocate disk blocks there before touching it. Chunks that are never
 * allocated remain holes. Any thread may call it. */
i64 __cairn_file_grow(struct process *p, u32 n, u8 **at, u32 *number) {
  u64 size = (u64)n * LOG_CHUNK_SIZE;
  if (!__cairn_file_own(p)) return -EBADF;
  u8 *m = (u8 *)map(0, size + LOG_CHUNK_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (failed(m)) return (sword)m;
  *number = add(&p->log.file.chunks, n);
  *at = (u8 *)(((uword)m + LOG_CHUNK_SIZE - 1) & ~(LOG_CHUNK_SIZE - 1ul));
  i64 err = map(*at, size, PROT_RW, MAP_SHARED | MAP_FIXED, p->log.file.fd, (u64)(*number + 1) * LOG_CHUNK_SIZE);
  if (failed(err)) return err;
  __cairn_bus_add(*at, size);
  return 0;
}

/* drop closes the parent's file in a child, unless the program has closed it, and leaves it unchanged. */
void __cairn_file_drop(struct process *p) {
  struct file *f = &p->log.file;
  if (f->chunk && f->chunk != f->first) __cairn_file_unmap(f->chunk);
  if (f->first) __cairn_file_unmap(f->first);
  if (f->seen) __cairn_file_unmap(f->seen);
  if (p->frames.summary) __cairn_file_unmap((u8 *)p->frames.summary - LOG_CHUNK_HEADER_SIZE);
  p->frames.summary = 0;
  __cairn_open_forget(p);
  if (__cairn_file_own(p)) sys1(SYS_close, f->fd);
  clear(f, sizeof *f);
  f->fd = -1;
}

void __cairn_trailer(struct process *p, int final) {
  if (!p->log.file.first) return;
  const struct member *m = p->time.member;
  u8 *r = p->log.file.first + LOG_CHUNK_HEADER_SIZE;
  u64 *f = (u64 *)r;
  ((u32 *)r)[1] = (((u32 *)r)[1] & ~LOG_TRAILER_OFF) | (p->set.quiet ? LOG_TRAILER_OFF : 0);
  int over = final || load(&p->finished);
  if (over) ((u32 *)r)[1] |= LOG_TRAILER_FINAL;
  if (final) {
    __cairn_file_header(p); /* the rate of the TSC is known by now */
  }
  u64 now = __cairn_now(p), gap = less(now, most(load(&p->time.clock->last_tick), m->since)), late = less(gap, 2 * p->set.period), idle = 0;
  int exact = p->kind == KIND_EXACT;
  if (exact) gap = late = 0; /* there is no clock that could be late */
  if (gap < p->set.threshold / 2 + p->set.period) idle = late, late = 0; /* the longest regular gap while all are idle */
  if (!over && !late) gap = idle = 0;                            /* its tick will report it */
  f[1] = now;
  f[2] = load(&p->time.clock->ticks), f[3] = m->blind + late, f[4] = m->late + !!late, f[5] = most(m->worst, gap);
  f[6] = load(&p->count.borderline), f[7] = load(&p->count.slow), f[8] = load(&p->count.dropped);
  f[9] = p->limit.count, f[10] = load(&p->set.threshold), f[11] = p->set.period, f[12] = exact ? p->set.low : (u64)p->set.low * 1000;
  f[13] = (exact ? LOG_TICK_EXACT : p->signal.number ? LOG_TICK_SIGNAL : LOG_TICK_THREAD) | (u64)load(&p->thread_count) << 32;
  f[14] = m->idle + idle, f[15] = p->time.cpu, f[16] = load(&p->count.episodes) - load(&p->count.snapshots);
  f[17] = p->flight.recorder ? p->flight.chunks | (u64)load(&p->flight.missed) << 32 : 0;
  if (final) __cairn_signal_blocked(p);
  f[18] = (p->mask == (u32)-1 ? 0 : p->window >> 20) | (u64)load(&p->signal.signalled) << 32;
  ((u32 *)r)[38] = p->signal.blocked;
  ((u32 *)r)[44] = p->open.no_room, ((u32 *)r)[46] = p->open.unwatched;
  if (!exact) return;
  const struct rate *rate = &p->exact.rates[load(&p->exact.number) % RATES];
  ((u32 *)r)[39] = (u32)rate->error;
  f[20] = rate->hz, f[21] = load(&p->count.backwards);
}

/* header writes the header again: some of it was not known at the start. */
void __cairn_file_header(struct process *p) {
  u8 h[LOG_HEADER_SIZE] = {0};
  if (p->log.file.failed || !__cairn_file_own(p)) return;
  put_header(p, h);
  write_at(p->log.file.fd, h, sizeof h, 0);
}

/* chunk maps a chunk of another kind, which stays mapped. Any thread may call it. */
u8 *__cairn_file_chunk(struct process *p, u32 kind, u64 time) {
  struct file *f = &p->log.file;
  return f->fd < 0 || f->failed ? 0 : new_chunk(p, kind, time);
}
