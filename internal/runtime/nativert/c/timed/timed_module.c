/* The modules of the process, as /proc/self/maps lists them, and without /proc those that have joined
 * the state. The dynamic linker is not asked, because that would take its lock in a thread that it does
 * not know. */

#include "timed.h"
#include "elf.h"

enum { MAX_PHDRS = 64, ENOENT = 2, ENOSYS = 38 };

/* __cairn_peek copies memory that may be unmapped at any moment. Emulators lack the system call for that. */
int __cairn_peek(struct process *p, u64 at, void *to, u64 n) {
  uword local[2] = {(uword)to, n}, remote[2] = {at, n};
  i64 got = sys6(SYS_process_vm_readv, (i32)sys0(SYS_gettid), (sword)local, 1, (sword)remote, 1, 0), fd;
#if __arm__
  if (got == -ENOSYS) return copy_readable(to, (const void *)(uword)at, n);
#endif
  if (got != -ENOSYS || (fd = open_file("/proc/self/mem", O_RDONLY | O_CLOEXEC, 0)) < 0) return got == (i64)n;
  got = read_at(fd, to, n, at);
  sys1(SYS_close, fd);
  return got == (i64)n;
}

/* find_id looks for the build id in a note segment. */
static u32 find_id(struct process *p, u64 at, u64 size, u8 *id) {
  u8 b[1024];
  size = least(size, sizeof b);
  if (!__cairn_peek(p, at, b, size)) return 0;
  for (u64 i = 0; i + 16 <= size;) {
    const struct note *n = (const struct note *)(b + i);
    u64 desc = i + 12 + ((n->name_len + 3ul) & ~3ul);
    if (n->type == 3 && n->name_len == 4 && *(const u32 *)n->name == 0x554e47 /* GNU */ && desc + n->desc_len <= size) {
      u32 len = (u32)least(n->desc_len, LOG_MAX_BUILD_ID);
      copy(id, b + desc, len);
      return len;
    }
    if (n->desc_len > size || n->name_len > size) return 0;
    i = desc + ((n->desc_len + 3ul) & ~3ul);
  }
  return 0;
}

/* examine reads the ELF header that is mapped at start. */
static int examine(struct process *p, u64 start, struct module *m, u8 *id, u32 *id_len) {
  struct ehdr e;
  struct phdr ph[MAX_PHDRS];
  *id_len = 0;
  if (!__cairn_peek(p, start, &e, sizeof e) || *(u32 *)e.ident != 0x464c457f || e.phentsize != sizeof ph[0]) return 0;
  if (!e.phnum || e.phnum > MAX_PHDRS || !__cairn_peek(p, start + e.phoff, ph, e.phnum * sizeof ph[0])) return 0;
  u64 low = NONE, high = 0;
  for (u32 i = 0; i < e.phnum; i++)
    if (ph[i].type == PT_LOAD) {
      low = least(low, ph[i].vaddr & ~4095ul);
      high = most(high, ph[i].vaddr + ph[i].memsz);
    }
  if (low > high) return 0;
  m->start = start;
  m->bias = start - low;
  m->end = m->bias + high;
  m->frames = 0;
  for (u32 i = 0; i < e.phnum; i++)
    if (ph[i].type == PT_EH_FRAME) m->frames = m->bias + ph[i].vaddr;
  for (u32 i = 0; i < e.phnum && !*id_len; i++)
    if (ph[i].type == PT_NOTE) *id_len = find_id(p, m->bias + ph[i].vaddr, ph[i].memsz, id);
  return 1;
}

/* has_probes reports whether a module has joined the state. */
static int has_probes(struct process *p, const struct module *m) {
  for (u32 i = p->hosted, n = load(&p->bases); i < n && i < BASES; i++)
    if (p->base_word[i] >= m->start && p->base_word[i] < m->end) return 1;
  return 0;
}

