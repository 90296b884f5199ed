/* The runtime of the coverage and count modes: it writes the records of its module to a file. A
 * copy with only hidden symbols is linked into every instrumented executable and shared object, or,
 * with CAIRN_MAPPED, is a file that each of them maps.
 *
 * It makes system calls itself and needs no C library, so that it works in static, musl and
 * freestanding programs. It uses these names of a C library if they exist (weak): __register_atfork
 * or environ and pthread_atfork, dl_iterate_phdr, and if it counts __libc_single_threaded. It allocates
 * no memory except one mapping while it writes a file. It must be small, since it is added to every
 * program.
 *
 * The raw file is mapped shared over the records from the start of the process, or of a child:
 * nothing is lost however the process ends, and the end needs no system call, which might fail by
 * then (full table of descriptors, another root directory, seccomp filter). With CAIRN_CONTINUOUS=0
 * the file is written at the end.
 *
 * Files: $CAIRN_DIR/<module>.<build id>.<pid>.<n>.mipraw; package mip documents the format. A file
 * is written under a temporary name and then renamed to the first free n, so that neither readers
 * nor processes with the same pid (every container has a pid 1) interfere. */

#include "wire.h"
#include "rt_kernel.h"
#include "rt_module.h"
#include "rt_name.h"
#include "rt_header.h"

ANY_FLOATS

struct state {
  u32 dir;         /* length of the directory; 0: write nothing */
  i32 pid;         /* process that the records belong to */
  u32 n;           /* number in the file name */
  u32 apart;       /* where the records' section is in a mapped file: after the first page, or 0 */
  u32 named;       /* length of the scenario; 0: not known */
  u32 sig;         /* signal that we handle; 0: none */
  u32 bus;         /* SIGBUS, if its handler must be removed with this module */
  i32 writer;      /* thread that writes a file */
  u64 run;         /* unique number of this run */
  u8 main;            /* the module is the executable */
  u8 live;            /* the records are a mapped file */
  volatile u8 mapped; /* they are */
  u8 claimed;         /* file n is ours: replace it */
  u8 dumped;          /* a dump was requested since the last reset */
  u8 quiet;           /* print no message about a missing file */
  u8 told;            /* the program chose the directory */
  /* Values that the end needs are copied at the start: programs overwrite their environment and
   * change their directory. */
  char scenario[CAIRN_MAX_SCENARIO]; /* scenario of the run */
  char path[MAX_PATH]; /* directory/module.id. */
};
static struct state st;

/* state returns the address of st, which the compiler does not know: an access relative to a register is
 * shorter than one relative to the instruction. */
INLINE struct state *state(void) {
  struct state *s = &st;
  __asm__("" : "+r"(s));
  return s;
}

/* The first page of the mapped file, with its head. The file is the records' section, which begins with room for it. If
 * another part of the section is first, as in a link of bitcode before other objects, the section is behind this page. */
static u8 head[MAX_PAGE] __attribute__((aligned(MAX_PAGE)));

static void print_error(const char *what, const char *path, long err) {
  if (st.quiet) return;
  char b[MAX_PATH + 64], *p = put(put(put(put(b, "cairn: cannot "), what), path), ": errno ");
  p = put(put_number(p, (u32)-err), "\n");
  sys4(SYS_write, 2, (long)b, p - b, 0);
}

/* ---- files ---- */

/* set_path sets the path up to the process, and returns 0 if there is no directory. The path is
 * absolute unless the working directory has an unusually long name. */
static u32 set_path(const char *dir) {
  struct state *const own = state();
  char *p = own->path;
  u32 len, dir_len = 0;
  while (dir[dir_len])
    if (++dir_len >= MAX_DIR) return 0;
  if (!dir_len) return 0;
  const u8 *id = build_id(&len);
  if (*dir != '/' && sys2(SYS_getcwd, p, MAX_DIR - dir_len - 1) > 0 && *p == '/') {
    while (*p) p++;
    *p++ = '/';
  }
  p = put(p, dir);
  own->dir = (u32)(p - own->path);
  *p++ = '/';
  p = put_module(p, &own->main);
  *p++ = '.';
  for (u32 i = 0; i < 2 * len; i++) {
    u8 digit = i & 1 ? id[i / 2] & 15 : id[i / 2] >> 4;
    *p++ = digit + (digit < 10 ? '0' : 'a' - 10);
  }
  *p++ = '.';
  *p = 0;
  return own->dir;
}

/* put_path puts directory/module.id.pid. and a number as the last part. */
static void put_path(char *p, u32 number, const char *suffix) {
  p = put_number(put(p, st.path), (u32)st.pid);
  *p++ = '.';
  put(put_number(p, number), suffix);
}

