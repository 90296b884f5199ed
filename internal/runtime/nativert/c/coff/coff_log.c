/* The log: a file of chunks that are mapped while they are written. Package format/tracelog/wire documents it. Any thread
 * writes, under a lock that it waits for only so long: another may have been ended or suspended in it. */

/* thread_ended reports whether the thread of a handle has ended. */
static int thread_ended(void *handle) { return handle && !WaitForSingleObject(handle, 0); }

/* number_ended reports whether the thread of a number has ended. */
static int number_ended(u32 tid) {
  void *handle = OpenThread(SYNCHRONIZE, 0, tid);
  int ended = !handle || thread_ended(handle);
  if (handle) CloseHandle(handle);
  return ended;
}

/* hold_thread keeps a handle of this thread. */
static void hold_thread(void **handle) {
  if (*handle) CloseHandle(*handle);
  *handle = OpenThread(SYNCHRONIZE, 0, GetCurrentThreadId());
}

/* take takes the lock, also from a thread that has ended. */
static int take(struct process *p) {
  enum { SPINS = 1000, TRIES = 2000, LOOK = 64 };
  u32 self = GetCurrentThreadId(), holder;
  for (u32 i = 0; i < TRIES; i++) {
    for (u32 k = 0; k < SPINS; k++) {
      holder = 0;
      if (__atomic_compare_exchange_n(&p->lock, &holder, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return 1;
      __asm__ volatile("pause");
    }
    if (i % LOOK == LOOK - 1 && number_ended(holder) && __atomic_compare_exchange_n(&p->lock, &holder, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return 1;
    Sleep(i > 10);
  }
  add(&p->dropped, 1);
  return 0;
}

static void give(struct process *p) { store(&p->lock, 0); }

/* copy uses volatile accesses, so that no compiler replaces it by a call. */
static void copy(void *to, const void *from, u64 n) {
  while (n--) ((u8 *)to)[n] = ((const volatile u8 *)from)[n];
}

/* zero_chunk clears a chunk. */
static void zero_chunk(u8 *at) {
  u64 n = LOG_CHUNK_SIZE / 8;
  __asm__ volatile("rep stosq" : "+D"(at), "+c"(n) : "a"(0) : "memory");
}

static u32 sum_of(const u8 *p, u32 n) {
  u32 sum = 2166136261u;
  while (n--) sum = (sum ^ *p++) * 16777619u;
  return sum;
}

/* map_at maps a part of the file, which grows as needed. */
static u8 *map_at(struct process *p, u64 at) {
  u64 size = at + LOG_CHUNK_SIZE;
  void *m = CreateFileMappingW(p->file, 0, READWRITE, (u32)(size >> 32), (u32)size, 0);
  u8 *view = m ? MapViewOfFile(m, MAP_WRITE, (u32)(at >> 32), (u32)at, LOG_CHUNK_SIZE) : 0;
  if (m) CloseHandle(m);
  return view;
}

static void fail(struct process *p, const u16 *what) {
  p->failed = 1;
  print_error(what, p->path);
}

/* seal closes the chunk. */
static void seal(struct process *p) {
  u8 *c = p->chunk;
  *(u64 *)(c + LOG_CHUNK_LAST_OFFSET) = p->last;
  *(u32 *)(c + LOG_CHUNK_USED_OFFSET) = p->used;
  *(u32 *)(c + LOG_CHUNK_CHECKSUM_OFFSET) = sum_of(c, LOG_CHUNK_CHECKSUM_OFFSET);
  if (c != p->first) UnmapViewOfFile(c);
  p->chunk = 0;
}

/* map_next maps another chunk of the file; 0 if there is no room. */
static u8 *map_next(struct process *p) {
  u8 *c = map_at(p, (p->chunks + 1ull) * LOG_CHUNK_SIZE);
  if (!c) return fail(p, u"no room for the log "), (u8 *)0;
  p->chunks++;
  return c;
}

/* new_chunk maps another chunk, with its header; 0 if there is no room. */
static u8 *new_chunk(struct process *p, u32 kind, u64 time) {
  u8 *c = map_next(p);
  if (!c) return 0;
  *(u32 *)(c + LOG_CHUNK_KIND_OFFSET) = kind;
  *(u32 *)(c + LOG_CHUNK_PID_OFFSET) = p->pid;
  *(u32 *)(c + LOG_CHUNK_SEQUENCE_OFFSET) = p->chunks - 1;
  *(u64 *)(c + LOG_CHUNK_FIRST_OFFSET) = *(u64 *)(c + LOG_CHUNK_LAST_OFFSET) = time;
  *(u64 *)(c + LOG_CHUNK_DROPPED_OFFSET) = p->dropped;
  store((u32 *)c, LOG_CHUNK_MAGIC);
  return c;
}

/* room returns room for a record, with its header but for the type, or 0. */
static u8 *room(struct process *p, u32 size, u32 a, u64 time) {
  if (p->failed || !p->file) return 0;
  if (p->chunk && p->used + size > LOG_MAX_PAYLOAD) seal(p);
  if (!p->chunk && !(p->used = 0, p->chunk = new_chunk(p, LOG_KIND_RECORDS, time))) return 0;
  u8 *r = p->chunk + LOG_CHUNK_HEADER_SIZE + p->used;
  p->used += size, p->last = most(p->last, time);
  ((u16 *)r)[1] = (u16)size, ((u32 *)r)[1] = a;
  return r;
}

/* put_record copies a record; readers see it when its type is there. */
static void put_record(struct process *p, u32 type, u32 a, const void *from, u32 size, u64 time) {
  u8 *r = room(p, size, a, time);
  if (!r) return;
  copy(r + 8, (const u8 *)from + 8, size - 8);
  store((u16 *)r, (u16)type);
}

/* ---- modules ---- */

/* put_text appends a text in UTF-8 to a record, and returns its length. */
static u32 put_text(u8 *to, const u16 *text, u32 most_bytes) {
  i32 n = WideCharToMultiByte(UTF8, 0, text, -1, (char *)to, (i32)most_bytes, 0, 0);
  return n > 0 ? (u32)n - 1 : 0;
}

/* preferred returns the address of an image that its file has, which the loader replaces in memory; 0 if the file cannot be
 * read. */
static u64 preferred(const u16 *path) {
  enum { READ = (i32)0x80000000, OPEN_EXISTING = 3, BASE = 24 + 24 };
  static u8 head[1024];
  u32 done = 0, at;
  void *f = CreateFileW(path, (u32)READ, SHARE_ALL, 0, OPEN_EXISTING, NORMAL, 0);
  if (f == (void *)-1) return 0;
  i32 ok = ReadFile(f, head, sizeof head, &done, 0);
  CloseHandle(f);
  if (!ok || done < 64) return 0;
  at = *(const u32 *)(head + 60);
  return at < done && at + BASE + 8 <= done ? *(const u64 *)(head + at + BASE) : 0;
}

/* What a mode does in time with modules. */
static u64 log_moment(struct process *p);
static void module_goes(struct process *p, struct module *m);
static void module_again(struct process *p, u32 number);
static void module_comes(struct process *p, u8 *base, const u16 *path, u32 bytes);

static void write_module(struct process *p, struct module *m, u32 flags) {
  enum { ROOM = 3 * MAX_DIR };
  static u8 record[LOG_MODULE_SIZE + ROOM + 8] __attribute__((aligned(8)));
  u64 *f = (u64 *)record, time = log_moment(p);
  u32 length = 0, known = 0, unused;
  for (u32 i = 0; i < sizeof record / 8; i++) ((volatile u64 *)record)[i] = 0;
  if (!(flags & LOG_MODULE_UNLOADED)) {
    const struct codeview *id = identity_of(m->base);
    length = put_text(record + LOG_MODULE_SIZE, m->path, ROOM);
    if (id) copy(record + 48, id->id, known = sizeof id->id);
    if (find_section(m->base, ".crnt", &unused)) flags |= LOG_MODULE_INSTRUMENTED;
    flags |= m->main ? LOG_MODULE_MAIN : 0;
  }
  f[1] = time, f[2] = (u64)m->base - (length ? preferred(m->path) : 0), f[3] = (u64)m->base, f[4] = (u64)m->base + m->size;
  ((u32 *)record)[10] = flags;
  ((u16 *)record)[22] = (u16)known, ((u16 *)record)[23] = (u16)length;
  put_record(p, LOG_TYPE_MODULE, m->number, record, LOG_MODULE_SIZE + ((length + 7) & ~7u), time);
  m->written = 1;
  if (flags & LOG_MODULE_UNLOADED) add(&p->trace.clock, 1); /* what is loaded at its address has later events */
}

/* is_again reports whether a module that is gone is the image that is loaded at its address now. */
static int is_again(const struct module *m, u8 *base, const u16 *path, u32 n) {
  const struct codeview *id = identity_of(base);
  int same = m->gone && m->was == base && m->size == image_size(base) && id && !m->path[n / 2];
  for (u32 i = 0; same && i < n / 2; i++) same = m->path[i] == path[i];
  for (u32 i = 0; same && i < sizeof id->id; i++) same = m->id[i] == id->id[i];
  return same;
}

/* place_of returns where a module that is loaded is noted: where it was before, or in a free place; 0 if it is there, or there
 * is none. */
static struct module *place_of(struct process *p, u8 *base, const u16 *path, u32 n) {
  struct module *found = 0, *free = 0, *oldest = 0;
  for (struct module *m = p->module; m < p->module + p->modules; m++) {
    if (m->base == base) return 0;
    if (!m->base && is_again(m, base, path, n)) found = m;
    if (!m->base && (!oldest || m->gone < oldest->gone)) oldest = m;
  }
  if (!found && p->modules < p->places) free = p->module + p->modules++;
  if (!found && !free) free = oldest;
  if (!free) return found;
  const struct codeview *id = identity_of(base);
  copy(free->path, path, n);
  free->path[n / 2] = 0;
  for (u32 i = 0; i < sizeof free->id; i++) free->id[i] = id ? id->id[i] : 0;
  free->size = image_size(base), free->number = p->numbers++, free->main = !free->number, free->gone = 0;
  return free;
}

/* add_module notes a module. The loader calls it, before code of the module runs. */
static void add_module(struct process *p, u8 *base, const u16 *path, u32 bytes) {
  module_comes(p, base, path, bytes);
  if (!take(p)) return;
  u32 n = bytes < sizeof p->module->path - 2 ? bytes : sizeof p->module->path - 2;
  struct module *m = place_of(p, base, path, n);
  int again = m && m->gone;
  if (m) m->base = base, m->gone = m->written = 0;
  if (m && p->file) write_module(p, m, 0);
  give(p);
  if (again) module_again(p, m->number);
}

/* remove_module notes that one is gone. */
static void remove_module(struct process *p, u8 *base) {
  struct module *m = p->module;
  while (m < p->module + p->modules && m->base != base) m++;
  if (m == p->module + p->modules) return;
  module_goes(p, m);
  int locked = take(p);
  if (m->written && locked) write_module(p, m, LOG_MODULE_UNLOADED);
  m->was = base, m->gone = ++p->removed, m->base = 0;
  if (locked) give(p);
}

/* list_modules notes all modules. The program is the first. */
static void list_modules(struct process *p) {
  static const void *modules[MODULES];
  static u16 path[MAX_DIR];
  u32 size = 0;
  if (!K32EnumProcessModules((void *)-1, modules, sizeof modules, &size)) size = 0;
  for (u32 i = 0; i < size / sizeof *modules && i < MODULES; i++)
    add_module(p, (u8 *)modules[i], path, 2 * GetModuleFileNameW(modules[i], path, MAX_DIR - 1));
}

/* ---- the file ---- */

#if CAIRN_MODE == LOG_MODE_TRACE
enum { STATUS = LOG_TYPE_TRACE, STATUS_SIZE = LOG_TRACE_SIZE };

/* write_status brings the first record up to date. */
static void write_status(struct process *p) {
  u64 *f = (u64 *)(p->first + LOG_CHUNK_HEADER_SIZE);
  f[1] = p->mono + (load(&p->trace.clock) - 1) * LOG_CLOCK_UNIT, f[2] = p->ticks, f[3] = p->period, f[4] = p->worst;
  f[5] = p->trace.ring_chunks * LOG_CHUNK_SIZE, f[6] = p->trace.sequence, f[7] = p->trace.overwritten;
  ((u32 *)f)[1] = (u32)p->dropped;
}
#else
enum { STATUS = LOG_TYPE_TRAILER, STATUS_SIZE = LOG_TRAILER_SIZE };

/* write_status brings the first record up to date. */
static void write_status(struct process *p) {
  u64 *f = (u64 *)(p->first + LOG_CHUNK_HEADER_SIZE), n = p->ticks;
  u32 flags = (p->off || p->quiet ? LOG_TRAILER_OFF : 0) | (p->ended ? LOG_TRAILER_FINAL : 0);
  f[1] = now(p), f[2] = n, f[3] = p->blind, f[4] = p->late, f[5] = p->worst;
  f[6] = p->borderline, f[7] = p->slow, f[8] = p->dropped, f[9] = p->left_out;
  f[10] = p->threshold, f[11] = p->period, f[12] = p->low * 1000ull;
  f[13] = LOG_TICK_THREAD | (u64)p->threads << 32;
  f[16] = p->episodes - p->snapshots;
  f[17] = p->flight.recorder ? p->flight.chunks | (u64)p->flight.missed << 32 : 0;
  if (p->watch) f[22] = p->watch->no_room, f[23] = p->watch->unwatched;
  ((u32 *)f)[1] = flags;
}
#endif

/* put_setting writes settings. */
static void put_setting(struct process *p, u64 time, const u64 *of) {
  u64 record[LOG_SETTING_SIZE / 8] = {0, time, of[0], of[1], of[2]};
  put_record(p, LOG_TYPE_SETTING, of[3] ? LOG_SETTING_OFF : 0, record, sizeof record, time);
}

/* put_settings writes those that changed since its last call, and in front of the first the earlier ones. */
static void put_settings(struct process *p) {
  enum { MOST = 1000 }; /* for a program that changes them endlessly */
  u64 current[4] = {load(&p->threshold), p->period, p->rate, load(&p->quiet)}, *was = p->setting;
  int same = current[0] == was[0] && current[1] == was[1] && current[2] == was[2] && current[3] == was[3];
  if (!same && was[0] && p->settings < MOST) {
    if (!p->settings++) put_setting(p, p->mono, was);
    put_setting(p, now(p), current);
  }
  copy(was, current, sizeof current);
}

static void write_header(struct process *p, u8 *h) {
  copy(h, LOG_MAGIC, 8);
  *(u16 *)(h + LOG_VERSION_OFFSET) = LOG_VERSION;
  *(u16 *)(h + LOG_SIZE_OFFSET) = LOG_HEADER_SIZE;
  *(u32 *)(h + LOG_PID_OFFSET) = p->pid;
  *(u64 *)(h + LOG_REALTIME_OFFSET) = p->real;
  *(u64 *)(h + LOG_MONOTONIC_OFFSET) = p->mono;
  *(u32 *)(h + LOG_FLAGS_OFFSET) = (p->flight.recorder ? LOG_FLIGHT | LOG_FLIGHT_ENDS : 0) | LOG_CALLS_WINDOWS << LOG_CALLS_SHIFT;
  *(u32 *)(h + LOG_MODE_OFFSET) = CAIRN_MODE;
  *(u32 *)(h + LOG_CHECKSUM_OFFSET) = sum_of(h, LOG_CHECKSUM_OFFSET);
}

/* create makes the file, under the first free name: DIR\<program>.<id>.<pid>.<n>.cairnlog. */
static void *create(struct process *p) {
  const struct codeview *id = p->modules ? identity_of(p->module->base) : 0;
  const u16 *name = p->module->path;
  for (const u16 *s = name; *s; s++)
    if (*s == '\\' || *s == '/') name = s + 1;
  u16 *q = put(p->path, p->dir);
  CreateDirectoryW(p->dir, 0);
  *q++ = '\\';
  for (u32 i = 0; name[i] && i < 128; i++) *q++ = name[i];
  *q++ = '.';
  for (u32 i = 0; id && i < 12; i++) *q++ = u"0123456789abcdef"[i & 1 ? id->id[i / 2] & 15 : id->id[i / 2] >> 4];
  *q++ = '.';
  q = put(put_number(q, p->pid), u".");
  for (u32 n = 0;; n++) {
    put(put_number(q, n), u".cairnlog");
    void *f = CreateFileW(p->path, (u32)GENERIC_RW, SHARE_ALL, 0, CREATE_NEW, NORMAL, 0);
    if (f != (void *)-1) return f;
    if (GetLastError() != FILE_EXISTS || n > 10000) return 0;
  }
}

/* begin_log makes the log, with its status as the first record and the modules, and reports whether there is one. */
static int begin_log(struct process *p) {
  if (p->first) return 1;
  if (p->failed || !*p->dir || (CAIRN_MODE == LOG_MODE_TRACE && p->off)) return 0;
  u8 *h;
  if (!(p->file = create(p))) return fail(p, u"cannot create the log "), 0;
  if (!(h = map_at(p, 0))) return fail(p, u"no room for the log "), 0;
  write_header(p, h);
  UnmapViewOfFile(h);
  u8 *r = room(p, STATUS_SIZE, 0, now(p));
  if (!r) return 0;
  p->first = p->chunk;
  write_status(p);
  store((u16 *)r, STATUS);
  for (struct module *m = p->module; m < p->module + p->modules; m++)
    if (m->base) write_module(p, m, 0);
  return 1;
}

/* read_name reads the description of a thread, by SetThreadDescription, and returns its length; 0: it has none. */
static u32 read_name(void *handle, char *to) {
  enum { THREAD_NAME = 38, UNITS = 256 };
  struct {
    u16 length, room;
    u32 unused;
    const u16 *text;
    u16 units[UNITS];
  } name;
  if (query_thread(handle, THREAD_NAME, &name, sizeof name) < 0) return 0;
  u32 n = name.length / 2, bytes = 0;
  while (n && (bytes = (u32)WideCharToMultiByte(UTF8, 0, name.text, (i32)n, to, MAX_NAME, 0, 0)) == 0) n--; /* a long one */
  return bytes;
}

/* note_description gives this thread's state the name that its description has. */
static void note_description(struct thread *t) {
  char name[MAX_NAME];
  u32 n = read_name((void *)-2, name);
  int same = n == t->name_length;
  for (u32 i = 0; same && i < n; i++) same = name[i] == t->name[i];
  if (!n || same) return;
  copy(t->name, name, n);
  t->name_length = n, t->named = 0;
}

/* write_thread writes the name of a thread, once. */
static void write_thread(struct process *p, struct thread *t, u64 time) {
  u64 record[(LOG_THREAD_SIZE + MAX_NAME) / 8] = {0, time, t->name_length};
  copy(record + 3, t->name, t->name_length);
  put_record(p, LOG_TYPE_THREAD, t->tid, record, LOG_THREAD_SIZE + ((t->name_length + 7) & ~7u), time);
  t->named = 1;
}

static void write_record(struct process *p, u32 type, u32 tid, const u64 *f, u32 size, u64 time) {
  if (!take(p)) return;
  if (begin_log(p)) put_record(p, type, tid, f, size, time);
  give(p);
}

static void note_episode(struct process *p, const struct thread *t, const u64 *f);

/* write_episode writes an episode unless there were too many in this second, and reports whether it did. */
static int write_episode(struct process *p, struct thread *t, const u64 *f, u32 size) {
  u64 time = f[2];
  if (!take(p)) return 0;
  if (time / SECOND != p->second) p->second = time / SECOND, p->in_second = 0;
  int written = p->in_second < p->rate && begin_log(p);
  if (written) {
    p->in_second++;
    note_description(t);
    if (!t->named) write_thread(p, t, time);
    put_settings(p);
    put_record(p, LOG_TYPE_EPISODE, t->tid, f, size, time);
    note_episode(p, t, f);
    write_status(p);
  } else if (p->file) {
    p->left_out++;
  }
  give(p);
  if (written && p->flight.recorder && !(f[7] & LOG_EPISODE_SNAPSHOT)) p->flight.keep_window(p, t, f[1], f[3], f[4], time);
  return written;
}

/* look brings the log up to date; the clock's thread calls it. */
static void look(struct process *p) {
  if (!take(p)) return;
  if (begin_log(p)) put_settings(p), write_status(p);
  give(p);
}