static void write_module(struct process *p, struct module *m, u32 flags, const u8 *id, u32 id_len, const char *path, u64 len) {
  u8 *r = __cairn_file_record(p, LOG_TYPE_MODULE, (u32)(LOG_MODULE_SIZE + up8(len)), m->number, p->modules.at);
  if (!r) return;
  u64 *f = (u64 *)r;
  f[1] = p->modules.at, f[2] = m->bias, f[3] = m->start, f[4] = m->end;
  if (has_probes(p, m)) m->probes = 1, flags |= LOG_MODULE_INSTRUMENTED;
  ((u32 *)r)[10] = flags;
  ((u16 *)r)[22] = (u16)id_len, ((u16 *)r)[23] = (u16)len;
  copy(r + 48, id, id_len);
  copy(r + LOG_MODULE_SIZE, path, len);
}

static u64 hash_of(const void *at, u64 n) {
  const u8 *b = at;
  u64 hash = 14695981039346656037ul;
  for (u64 i = 0; i < n; i++) hash = (hash ^ b[i]) * 1099511628211ul;
  return hash;
}

/* id_at returns a digest of the build id of the module that is mapped at start. */
u64 __cairn_id_at(struct process *p, u64 start) {
  struct module found;
  u8 id[LOG_MAX_BUILD_ID];
  u32 id_len;
  return examine(p, start, &found, id, &id_len) ? hash_of(id, id_len) : 0;
}

/* gone returns the entry of a module that was unloaded, or 0. */
struct gone *__cairn_gone(struct process *p, u64 start, const u64 *path_hash, u64 id_hash) {
  for (u32 n = p->modules.gone_count, i = (u32)less(n, KNOWN_GONE); i < n; i++) {
    struct gone *g = &p->modules.gone[i % KNOWN_GONE];
    if (g->start == start && g->id_hash == id_hash && (!path_hash || g->path_hash == *path_hash)) return g;
  }
  return 0;
}

/* is_going reports whether a file is one that the program unloads. It may still be mapped. */
static int is_going(struct process *p, u64 start, u64 path_hash) {
  for (struct going *g = p->modules.going; g < p->modules.going + GOING; g++)
    if (load(&g->state) == GOING_WRITTEN && g->start == start && g->path_hash == path_hash) return g->mapped = 1;
  return 0;
}

/* add_found adds the module that is mapped at start, unless it is listed. hash identifies its file. */
static void add_found(struct process *p, u64 start, u64 hash, int exe, const char *path, u64 len) {
  struct module *m = &p->modules.module[p->modules.count], found;
  u8 id[LOG_MAX_BUILD_ID];
  u32 id_len;
  if (p->modules.seeking) {
    if (exe && examine(p, start, &found, id, &id_len)) copy(p->exe.id, id, p->exe.id_len = id_len);
    return;
  }
  if (is_going(p, start, hash)) return;
  for (u32 i = 0; i < p->modules.count; i++)
    if (p->modules.module[i].start == start && p->modules.module[i].path_hash == hash) {
      p->modules.module[i].known = 1;
      return;
    }
  if (p->modules.count == MODULES || !examine(p, start, m, id, &id_len)) return;
  m->path_hash = hash;
  m->id_hash = hash_of(id, id_len);
  struct gone *before = __cairn_gone(p, start, &hash, m->id_hash);
  m->number = before ? before->number : p->modules.numbers++;
  m->known = 1;
  m->probes = 0;
  store(&p->modules.count, p->modules.count + 1);
  write_module(p, m, exe ? LOG_MODULE_MAIN : 0, id, id_len, path, len);
}

/* add_mapped_file adds a file that is mapped at start from its beginning. from is the part of the line
 * that identifies the file: its device, its inode and the path. */
static void add_mapped_file(struct process *p, u64 start, const char *from, const char *path, u64 len) {
  int exe = len == length(p->exe.path);
  for (u64 i = 0; exe && i < len; i++) exe = path[i] == p->exe.path[i];
  add_found(p, start, hash_of(from, (u64)(path + len - from)), exe, path, len);
}

/* header_before returns where the module that an address is in begins, 0 if that is not found: the page of
 * its ELF header. */