/* publish renames the temporary file: to the name of the file that it replaces, or to the first
 * free one. */
static long publish(const char *tmp) {
  char path[MAX_PATH];
  for (;; st.n++) {
    long err = -1;
    put_path(path, st.n, ".mipraw");
    if (!st.claimed) {
#if __ANDROID__
      /* Android ends an app by seccomp for a rename that may fail or for reading a limit, and an
       * app cannot create links. So the name is reserved first. */
      err = create_file(path, 0644);
      if (err == -EEXIST) continue;
      if (err >= 0) err = sys2(SYS_close, (void *)err, 0) - 1;
#else
      err = rename_new(tmp, path);
      if (err < 0 && err != -EEXIST && (err = link_file(tmp, path)) >= 0) remove_file(tmp);
      if (err == -EEXIST) continue;
#endif
    }
    st.claimed = 1;
    if (err >= 0) return err;
    return rename_file(tmp, path); /* ours, or the file system supports neither */
  }
}

/* begin returns 0 if this thread is writing a file already and runs a signal handler meanwhile. Others sleep: the writer
 * may have a lower priority, and never get the processor of one that only yields. */
static __attribute__((noinline)) int begin(void) {
  i32 me = sys0(SYS_gettid), none = 0;
  for (; !__atomic_compare_exchange_n(&st.writer, &none, me, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED); none = 0) {
    if (none == me) return 0;
    wait_for(0, 0, 1);
  }
  return 1;
}
INLINE void done(void) { __atomic_store_n(&st.writer, 0, __ATOMIC_RELEASE); }

/* The size of the records and of the order buffer in memory: whole pages. */
INLINE uword raw_size(void) { return used_room(raw_start, raw_stop, raw_used); }
INLINE uword order_size(void) { return used_room(order_start, order_stop, order_used); }

/* in_use returns the size of one of them without what rounds it up, which a file ends with. If a linker
 * put something after our part, as lld does with the records of link-time optimization, that is all of
 * it. qemu maps the end of a file only if that is on a page of its host, so with larger ones files have
 * whole pages. */
static __attribute__((noinline)) uword in_use(const u8 *start, const u8 *stop, const u8 *used) {
  if (MAX_PAGE > 4096 && page_size() > 4096) return used_room(start, stop, used);
  if ((uword)stop & (MAX_PAGE - 1) || (uword)(stop - used) >= MAX_PAGE) used = stop;
  return (uword)(used - start);
}

/* over maps a file, or new memory, over an address. It returns 0 or an error. */
static __attribute__((noinline)) long over(u8 *at, uword size, long flags, long fd, uword offset) {
  long err = map(at, size, flags | MAP_FIXED, fd, offset);
  return (uword)err < -4095UL ? 0 : err;
}

/* place maps a file, or new memory, over the head, the records and the order buffer. */
static long place(long flags, long fd) {
  uword at = st.apart, raw = raw_size();
  long err = over(head, page_size(), flags, fd, 0);
  if (err >= 0) err = over(raw_start, raw, flags, fd, at);
  if (err >= 0 && order_size()) err = over(order_start, order_size(), flags, fd, at + raw);
  return err;
}

/* add_sum continues a checksum. */
static u32 add_sum(u32 sum, const u8 *p, uword n) {
  while (n--) sum = (sum ^ *p++) * CAIRN_FNV_PRIME;
  return sum;
}

/* single returns CAIRN_RAW_SINGLE if there has been no second thread so far, see single.h. A module that counts no calls
 * does not ask. */
#if CAIRN_MAPPED
#include "single.h"
static u16 single(void) { return had_one_thread(); }
#else
HIDDEN WEAK u16 __cairn_single(void) { return 0; }
#define single __cairn_single
#endif

/* seal completes the head of the mapped file. A child that no fork handler ran in may have done so already: what it said
 * of threads holds for the child. */
static void seal(void) {
  struct header *h = (struct header *)head;
  h->checksum = 0;
  h->flags = (h->flags & ~CAIRN_RAW_SINGLE) | CAIRN_RAW_SEALED | (h->shared ? 0 : single());
  u32 sum = add_sum(CAIRN_FNV_BASIS, head, st.apart);
  __asm__("" ::: "memory"); /* raw_start may be the same page */
  sum = add_sum(sum, raw_start, h->stored);
  h->checksum = add_sum(sum, order_start, CAIRN_SLOT_SIZE * (uword)h->slots);
}

/* name_run gives the run a unique number, made of the time and of a randomized address, as
 * containers may start with equal clocks. */
