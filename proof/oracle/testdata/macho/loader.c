/* loader APP ARGS... - runs a Mach-O program on Linux, for tests.
 *
 * It maps the segments at a slide, follows the opcodes of LC_DYLD_INFO (link with
 * -no_fixup_chains), takes what the program imports from dylibs beside it, from the few
 * functions below that differ between macOS and Linux, or from the C library, calls the
 * constructors and then the entry of LC_MAIN or LC_UNIXTHREAD. Programs may use what C and C++
 * programs use: the C library and libstdc++ by their plain names, with headers of Linux as well,
 * thread-local variables, exceptions, and of dyld what the runtime of cairn asks. For Go
 * programs, which expect macOS's constants, libsystem.c has the functions. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "libsystem.h"

struct header { uint32_t magic, cpu, sub, kind, ncmds, size, flags, reserved; };
struct cmd { uint32_t cmd, size; };
struct seg { uint32_t cmd, size; char name[16]; uint64_t addr, vmsize, off, filesize; uint32_t maxprot, prot, nsects, flags; };
struct sect { char name[16], seg[16]; uint64_t addr, size; uint32_t off, align, reloff, nreloc, flags, r1, r2, r3; };
struct dyldinfo { uint32_t cmd, size, rebase, rebase_size, bind, bind_size, weak, weak_size, lazy, lazy_size, export, export_size; };
struct symtab { uint32_t cmd, size, symoff, nsyms, stroff, strsize; };
struct nlist { uint32_t strx; uint8_t type, sect; uint16_t desc; uint64_t value; };
enum { SEGMENT = 0x19, SYMTAB = 2, DYLD_INFO = 0x22, DYLD_INFO_ONLY = 0x80000022, MAIN = 0x80000028, UNIXTHREAD = 5, LOAD_DYLIB = 12 };

struct image {
  const uint8_t *file;
  uint64_t base; /* of __TEXT in memory */
  int64_t slide;
  struct seg *segs[32];
  int nsegs;
  struct symtab *symtab;
  char path[1024];
};
static struct image images[16];
static int nimages;
static int is_go;

static void die(const char *what, const char *which) {
  fprintf(stderr, "loader: %s %s\n", what, which);
  exit(126);
}

/* ---- what differs ---- */

static int flags_of(int f) {
  int out = f & 3;
  if (f & 0x8) out |= O_APPEND;
  if (f & 0x200) out |= O_CREAT;
  if (f & 0x400) out |= O_TRUNC;
  if (f & 0x800) out |= O_EXCL;
  if (f & 0x1000000) out |= O_CLOEXEC;
  return out;
}
static void *my_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off) {
  return mmap(at, n, prot, (flags & 0x1f) | (flags & 0x1000 ? MAP_ANONYMOUS : 0), fd, off);
}
static int my_issetugid(void) { return 0; }
static int my_executable_path(char *buf, uint32_t *size) {
  if (strlen(images[0].path) >= *size) return -1;
  strcpy(buf, images[0].path);
  return 0;
}
static uint32_t my_image_count(void) { return (uint32_t)nimages; }
static const char *my_image_name(uint32_t i) { return images[i].path; }
static const void *my_image_header(uint32_t i) { return (void *)images[i].base; }
static uint8_t *my_getsectiondata(const void *header, const char *segment, const char *section, uint64_t *size) {
  for (int i = 0; i < nimages; i++) {
    if ((const void *)images[i].base != header) continue;
    for (int k = 0; k < images[i].nsegs; k++) {
      struct seg *g = images[i].segs[k];
      struct sect *s = (struct sect *)(g + 1);
      for (uint32_t n = 0; n < g->nsects; n++, s++)
        if (!strncmp(s->seg, segment, 16) && !strncmp(s->name, section, 16)) {
          *size = s->size;
          return (uint8_t *)(s->addr + images[i].slide);
        }
    }
  }
  return 0;
}
static void my_memset_pattern16(char *to, const char *pattern, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] = pattern[i % 16];
}
static void my_assert_rtn(const char *f, const char *file, int line, const char *what) {
  fprintf(stderr, "%s:%d: %s: %s\n", file, line, f, what);
  abort();
}
extern char __libc_single_threaded;
static int my_is_threaded(void) { return !__libc_single_threaded; }
static uint64_t stack_guard = 0x5a5a5a5a5a5a5a5a;
static void unused_binder(void) { die("lazy", "binding"); }

