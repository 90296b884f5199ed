/* What libraries need to find the runtime of their process, or to load it. What a process has once
 * must outlive each of its libraries, as the program may unload any: the clock's thread, handlers of
 * signals and of fork, the state of threads. If the executable has a runtime, its libraries use that.
 * Otherwise the first of them loads another library, the host, which consists of a runtime only
 * (timed_host.S) and is never unloaded. It is loaded from memory into the executable's namespace, and
 * so serves libraries of all namespaces. */
#ifndef CAIRN_GUEST_H
#define CAIRN_GUEST_H

#include "kernel.h"
#include "elf.h"
#include "unpack.h"

#define FOREIGN __attribute__((visibility("default")))
extern void *dlopen(const char *, int) FOREIGN;
extern void *dlsym(void *, const char *) FOREIGN;
extern void *dlmopen(long, const char *, int) WEAK;
extern char *dlerror(void) WEAK;
extern const u8 __cairn_host[] HIDDEN; /* packed, see unpack.h */
extern const struct ehdr header __asm__("__ehdr_start") HIDDEN __attribute__((weak));
__asm__(".hidden __ehdr_start\n");

enum { RTLD_LAZY = 1, RTLD_NOW = 2, RTLD_GLOBAL = 0x100, RTLD_NODELETE = 0x1000, BASE_NAMESPACE = 0 };

static void *open_base(const char *path, int mode) { return dlmopen ? dlmopen(BASE_NAMESPACE, path, mode) : dlopen(path, mode); }

/* BEFORE_INITIALIZERS(f) calls f when the loader relocates this module, which is before it runs any
 * initializer: it uses a function whose address the loader asks for (STT_GNU_IFUNC). Initializers of
 * other libraries may call this module, above all if it has the program's allocator, and those of the
 * libraries that it needs run before its own; so does a function DT_INIT of this module. f may not call
 * another module. KEEP_BEFORE refers to that address, so that --gc-sections keeps it. */
#if __has_include(<gnu/libc-version.h>)
#define BEFORE_INITIALIZERS(f)                                           \
  static void nothing(void) {}                                           \
  static void (*resolve(void))(void) { return f(), nothing; }            \
  HIDDEN void __cairn_relocated(void) __attribute__((ifunc("resolve"))); \
  static void (*const before)(void) = __cairn_relocated
#else
#define BEFORE_INITIALIZERS(f) static void (*const before)(void) = f
#endif
#define KEEP_BEFORE __asm__ volatile("" : : "r"(&before))

/* find_global returns the address of a variable of the executable or a host; 0 if there is none. */
static void *find_global(const char *name) {
  void *base = open_base(0, RTLD_LAZY), *at = base ? dlsym(base, name) : 0;
  if (!at && dlerror) dlerror(); /* the program does not see that error */
  return at;
}

static int write_all(i64 fd, const u8 *at, const u8 *end) {
  if (!fits((u64)(end - at))) return 0;
  while (at < end) {
    i64 n = sys3(SYS_write, fd, at, end - at);
    if (n <= 0) return 0;
    at += n;
  }
  return 1;
}

/* from_memory loads the host from memory. Its path is spelled as no program spells one, and as no
 * host of another kind, since the loader takes two files of the same path for one. */
static void *from_memory(u32 kind, const u8 *at, const u8 *end) {
  char path[64], *q = put(path, "/proc/self/fd/.");
  i64 fd = sys2(SYS_memfd_create, "cairn-host", 1 /* MFD_CLOEXEC */);
  if (fd < 0) return 0;
  for (u32 i = 0; i <= kind; i++) q = put(q, "/");
  put_number(q, (u64)fd);
  void *host = write_all(fd, at, end) ? open_base(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE) : 0;
  sys1(SYS_close, fd);
  return host;
}

/* from_file does that with a temporary file: /proc may not be there, or no second descriptor. */
static void *from_file(const char *dir, const u8 *at, const u8 *end) {
  enum { O_WRONLY = 1 };
  char path[128];
  put_number(put(put_number(put(put(path, dir), "/.cairn-host-"), (u64)sys0(SYS_getpid)), "-"), ticks() % SECOND);
  i64 fd = open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return 0;
  int ok = write_all(fd, at, end);
  sys1(SYS_close, fd);
  void *host = ok ? open_base(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE) : 0;
  remove_file(path);
  return host;
}

/* load_host loads the host, which makes the state of the process, and returns whether it is there. */
static int load_host(u32 kind) {
  u64 models = PACKED_MODELS * sizeof(u16), size = models + *(const u32 *)__cairn_host;
  u8 *m = (u8 *)map(0, size, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at = m + models;
  if (failed(m)) return 0;
  unpack(at, __cairn_host, (u16 *)m);
  void *host = from_memory(kind, at, m + size);
  if (!host) host = from_file("/dev/shm", at, m + size);
  if (!host) host = from_file("/tmp", at, m + size);
  if (!host && dlerror) dlerror();
  unmap(m, size);
  return host != 0;
}

/* range sets the bounds of this module, and returns how far it is from the addresses in its file. */
static u64 range(u64 *start, u64 *end) {
  const struct phdr *ph = (const struct phdr *)((const u8 *)&header + header.phoff);
  u64 low = NONE, high = 0;
  for (u32 i = 0; i < header.phnum; i++)
    if (ph[i].type == PT_LOAD) {
      low = least(low, ph[i].vaddr & ~4095ul);
      high = most(high, ph[i].vaddr + ph[i].memsz);
    }
  *start = (u64)&header;
  *end = (u64)&header - low + high;
  return (u64)&header - low;
}

/* has_init reports whether this module has a function that the loader calls before its initializers
 * (DT_INIT), other than that of the C library's start files. */
static int has_init(void) {
  enum { PT_DYNAMIC = 2, DT_INIT = 12 };
  const struct phdr *ph = (const struct phdr *)((const u8 *)&header + header.phoff);
  const u64 *d = 0;
  u64 start, end, bias = range(&start, &end);
  for (u32 i = 0; i < header.phnum; i++)
    if (ph[i].type == PT_DYNAMIC) d = (const u64 *)(bias + ph[i].vaddr);
  while (d && d[0] && d[0] != DT_INIT) d += 2;
  if (!d || !d[0]) return 0;
#ifdef __x86_64__
  /* It calls __gmon_start__ if that is there: sub $8, %rsp; mov GOT, %rax; test; je; call; add; ret. */
  static const u8 head[] = {0x48, 0x83, 0xec, 8, 0x48, 0x8b, 5}, tail[] = {0x48, 0x85, 0xc0, 0x74, 2, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
  const u8 *at = (const u8 *)(bias + d[1]);
  u64 same = 0;
  if (at[0] == 0xf3) at += 4; /* endbr64 */
  while (same < sizeof head && at[same] == head[same]) same++;
  if (same < sizeof head) return 1;
  for (same = 0; same < sizeof tail && at[sizeof head + 4 + same] == tail[same];) same++;
  return same < sizeof tail;
#else
  /* It calls call_weak_fn: nothing, paciasp or bti; stp x29, x30, [sp, -16]!; mov x29, sp; bl; ldp. */
  const u32 *at = (const u32 *)(bias + d[1]);
  while (*at == 0xd503201f || *at == 0xd503233f || *at == 0xd503245f) at++;
  return at[0] != 0xa9bf7bfd || at[1] != 0x910003fd || at[2] >> 26 != 37 || at[3] != 0xa8c17bfd;
#endif
}

#endif