static u64 header_before(struct process *p, u64 word) {
  enum { PAGES = 1 << 16 };
  struct module found;
  u8 id[LOG_MAX_BUILD_ID];
  u32 id_len, magic;
  u64 at = word & ~4095ul;
  if (!__cairn_peek(p, at, &magic, sizeof magic)) return 0; /* emulators have no such call */
  for (u32 i = 0; i < PAGES && at; i++, at -= 4096)
    if (__cairn_peek(p, at, &magic, sizeof magic) && magic == 0x464c457f && examine(p, at, &found, id, &id_len) && found.end > word)
      return at;
  return 0;
}

/* soname copies the name by which programs ask for the library that is mapped at start, "" if it has none, and
 * returns its length. */
static u64 soname(struct process *p, u64 start, char *to, u64 room) {
  enum { PT_DYNAMIC = 2, DT_STRTAB = 5, DT_SONAME = 14, ENTRIES = 256 };
  struct ehdr e;
  struct phdr ph[MAX_PHDRS];
  u64 bias = NONE, at = 0, table = 0, name = 0;
  uword entry[2] = {1};
  *to = 0;
  if (!__cairn_peek(p, start, &e, sizeof e) || e.phnum > MAX_PHDRS || !__cairn_peek(p, start + e.phoff, ph, e.phnum * sizeof ph[0])) return 0;
  for (u32 i = 0; i < e.phnum; i++)
    if (ph[i].type == PT_LOAD && bias == NONE) bias = start - (ph[i].vaddr & ~4095ul);
    else if (ph[i].type == PT_DYNAMIC) at = ph[i].vaddr;
  for (u32 i = 0; at && i < ENTRIES && __cairn_peek(p, bias + at + i * sizeof entry, entry, sizeof entry) && entry[0]; i++)
    if (entry[0] == DT_STRTAB) table = entry[1];
    else if (entry[0] == DT_SONAME) name = entry[1];
  if (!table || !name) return 0;
  if (table < start) table += bias; /* some dynamic linkers leave it as it is in the file */
  for (u64 n = 0; n < room && __cairn_peek(p, table + name + n, to + n, 1); n++)
    if (!to[n]) return n;
  *to = 0;
  return 0;
}

/* add_joined adds the first n modules that have joined the state, where they are not listed. That of the program was the first,
 * unless a library brought the state, or it may be in the listing. */
static void add_joined(struct process *p, u32 n, int listing) {
  for (u32 i = p->hosted; i < n && i < BASES; i++) {
    u64 word = load(&p->base_word[i]), start;
    struct module *m = word ? __cairn_module_of(p, word) : 0;
    int exe = !i && !p->hosted && !listing;
    char name[256];
    if (m) m->known = 1;
    else if (word && (exe || !p->modules.seeking) && (start = header_before(p, word))) {
      if (!soname(p, start, name, sizeof name)) put(name, "library");
      const char *path = exe ? p->exe.path : name;
      add_found(p, start, start, exe, path, length(path));
    }
  }
}

#include "hex.h"

/* line reads a line of the listing: start-end perms offset dev inode path. */
static void line(struct process *p, const char *s) {
  u64 start = hex(&s);
  if (*s++ != '-') return;
  hex(&s);
  for (int blanks = 0; blanks < 2; s++) {
    if (!*s) return;
    blanks += *s == ' ';
  }
  u64 offset = hex(&s);
  const char *from = s;
  while (*s && *s != '/') s++;
  if (offset || !*s) return;
  u64 n = length(s);
  if (n <= LOG_MAX_PATH) add_mapped_file(p, start, from, s, n);
}

/* remove_module removes a module from the list, and writes when it was gone. */
static void remove_module(struct process *p, struct module *m) {
  p->modules.gone[p->modules.gone_count++ % KNOWN_GONE] = (struct gone){m->start, m->path_hash, m->id_hash, m->number};
  write_module(p, m, LOG_MODULE_UNLOADED, 0, 0, 0, 0);
  *m = p->modules.module[--p->modules.count];
}