#if __aarch64__
/* On macOS arguments after the named ones are on the stack, all in words. */
#define REST2 long r2, long r3, long r4, long r5, long r6, long r7, long first
#define REST1 long r1, REST2
#define REST3 long r3, long r4, long r5, long r6, long r7, long first
static va_list *list_of(va_list *l, void *stack) {
  memset(l, 0, sizeof *l);
  *(void **)l = stack; /* __stack; no registers are left */
  return l;
}
static int my_open(const char *p, int f, REST2) { return open(p, flags_of(f), (int)first); }
static int my_printf(const char *f, REST1) { va_list l; return vprintf(f, *list_of(&l, &first)); }
static int my_fprintf(FILE *o, const char *f, REST2) { va_list l; return vfprintf(o, f, *list_of(&l, &first)); }
static int my_sprintf(char *o, const char *f, REST2) { va_list l; return vsprintf(o, f, *list_of(&l, &first)); }
static int my_snprintf(char *o, size_t n, const char *f, REST3) { va_list l; return vsnprintf(o, n, f, *list_of(&l, &first)); }
static int my_sscanf(const char *o, const char *f, REST2) { va_list l; return vsscanf(o, f, *list_of(&l, &first)); }
static int my_vsnprintf(char *o, size_t n, const char *f, void *args) { va_list l; return vsnprintf(o, n, f, *list_of(&l, args)); }
static int my_vfprintf(FILE *o, const char *f, void *args) { va_list l; return vfprintf(o, f, *list_of(&l, args)); }
static int my_open64(const char *p, int f, REST2) { return open64(p, f, (int)first); } /* of the headers of Linux */
static int my_fscanf(FILE *o, const char *f, REST2) { va_list l; return vfscanf(o, f, *list_of(&l, &first)); }
static int my_vprintf(const char *f, void *args) { va_list l; return vprintf(f, *list_of(&l, args)); }
#else
static int my_open(const char *p, int f, int mode) { return open(p, flags_of(f), mode); }
#endif

static const struct { const char *name; void *at; } shims[] = {
  {"__tlv_bootstrap", tlv_thunk}, {"__tlv_atexit", tlv_atexit},
  {"_open", my_open}, {"_mmap", my_mmap}, {"_issetugid", my_issetugid},
  {"__NSGetExecutablePath", my_executable_path}, {"__dyld_image_count", my_image_count}, {"__dyld_get_image_header", my_image_header}, {"__dyld_get_image_name", my_image_name},
  {"_getsectiondata", my_getsectiondata}, {"___error", __errno_location}, {"dyld_stub_binder", unused_binder},
  {"___stdoutp", &stdout}, {"___stderrp", &stderr}, {"___stdinp", &stdin}, {"___stack_chk_guard", &stack_guard},
  {"_memset_pattern16", my_memset_pattern16}, {"___bzero", bzero}, {"___assert_rtn", my_assert_rtn}, {"_atexit", atexit},
  {"_pthread_is_threaded_np", my_is_threaded}, {"_pthread_atfork", pthread_atfork},
#if __aarch64__
  {"_printf", my_printf}, {"_fprintf", my_fprintf}, {"_sprintf", my_sprintf}, {"_snprintf", my_snprintf}, {"_sscanf", my_sscanf},
  {"_vsnprintf", my_vsnprintf}, {"_vfprintf", my_vfprintf}, {"_vprintf", my_vprintf},
  {"open64", my_open64}, {"__isoc99_sscanf", my_sscanf}, {"__isoc99_fscanf", my_fscanf},
#endif
};