static void name_run(void) {
  st.run = nonce() ^ (u64)(uword)__builtin_frame_address(0) << 28;
}

/* Kinds of files. */
enum {
  COPY,  /* a copy of the records */
  LIVE,  /* the records themselves, from now on */
  FRESH, /* as LIVE, starting from zero */
};

/* fill builds the file at h and returns its end: a live one has no room behind its last part. */
static __attribute__((always_inline)) inline u8 *fill(struct header *h, int live) {
  struct state *const own = state();
  u8 *p = live ? (u8 *)h + own->apart : (u8 *)(h + 1) + own->named;
  uword order = in_use(order_start, order_stop, order_used);
  u32 len;
  const u8 *id = build_id(&len);
  if (live != FRESH) copy(p, raw_start, raw_size());
  __builtin_memcpy(h->magic, CAIRN_RAW_MAGIC, sizeof h->magic);
  h->version = CAIRN_RAW_VERSION;
  h->pid = (u32)own->pid;
  h->run = own->run;
  h->id_len = (u8)len;
  copy(h->id, id, len);
  h->scenario_len = (u8)own->named;
  copy(h + 1, own->scenario, own->named);
  if (live) h->flags = own->apart ? CAIRN_RAW_CONTINUOUS : CAIRN_RAW_CONTINUOUS | CAIRN_RAW_INSIDE;
  h->data_offset = (u32)(p - (u8 *)h);
  h->size = (uword)(raw_stop - raw_start);
  if (order) {
    h->next_at = (uword)((u8 *)&__cairn_next - raw_start);
    h->slots = __cairn_ring ? __cairn_ring : (u32)(order / CAIRN_SLOT_SIZE);
    if (!live) {
      h->next = *(u32 *)(p + h->next_at);
      h->next_at = 0;
      order = CAIRN_SLOT_SIZE * (uword)(h->next < h->slots ? h->next : h->slots);
    }
  }
  u8 *end = p + (order ? raw_size() : in_use(raw_start, raw_stop, raw_used));
  if (!live)
    while (end > p && !end[-1]) end--;
  h->stored = (uword)(end - p);
  if (live != FRESH) copy(end, order_start, order);
  end += order;
  if (!live) {
    h->flags = single(); /* after the copy: a thread that starts later is not in it */
    h->checksum = add_sum(CAIRN_FNV_BASIS, (u8 *)h, (uword)(end - (u8 *)h));
  }
  return end;
}

/* map_records maps the file over the records. If the file system supports no shared mappings, this may
 * leave the first mapping unmapped: it is the head, which matters least. */