/* modules lists the modules again, and writes new and removed ones. */
void __cairn_modules(struct process *p) {
  char *b = (char *)p->log.scratch;
  u64 have = 0, room = 8192;
  i64 n, fd;
  p->modules.at = __cairn_now(p);
  if (!p->exe.path[0]) read_exe(p->exe.path, sizeof p->exe.path);
  p->modules.stale = 0;
  for (u32 i = 0; i < GOING; i++) p->modules.going[i].mapped = 0;
  for (u32 i = 0; i < p->modules.count; i++) p->modules.module[i].known = 0;
  u32 joined = load(&p->bases);
  fd = open_file("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
  while (fd >= 0 && (n = sys3(SYS_read, fd, b + have, room - 1 - have)) > 0) {
    have += (u64)n;
    u64 from = 0;
    for (u64 i = 0; i < have; i++)
      if (b[i] == '\n') {
        b[i] = 0;
        line(p, b + from);
        from = i + 1;
      }
    if (!from && have == room - 1) have = 0; /* a line too long */
    for (u64 i = from; i < have; i++) b[i - from] = b[i];
    have -= least(from, have);
  }
  if (fd == -ENOENT) add_joined(p, joined, 0);
  if (fd < 0) return;
  if (ANDROID) add_joined(p, joined, 1); /* those that are in an apk: the file is not mapped from its beginning */
  sys1(SYS_close, fd);
  if (p->modules.seeking) return;
  for (u32 i = 0; i < p->modules.count;) {
    struct module *m = &p->modules.module[i];
    if (m->known) {
      i++;
      continue;
    }
    remove_module(p, m);
  }
  for (struct going *g = p->modules.going; g < p->modules.going + GOING; g++) {
    u32 written = GOING_WRITTEN;
    if (!g->mapped) __atomic_compare_exchange_n(&g->state, &written, GOING_FREE, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  }
}

/* modules_join writes which of the listed modules have joined the state since they were listed. */
void __cairn_modules_join(struct process *p) {
  u32 joins = load(&p->modules.joins);
  if (joins == p->modules.joined || p->log.file.fd < 0) return;
  p->modules.joined = joins;
  for (struct module *m = p->modules.module; m < p->modules.module + p->modules.count; m++) {
    if (m->probes || !has_probes(p, m)) continue;
    u64 now = __cairn_now(p), *r = __cairn_file_record(p, LOG_TYPE_JOINED, LOG_JOINED_SIZE, m->number, now);
    if (r) m->probes = 1, r[1] = now;
  }
}

/* modules_leave writes about modules that the program unloads; the records of threads are in the log
 * by then. */
void __cairn_modules_leave(struct process *p) {
  for (struct going *g = p->modules.going; g < p->modules.going + GOING; g++) {
    if (load(&g->state) != GOING_ASKED) continue;
    struct module *m = 0;
    if (p->log.file.fd >= 0 || (p->stacks.trees && __cairn_begin(p))) {
      if (!(m = __cairn_module_of(p, g->start)) || m->start != g->start || p->modules.stale) __cairn_modules(p);
      m = __cairn_module_of(p, g->start);
    }
    if (m) {
      if (p->stacks.retire) p->stacks.retire(p, g->start, g->end, m->number);
      g->path_hash = m->path_hash;
      p->modules.at = __cairn_now(p);
      remove_module(p, m);
    }
    store(&g->state, m ? GOING_WRITTEN : GOING_FREE);
  }
}

/* begin opens the file, whose name contains the executable's build id. Threads put their records in
 * it when it has the modules: the process may end at once. */
int __cairn_begin(struct process *p) {
  if (p->log.file.fd >= 0) return 1;
  if (p->log.file.failed || !p->dir[0]) return 0;
  p->modules.seeking = 1;
  __cairn_modules(p);
  p->modules.seeking = 0;
  if (!__cairn_file_open(p)) return 0;
  __cairn_modules(p);
  store(&p->log.file.begun, 1);
  return 1;
}

struct module *__cairn_module_of(struct process *p, u64 pc) {
  for (u32 i = 0; i < p->modules.count; i++)
    if (pc >= p->modules.module[i].start && pc < p->modules.module[i].end) return &p->modules.module[i];
  return 0;
}

/* known reports whether an address is in a listed module. Any thread may call it: a torn read gives
 * a wrong answer, only for a frame pointer that is none. */
int __cairn_known(struct process *p, u64 pc) { return __cairn_module_of(p, pc) != 0; }