/* ---- loading ---- */

static uint64_t uleb(const uint8_t **p) {
  uint64_t v = 0;
  for (int shift = 0;; shift += 7) {
    v |= (uint64_t)(**p & 0x7f) << shift;
    if (!(*(*p)++ & 0x80)) return v;
  }
}
static int64_t sleb(const uint8_t **p) {
  int64_t v = 0;
  int shift = 0;
  uint8_t b;
  do {
    b = *(*p)++;
    v |= (int64_t)(b & 0x7f) << shift;
    shift += 7;
  } while (b & 0x80);
  return b & 0x40 && shift < 64 ? v | -(int64_t)1 << shift : v;
}

static uint64_t exported(const char *name) {
  for (int i = 0; i < nimages; i++) {
    struct symtab *t = images[i].symtab;
    if (!t) continue;
    const struct nlist *s = (const void *)(images[i].file + t->symoff);
    for (uint32_t k = 0; k < t->nsyms; k++)
      if ((s[k].type & 0xef) == 0x0f && !strcmp((const char *)images[i].file + t->stroff + s[k].strx, name)) /* external, in a section */
        return s[k].value + (uint64_t)images[i].slide;
  }
  return 0;
}

static void missing(void) { die("a function of libSystem is missing", ""); }

static uint64_t resolve(const char *name, int weak) {
  uint64_t at = exported(name);
  for (const struct function *f = go_functions; !at && is_go && f->name; f++)
    if (!strcmp(f->name, name)) at = (uint64_t)f->at;
  for (const struct function *f = thread_functions; !at && !is_go && f->name; f++)
    if (!strcmp(f->name, name)) at = (uint64_t)f->at;
  for (const struct function *f = mach_functions; !at && !is_go && f->name; f++)
    if (!strcmp(f->name, name)) at = (uint64_t)f->at;
  for (size_t i = 0; !at && i < sizeof shims / sizeof *shims; i++)
    if (!strcmp(shims[i].name, name)) at = (uint64_t)shims[i].at;
  if (!at && *name == '_') at = (uint64_t)dlsym(RTLD_DEFAULT, name + 1);
  if (!at) at = (uint64_t)dlsym(RTLD_DEFAULT, name); /* headers of Linux give names by asm("..."), without an underscore */
  if (!at && is_go) return (uint64_t)missing; /* they import what they may never call */
  if (!at && !weak) die("no symbol", name);
  return at;
}

static void rebase(struct image *im, const uint8_t *p, const uint8_t *end) {
  uint64_t at = 0;
  for (; p < end;) {
    uint8_t op = *p & 0xf0, imm = *p & 0x0f;
    p++;
    uint64_t n = 1, skip = 0;
    switch (op) {
    case 0x00: return;
    case 0x10: continue;
    case 0x20: at = im->segs[imm]->addr + (uint64_t)im->slide + uleb(&p); continue;
    case 0x30: at += uleb(&p); continue;
    case 0x40: at += 8 * imm; continue;
    case 0x50: n = imm; break;
    case 0x60: n = uleb(&p); break;
    case 0x70: skip = uleb(&p); break;
    case 0x80: n = uleb(&p); skip = uleb(&p); break;
    default: die("rebase", "opcode");
    }
    for (; n--; at += 8 + skip) *(uint64_t *)at += (uint64_t)im->slide;
  }
}

