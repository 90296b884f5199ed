/* The log: a file of chunks. Package format/tracelog/wire documents it. All of this runs under the lock. */

/* copy uses volatile accesses, so that no compiler replaces it by a call. */
static void copy(void *to, const void *from, u64 n) {
  while (n--) ((u8 *)to)[n] = ((const volatile u8 *)from)[n];
}

static u32 sum_of(const u8 *p, u32 n) {
  u32 sum = 2166136261u;
  while (n--) sum = (sum ^ *p++) * 16777619u;
  return sum;
}

static void fail(struct process *p, const char *what) {
  if (!p->failed) print_error(what, p->path);
  p->failed = p->off = 1;
}

/* map_memory maps n bytes of memory, at a multiple of a chunk's size; 0 if there is none. */
static u8 *map_memory(u64 n, int protection) {
  u8 *m = mmap(0, n + CHUNK, protection, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (m == (u8 *)-1) return 0;
  u8 *c = (u8 *)(((u64)m + CHUNK - 1) & ~(CHUNK - 1));
  if (c > m) munmap(m, (u64)(c - m));
  if (c + n < m + n + CHUNK) munmap(c + n, (u64)(m + CHUNK - c));
  return c;
}

/* is_log reports whether a file begins as the log does: another may have its name by now. */
static int is_log(const struct process *p, int fd) {
  u8 h[LOG_HEADER_SIZE];
  u32 same = 0;
  if (pread(fd, h, sizeof h, 0) != sizeof h) return 0;
  while (same < sizeof h && h[same] == p->header[same]) same++;
  return same == sizeof h;
}

/* map_chunk maps another chunk of the file. It writes zeros there first: a full disk must be noticed here, not in a probe. */
static u8 *map_chunk(struct process *p) {
  u64 at = (p->chunks + 1) * CHUNK, done = 0;
  i64 n = 1;
  u8 *c = 0;
  int fd = open(p->path, O_RDWR | O_CLOEXEC), ours = fd >= 0 && is_log(p, fd);
  while (ours && n > 0 && done < CHUNK) {
    n = pwrite(fd, p->zeros + done, CHUNK - done, (i64)(at + done));
    if (n > 0) done += (u64)n;
  }
  if (done == CHUNK && (c = map_memory(CHUNK, PROT_NONE)) && mmap(c, CHUNK, PROT_RW, MAP_SHARED | MAP_FIXED, fd, (i64)at) != c) {
    munmap(c, CHUNK);
    c = 0;
  }
  if (!c) fail(p, fd < 0 || ours ? "no room for more of the log " : "another file has the name of the log "); /* before close changes errno */
  if (fd >= 0) close(fd);
  p->chunks += c != 0;
  return c;
}

/* ---- records ---- */

static void head_chunk(struct process *p, u8 *c, u32 kind, u64 time) {
  *(u32 *)(c + LOG_CHUNK_KIND_OFFSET) = kind;
  *(u32 *)(c + LOG_CHUNK_PID_OFFSET) = (u32)p->pid;
  *(u64 *)(c + LOG_CHUNK_FIRST_OFFSET) = *(u64 *)(c + LOG_CHUNK_LAST_OFFSET) = time;
  if (CAIRN_MODE != LOG_MODE_TRACE) *(u32 *)(c + LOG_CHUNK_SEQUENCE_OFFSET) = (u32)p->chunks - 1;
  store((u32 *)c, LOG_CHUNK_MAGIC);
}

/* new_chunk maps another chunk, with its header; 0 if there is no room. */
static u8 *new_chunk(struct process *p, u32 kind, u64 time) {
  u8 *c = map_chunk(p);
  if (c) head_chunk(p, c, kind, time);
  return c;
}

/* room returns room for a record, which is zero but for its head, or 0. Readers see it when its type is there. */
static u8 *room(struct process *p, u32 size, u32 a) {
  int full = p->first_used + size > CHUNK;
  if (full && (!p->more || p->more_used + size > CHUNK)) {
    if (!(p->more = new_chunk(p, LOG_KIND_RECORDS, p->mono))) return 0;
    p->more_used = LOG_CHUNK_HEADER_SIZE;
  }
  u32 *used = full ? &p->more_used : &p->first_used;
  u8 *r = (full ? p->more : p->first) + *used;
  *used += size;
  ((u16 *)r)[1] = (u16)size, ((u32 *)r)[1] = a;
  return r;
}

static void write_module(struct process *p, const struct module *m, u32 flags) {
  u32 n = flags & LOG_MODULE_UNLOADED ? 0 : length(m->path);
  u8 *r = p->first ? room(p, LOG_MODULE_SIZE + ((n + 7) & ~7u), m->number) : 0;
  u64 *f = (u64 *)r;
  if (!r) return;
  f[1] = moment(p), f[2] = m->slide, f[3] = m->start, f[4] = m->end;
  if (!(flags & LOG_MODULE_UNLOADED)) {
    flags |= LOG_MODULE_INSTRUMENTED | (m->main ? LOG_MODULE_MAIN : 0);
    if (m->has_id) copy(r + 48, m->id, ((u16 *)r)[22] = sizeof m->id);
    copy(r + LOG_MODULE_SIZE, m->path, ((u16 *)r)[23] = (u16)n);
  }
  ((u32 *)r)[10] = flags;
  store((u16 *)r, LOG_TYPE_MODULE);
  if (CAIRN_MODE == LOG_MODE_TRACE && flags & LOG_MODULE_UNLOADED) add(&p->clock, 1); /* what is loaded at its address has later events */
}

#if CAIRN_MODE == LOG_MODE_TRACE
enum { STATUS = LOG_TYPE_TRACE, STATUS_SIZE = LOG_TRACE_SIZE };

/* write_status brings the first record up to date. */
static void write_status(struct process *p) {
  u64 *f = (u64 *)(p->first + LOG_CHUNK_HEADER_SIZE);
  f[1] = time_of(p, load(&p->clock)), f[2] = load(&p->ticks), f[3] = p->period, f[4] = load(&p->worst);
  f[5] = p->ring_chunks * CHUNK, f[6] = p->sequence, f[7] = p->overwritten;
}
#else
enum { STATUS = LOG_TYPE_TRAILER, STATUS_SIZE = LOG_TRAILER_SIZE };

static void put_unseen(const struct process *p, u64 *f); /* in mode spike */

static void write_status(struct process *p) {
  u64 *f = (u64 *)(p->first + LOG_CHUNK_HEADER_SIZE);
  f[1] = now(p), f[2] = load(&p->ticks), f[3] = p->blind, f[4] = p->late, f[5] = load(&p->worst);
  f[6] = p->borderline, f[7] = p->slow, f[8] = p->dropped, f[9] = p->left_out;
  f[10] = p->threshold, f[11] = p->period, f[12] = p->low * 1000ul;
  f[13] = LOG_TICK_THREAD | (u64)p->threads << 32;
  f[16] = p->episodes - p->snapshots;
#if CAIRN_MODE == LOG_MODE_SPIKE
  f[17] = p->flight.recorder ? p->flight.chunks | (u64)p->flight.missed << 32 : 0;
  put_unseen(p, f);
#endif
  ((u32 *)f)[1] = p->ended ? LOG_TRAILER_FINAL : 0;
}
#endif

/* ---- the file ---- */

static void put_header(const struct process *p, u8 *h) {
  copy(h, LOG_MAGIC, 8);
  *(u16 *)(h + LOG_VERSION_OFFSET) = LOG_VERSION;
  *(u16 *)(h + LOG_SIZE_OFFSET) = LOG_HEADER_SIZE;
  *(u32 *)(h + LOG_PID_OFFSET) = (u32)p->pid;
  *(u64 *)(h + LOG_REALTIME_OFFSET) = p->real;
  *(u64 *)(h + LOG_MONOTONIC_OFFSET) = p->mono;
  *(u32 *)(h + LOG_FLAGS_OFFSET) = (p->forked ? LOG_FORKED : 0) | (p->flight.recorder ? LOG_FLIGHT | LOG_FLIGHT_ENDS : 0) | LOG_CALLS_MAC_OS << LOG_CALLS_SHIFT;
  *(u32 *)(h + LOG_MODE_OFFSET) = CAIRN_MODE;
  *(u32 *)(h + LOG_CHECKSUM_OFFSET) = sum_of(h, LOG_CHECKSUM_OFFSET);
}

/* create makes the file, under the first free name: DIR/<program>.<id>.<pid>.<n>.cairnlog. */
static int create(struct process *p) {
  enum { FLAGS = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC };
  char *q = put(put(put(put(p->path, p->dir), "/"), p->name), ".");
  mkdir(p->dir, 0777);
  q = put(put_number(q, (u32)p->pid), ".");
  for (u32 n = 0;; n++) {
    put(put_number(q, n), LOG_SUFFIX);
    int fd = open_dprotected_np ? open_dprotected_np(p->path, FLAGS, CLASS_D, 0, 0644) : -1;
    if (fd < 0) fd = open(p->path, FLAGS, 0644);
    if (fd >= 0 || *__error() != EEXIST || n > 10000) return fd;
  }
}

/* begin_log makes the log, with its status as the first record and the modules, and reports whether there is one. */
static int begin_log(struct process *p) {
  if (p->first) return 1;
  for (u32 i = 0; i < sizeof p->header; i++) ((volatile u8 *)p->header)[i] = 0;
  put_header(p, p->header);
  int fd = create(p);
  int ok = fd >= 0 && pwrite(fd, p->header, sizeof p->header, 0) == sizeof p->header;
  if (!ok) fail(p, "cannot write ");
  if (fd >= 0) close(fd);
  u8 *c = ok ? map_chunk(p) : 0;
  if (!c) return 0;
  head_chunk(p, c, LOG_KIND_RECORDS, p->mono);
  p->first_used = LOG_CHUNK_HEADER_SIZE;
  p->first = c;
  u8 *r = room(p, STATUS_SIZE, 0);
  write_status(p);
  store((u16 *)r, STATUS);
  for (struct module *m = p->module; m < p->module + p->modules; m++)
    if (m->image) write_module(p, m, 0);
  return 1;
}
