/* What all parts of the runtime need from the compiler, the processor and the kernel, which is
 * Linux. Each machine has a header with its own definitions of the same names. */
#ifndef CAIRN_SYS_H
#define CAIRN_SYS_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int i32;
#if __SIZEOF_POINTER__ == 8
typedef unsigned long u64;
typedef long i64;
#else
typedef unsigned long long u64;
typedef long long i64;
#endif
/* Addresses, sizes of memory, arguments and results of system calls. */
typedef unsigned long uword;
typedef long sword;

#if __ANDROID__
enum { ANDROID = 1 };
#else
enum { ANDROID = 0 };
#endif

#define FEW_ADDRESSES (__SIZEOF_POINTER__ == 4) /* a log may be larger than all addresses */

#define HIDDEN __attribute__((visibility("hidden")))
#define INLINE static inline __attribute__((always_inline))

enum { ESRCH = 3, EINTR = 4, EBADF = 9, EACCES = 13, EEXIST = 17, EFBIG = 27, ENOSPC = 28, ENAMETOOLONG = 36, EOPNOTSUPP = 95, ESTALE = 116 };
enum { O_RDONLY = 0, O_RDWR = 2, O_CREAT = 0100, O_EXCL = 0200, O_CLOEXEC = 02000000, AT_FDCWD = -100, RENAME_NOREPLACE = 1 };
enum { PROT_NONE = 0, PROT_RW = 3, MAP_SHARED = 1, MAP_PRIVATE = 2, MAP_FIXED = 0x10, MAP_ANONYMOUS = 0x20, MAP_NORESERVE = 0x4000 };

#define sys5(n, a, b, c, d, e) sys_5(n, (sword)(a), (sword)(b), (sword)(c), (sword)(d), (sword)(e))
#define sys4(n, a, b, c, d) sys_4(n, (sword)(a), (sword)(b), (sword)(c), (sword)(d))
#define sys3(n, a, b, c) sys_3(n, (sword)(a), (sword)(b), (sword)(c))
#define sys2(n, a, b) sys_2(n, (const void *)(a), (sword)(b))
#define sys1(n, a) sys_1(n, (sword)(a))

#if __x86_64__
#include "sys_x86_64.h"
#elif __aarch64__
#include "sys_aarch64.h"
#elif __arm__
#include "sys_arm.h"
#else
#error "cairn's runtime is for x86-64, AArch64 and Armv7"
#endif

/* thread_name puts the name that the kernel has for this thread: of the first one, the first 15
 * characters of the program's name. */
INLINE void thread_name(char *to) { sys2(SYS_prctl, 16 /* PR_GET_NAME */, to); }

/* read_exe puts the path of the program's file, or without /proc the name of the thread. */
INLINE void read_exe(char *to, uword room) {
  *to = 0;
  sword n = read_link("/proc/self/exe", to, room - 1);
  if (n > 0) to[n] = 0;
  else thread_name(to);
}

/* Definitions of 64-bit machines. */
#ifndef MMAP_OFFSET
#define MMAP_OFFSET(offset) (offset)
#define NOTE_TYPE "@note"
#define ANY_FLOATS
#define TENTH(v) ((v) / 10)
#define LAST_DIGIT(v) ((v) % 10)
enum { SI_ADDR = 4 };

/* Before it has started, a module of the timed modes has this in place of addresses: no valid one. */
#define NOT_STARTED ((void *)(1ul << 63))
enum { HAS_HOST = 1 }; /* a library can load a runtime */

/* Sizes, offsets and times of 64 bits. A time is seconds and nanoseconds. */
INLINE i64 resize_file(i64 fd, u64 size) { return sys2(SYS_ftruncate, fd, size); }
INLINE i64 allocate_file(i64 fd, u64 at, u64 n) { return sys4(SYS_fallocate, fd, 0, at, n); }
INLINE i64 write_at(i64 fd, const void *data, u64 n, u64 at) { return sys4(SYS_pwrite, fd, data, n, at); }
INLINE i64 read_at(i64 fd, void *data, u64 n, u64 at) { return sys4(SYS_pread, fd, data, n, at); }
INLINE i64 read_clock(i64 clock, u64 *time) { return sys2(SYS_clock_gettime, clock, time); }
INLINE i64 sleep_by(i64 clock, const u64 *time) { return sys4(SYS_clock_nanosleep, clock, 0, time, 0); }
#endif

/* rename_new renames unless the target exists. */
INLINE sword rename_new(const char *from, const char *to) {
  return sys5(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}
/* move_new gives a file a name that no other has. It returns 0 or an error. */
INLINE sword move_new(const char *from, const char *to) {
  sword err = -EOPNOTSUPP;
#if !__ANDROID__ /* which ends an app for a rename that may fail */
  err = rename_new(from, to);
#endif
  if (err < 0 && err != -EEXIST && (err = link_file(from, to)) >= 0) remove_file(from);
  return err < 0 ? err : 0;
}

/* KEEP makes the linker keep the section of a label in a program if it keeps this object's text. */
#define KEEP(label) ".pushsection .text\n.reloc ., " RELOC_NONE ", " label "\n.popsection\n"

#endif