static void bind(struct image *im, const uint8_t *p, const uint8_t *end, int weak_pass, int lazy) {
  uint64_t at = 0;
  const char *name = "";
  int64_t addend = 0;
  int weak = 0;
  for (; p < end;) {
    uint8_t op = *p & 0xf0, imm = *p & 0x0f;
    p++;
    uint64_t n = 1, skip = 0;
    switch (op) {
    case 0x00: if (lazy) continue; return;
    case 0x10: case 0x30: case 0x50: continue;
    case 0x20: uleb(&p); continue;
    case 0x40: name = (const char *)p; weak = imm & 1; p += strlen(name) + 1; continue;
    case 0x60: addend = sleb(&p); continue;
    case 0x70: at = im->segs[imm]->addr + (uint64_t)im->slide + uleb(&p); continue;
    case 0x80: at += uleb(&p); continue;
    case 0x90: break;
    case 0xa0: skip = uleb(&p); break;
    case 0xb0: skip = imm * 8; break;
    case 0xc0: n = uleb(&p); skip = uleb(&p); break;
    default: die("bind", "opcode");
    }
    for (; n--; at += 8 + skip) {
      uint64_t to = resolve(name, weak | weak_pass);
      if (to || !weak_pass) *(uint64_t *)at = to ? to + (uint64_t)addend : 0;
    }
  }
}

static void load(const char *path);

static void fix(struct image *im, int argc, char **argv, char **envp, uint64_t *entry) {
  struct header *h = (struct header *)im->file;
  struct cmd *c = (struct cmd *)(h + 1);
  for (uint32_t i = 0; i < h->ncmds; i++, c = (struct cmd *)((char *)c + c->size)) {
    if (c->cmd == MAIN) *entry = im->base + ((uint64_t *)c)[1];
    if (c->cmd == UNIXTHREAD) *entry = (uint64_t)im->slide + ((uint64_t *)c)[2 + 16]; /* rip */
    if (c->cmd != DYLD_INFO && c->cmd != DYLD_INFO_ONLY) continue;
    struct dyldinfo *d = (struct dyldinfo *)c;
    rebase(im, im->file + d->rebase, im->file + d->rebase + d->rebase_size);
    bind(im, im->file + d->bind, im->file + d->bind + d->bind_size, 0, 0);
    bind(im, im->file + d->lazy, im->file + d->lazy + d->lazy_size, 0, 1);
    bind(im, im->file + d->weak, im->file + d->weak + d->weak_size, 1, 0);
  }
  for (int k = 0; k < im->nsegs; k++) {
    struct seg *g = im->segs[k];
    if (g->vmsize && g->prot && mprotect((void *)(g->addr + (uint64_t)im->slide), g->vmsize, (int)g->prot)) die("mprotect", g->name);
  }
  struct sect *unwind = 0;
  void *frames = 0;
  for (int k = 0; k < im->nsegs; k++) {
    struct sect *s = (struct sect *)(im->segs[k] + 1);
    for (uint32_t n = 0; n < im->segs[k]->nsects; n++, s++) {
      char *at = (char *)(s->addr + (uint64_t)im->slide);
      tlv_section((int)(im - images), s->flags & 0xff, at, s->size);
      if (!strcmp(s->name, "__unwind_info")) unwind = s;
      if (!strcmp(s->name, "__eh_frame")) frames = at;
    }
  }
  if (unwind) register_unwind(im->base, (void *)(unwind->addr + (uint64_t)im->slide), unwind->size, frames);
  for (int k = 0; k < im->nsegs; k++) {
    struct sect *s = (struct sect *)(im->segs[k] + 1);
    for (uint32_t n = 0; n < im->segs[k]->nsects; n++, s++)
      if ((s->flags & 0xff) == 9)
        for (uint64_t f = 0; f < s->size / 8; f++)
          ((void (*)(int, char **, char **))((uint64_t *)(s->addr + (uint64_t)im->slide))[f])(argc, argv, envp);
  }
}