static long map_records(long fd, const u8 *file) {
  long err = place(MAP_SHARED, fd);
  if (err >= 0) return err;
  place(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  file += st.apart;
  copy(raw_start, file, raw_size());
  copy(order_start, file + raw_size(), order_size());
  return err;
}

/* emit writes the records to a file, or creates one and maps it over them, if they fill whole
 * pages. It returns an error, or 0. It writes from a copy: the records continue to change, and the
 * checksum must match. It writes zeros as well: a full disk must be reported here, not as a SIGBUS
 * in a probe. */
static long emit(int live) {
  struct state *const own = state();
  char tmp[MAX_PATH];
  uword room = page_size() + raw_size() + order_size(), limit[2] = {-1UL};
  if (!own->dir) return -1;
  u8 *file = (u8 *)map(0, room, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  long size, fd, err = (long)file;
  put_path(tmp, (u32)nonce(), ".tmp");
  if ((uword)file > -4096UL) goto failed;
  size = fill((struct header *)file, live) - file;

  tmp[own->dir] = 0;
  make_dir(tmp, 0777);
  tmp[own->dir] = '/';
  /* No other user may write to it, whatever the umask. */
  err = fd = create_file(tmp, 0644);
  if (fd >= 0) {
    /* Writing beyond the limit would end the program by SIGXFSZ. */
#if !__ANDROID__
    sys2(SYS_getrlimit, (void *)RLIMIT_FSIZE, (long)limit);
#endif
    if (limit[0] < (uword)size)
      err = -EFBIG;
    else if (sys4(SYS_write, fd, (long)file, size, 0) != size)
      err = -ENOSPC;
    else
      err = publish(tmp);
    if (err < 0) remove_file(tmp);
    if (err >= 0 && live) {
      err = map_records(fd, file);
      own->mapped = err >= 0;
      if (err < 0) print_error("map ", tmp, err), err = 0;
    }
    sys2(SYS_close, (void *)fd, 0);
  }
  sys2(SYS_munmap, file, (long)room);
  if (err >= 0) return 0;
failed:
  if (live != FRESH) print_error("write ", tmp, err);
  return err;
}

/* restart starts from zero. If fresh is set, the written file is kept and later records go to
 * another one. A child that cannot create a file continues with that of its parent, so that the sum
 * over all files stays right. */
static void restart(int fresh, int child) {
  struct state *const own = state();
  if (fresh) {
    own->claimed = own->dumped = 0;
    name_run();
    if (own->live && !emit(FRESH)) goto done;
    if (child & own->mapped) {
      ((struct header *)head)->shared = 1;
      own->live = 0; /* and must not be sealed by this process */
      return;
    }
    if (own->mapped) place(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    own->mapped = 0;
  }
  uword room = own->apart ? 0 : CAIRN_RAW_HEAD_ROOM;
  clear(raw_start + room, raw_size() - room);
  clear(order_start, order_size());
done:
  __cairn_order = 0;
}

/* ---- this module, and all modules ---- */

HIDDEN int __cairn_dump_module(uword at) {
  struct state *const own = state();
  (void)at;
  /* A child that no fork handler ran in would write its parent's counts again. */
  if (!own->dir || sys0(SYS_getpid) != own->pid || !begin()) return -1;
  own->dumped = 1;
  int r = own->mapped ? 0 : -(emit(COPY) < 0);
  done();
  return r;
}

HIDDEN int __cairn_reset_module(uword at) {
  struct state *const own = state();
  (void)at;
  /* A child that uses its parent's file has no records of its own. */
  if (own->mapped > own->live || !begin()) return 0;
  if (own->mapped & own->dumped) seal();
  own->n += own->dumped;
  restart(own->dumped, 0);
  done();
  return 0;
}

/* back replaces the file's pages by memory, from an address on, if that is in [start, end). */
static int back(u8 *start, u8 *end, uword at) {
  at &= -(uword)page_size();
  if (at < (uword)start || at >= (uword)end) return 0;
  st.mapped = 0; /* the end writes a file */
  return !over((u8 *)at, (uword)end - at, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Another process has truncated the file, or its disk is full after all. */
HIDDEN int __cairn_lost_module(uword at) {
  return -(back(head, head + page_size(), at) || back(raw_start, raw_stop, at) || back(order_start, order_stop, at));
}

#if !CAIRN_MAPPED
/* A note makes these functions known to other modules' copies of this runtime, without exporting a
 * symbol. */
__asm__(".pushsection .note.cairn,\"a\"," NOTE_TYPE "\n"
        ".balign 4\n.long 6, 20, 3\n.asciz \"CAIRN\"\n.balign 4\n"
        ".Lcairn_calls:\n.long __cairn_dump_module - .Lcairn_calls, __cairn_reset_module - .Lcairn_calls\n"
        ".long __cairn_lost_module - .Lcairn_calls, __cairn_dir_module - .Lcairn_calls\n"
        ".long __cairn_where_module - .Lcairn_calls\n"
        ".popsection\n" KEEP(".Lcairn_calls"));
#endif

HIDDEN int __cairn_dir_module(uword at);

enum { DUMP, RESET, LOST, DIR, WHERE }; /* in the order of the note */

struct call {
  u32 which;
  int result;
  uword at;
};

static const u8 *calls_of(const struct dl_info *i, u32 *len) {
  return find_note(i->phdr, i->phnum, i->addr, 0, 0x52494143 /* CAIR */, len);
}

static void call_one(const void *calls, struct call *c) {
  c->result |= ((int (*)(uword))((const u8 *)calls + ((const i32 *)calls)[c->which]))(c->at);
}

/* call_own does without a list of modules, which static programs have none of. */
static void call_own(struct call *c) {
#if CAIRN_MAPPED
  c->result = c->which == DUMP ? __cairn_dump_module(0) : c->which == RESET ? __cairn_reset_module(0)
            : c->which == LOST ? __cairn_lost_module(c->at) : c->which == DIR ? __cairn_dir_module(c->at) : 0;
#else
  extern const i32 calls[] __asm__(".Lcairn_calls") HIDDEN;
  call_one(calls, c);
#endif
}

static int call_module(struct dl_info *i, uword size, void *arg) {
  (void)size;
  struct call *c = arg;
  u32 len;
  const u8 *d = calls_of(i, &len);
  /* Modules of earlier builds have fewer. */
  if (d && 4 * c->which < len) call_one(d, c);
  return 0;
}

static __attribute__((noinline)) int call_all(u32 which, uword at) {
  struct call c = {which, 0, at};
  if (dl_iterate_phdr)
    dl_iterate_phdr(call_module, &c);
  else
    call_own(&c);
  return c.result;
}

HIDDEN int __cairn_dump(void) { return call_all(DUMP, 0); }
HIDDEN void __cairn_reset(void) { call_all(RESET, 0); }

/* ---- the life of the process ---- */

/* The child starts from zero, so that sums over all files stay right. */
static void forked(void) {
  struct state *const own = state();
  own->pid = (i32)sys0(SYS_getpid);
  own->n = 0;
  own->writer = 0;
  restart(1, 1);
}

#include "rt_signal.h"

/* Moves the records to a file of another directory. On failure nothing changes. A child that uses
 * its parent's file has none of its own. */
HIDDEN int __cairn_dir_module(uword dir) {
  struct state *const own = state();
  char old[MAX_PATH];
  struct state was;
  int r = -1;
  if (sys0(SYS_getpid) != own->pid || own->mapped > own->live || !begin()) return -1;
  copy(&was, own, sizeof *own);
  put_path(old, own->n, ".mipraw");
  own->claimed = 0;
  own->quiet = own->told = 1;
  if (set_path((const char *)dir) && emit(own->live ? LIVE : COPY) >= 0) {
    if (was.claimed) remove_file(old);
    if (own->mapped) guard();
    r = 0;
  } else
    copy(own, &was, sizeof *own);
  done();
  return r;
}

HIDDEN int __cairn_where_module(uword at) {
  if (st.told) *put_some((char *)at, st.path, st.dir) = 0;
  return 0;
}

HIDDEN int __cairn_set_dir(const char *dir) { return dir ? call_all(DIR, (uword)dir) : -1; }

static void start(int argc, char **argv, char **envp) {
  struct state *const own = state();
  (void)argc, (void)argv;
  char told[MAX_DIR + 1];
  const char *dir = CAIRN_DEFAULT_DIR, *s;
  own->pid = (i32)sys0(SYS_getpid);
#if !GLIBC
  envp = &environ ? environ : 0;
#endif
  /* A program with more rights than its caller ignores the caller's environment, and writes no
   * files. If it has them by file capabilities, the kernel reports that by making it not dumpable
   * (0, or 2: only root can read core dumps). */
  if (sys0(SYS_getuid) != sys0(SYS_geteuid) ||
      sys0(SYS_getgid) != sys0(SYS_getegid) || !((int)sys2(SYS_prctl, (void *)PR_GET_DUMPABLE, 0) & ~2))
    envp = 0, dir = "";
  s = env(envp, "DIR");
  if (s && *s)
    dir = s;
  else { /* a directory that nobody chose, unless the program has */
    own->quiet = 1;
    told[0] = 0;
    call_all(WHERE, (uword)told);
    if (told[0]) dir = told;
    own->told = told[0];
  }
#if GLIBC
  /* Without a handle it would outlive its module. */
  if (__register_atfork && &__dso_handle) __register_atfork(0, 0, forked, &__dso_handle);
#else
  if (pthread_atfork) pthread_atfork(0, 0, forked);
#endif
  name_run();
  if (__cairn_room != raw_start) own->apart = page_size();
  /* Some linker scripts do not make them fill whole pages. */
  uword ends = (uword)raw_start | (uword)raw_stop | (uword)order_start | (uword)order_stop;
  const char *word = env(envp, "SCENARIO");
  if (word) own->named = (u32)(put_some(own->scenario, word, CAIRN_MAX_SCENARIO) - own->scenario);
  word = env(envp, "CONTINUOUS");
  own->live = !(word && *word == '0') && !(ends & (page_size() - 1));
  if (!set_path(dir)) {
    if (*dir) print_error("write ", "CAIRN_DIR", -ENAMETOOLONG);
  } else if (own->live && emit(LIVE) < 0)
    own->dir = 0; /* reported now, not again at the end */
  if (own->mapped) guard();
  word = env(envp, "SIGNAL");
  if (word) watch(word);
}

/* Writes what is not in a file yet. The module may be about to be unloaded, and then a signal must
 * not be delivered to its handler. */
static void finish(void) {
  struct state *const own = state();
  if (own->mapped & own->live) seal();
  if (!own->mapped) __cairn_dump_module(0);
  unhandle(own->sig, on_signal, 1 /* SIG_IGN */);
  unhandle(own->bus, on_bus, 0);
}

#if !CAIRN_MAPPED
/* Runs before the module's other constructors, and after its other destructors. */
__attribute__((section(".init_array.00000"), used)) static void (*const init)(int, char **, char **) = start;
__attribute__((section(".fini_array.00000"), used)) static void (*const fini)(void) = finish;
#endif

#include "rt_mapped.h"