static void load(const char *path) {
  for (int i = 0; i < nimages; i++)
    if (!strcmp(images[i].path, path)) return;
  struct image *im = &images[nimages++];
  struct stat st;
  int fd = open(path, O_RDONLY);
  if (fd < 0 || fstat(fd, &st)) die("cannot open", path);
  if (!realpath(path, im->path)) die("realpath", path);
  im->file = mmap(0, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  struct header *h = (struct header *)im->file;
  if (h->magic != 0xfeedfacf) die("not a Mach-O file:", path);
  uint64_t low = ~0UL, high = 0;
  struct cmd *c = (struct cmd *)(h + 1);
  for (uint32_t i = 0; i < h->ncmds; i++, c = (struct cmd *)((char *)c + c->size)) {
    if (c->cmd == SYMTAB) im->symtab = (struct symtab *)c;
    if (c->cmd != SEGMENT) continue;
    struct seg *g = (struct seg *)c;
    im->segs[im->nsegs++] = g;
    if (!strcmp(g->name, "__PAGEZERO")) continue;
    if (g->addr < low) low = g->addr;
    if (g->addr + g->vmsize > high) high = g->addr + g->vmsize;
  }
  const char *at = getenv("LOADER_BASE"); /* of the program, to read logs of addresses by */
  void *wanted = at && im == images ? (void *)strtoul(at, 0, 0) : 0;
  uint8_t *room = mmap(wanted, high - low + 0x4000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  room = (uint8_t *)(((uint64_t)room + 0x3fff) & ~0x3fffUL);
  im->slide = (int64_t)((uint64_t)room - low);
  im->base = (uint64_t)room;
  for (int k = 0; k < im->nsegs; k++) {
    struct seg *g = im->segs[k];
    if (!strcmp(g->name, "__PAGEZERO") || !g->vmsize) continue;
    void *at = (void *)(g->addr + (uint64_t)im->slide);
    if (mprotect(at, g->vmsize, PROT_READ | PROT_WRITE)) die("segment", g->name);
    memcpy(at, im->file + g->off, g->filesize);
    if (g->prot & 4) rename_register(at, g->filesize);
    if (!strcmp(g->name, "__TEXT")) im->base = (uint64_t)at;
    struct sect *s = (struct sect *)(g + 1);
    for (uint32_t n = 0; n < g->nsects; n++)
      if (!strcmp(s[n].name, "__go_buildinfo")) is_go = 1;
  }
  c = (struct cmd *)(h + 1);
  for (uint32_t i = 0; i < h->ncmds; i++, c = (struct cmd *)((char *)c + c->size)) {
    if (c->cmd != LOAD_DYLIB) continue;
    char dir[1024], lib[2100], name[1024];
    snprintf(name, sizeof name, "%s", (char *)c + ((uint32_t *)c)[2]);
    snprintf(dir, sizeof dir, "%s", im->path);
    snprintf(lib, sizeof lib, "%s/%s", dirname(dir), basename(name));
    char real[4096];
    if (!access(lib, R_OK) && realpath(lib, real)) load(real);
  }
}

/* start_go enters a Go program: its stack begins with argc, argv, the environment and what dyld
 * adds. */
static void start_go(uint64_t entry, int argc, char **argv, char **envp) {
  static uint64_t top[4096];
  static char path[1100];
  uint64_t *p = top;
  snprintf(path, sizeof path, "executable_path=%s", images[0].path);
  *p++ = (uint64_t)argc;
  for (int i = 0; i < argc; i++) *p++ = (uint64_t)argv[i];
  *p++ = 0;
  for (; *envp && p < top + 4000; envp++) *p++ = (uint64_t)*envp;
  *p++ = 0;
  *p++ = (uint64_t)path;
  *p++ = 0;
  thread_begins();
#if __x86_64__
  uint64_t *sp = __builtin_alloca(sizeof top);
  memcpy(sp, top, sizeof top);
  __asm__ volatile("mov %0, %%rsp; jmp *%1" ::"r"(sp), "r"(entry) : "memory");
#else
  ((int (*)(int, void *))entry)(argc, top + 1);
#endif
  __builtin_unreachable();
}

int main(int argc, char **argv, char **envp) {
  if (argc < 2) die("no", "program");
  uint64_t entry = 0, none;
  load(argv[1]);
  if (!is_go) begin_slots();
  for (int i = nimages; i-- > 0;) fix(&images[i], argc - 1, argv + 1, envp, i ? &none : &entry);
  if (is_go) start_go(entry, argc - 1, argv + 1, envp);
  exit(((int (*)(int, char **, char **))entry)(argc - 1, argv + 1, envp));
}
