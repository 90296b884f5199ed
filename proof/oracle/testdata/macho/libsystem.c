/* What Go programs for macOS call of libSystem, by the C library of Linux: constants, structures
 * and error numbers are converted. Signals are not, and only what wakes the poller of package
 * runtime is known of kqueue. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "libsystem.h"

static __thread int error;
static int *go_error(void) { return &error; }

static long checked(long r) {
  if (r != -1) return r;
  switch (errno) {
  case EAGAIN: error = 35; break;
  case EOPNOTSUPP: error = 45; break;
  case ELOOP: error = 62; break;
  case ENAMETOOLONG: error = 63; break;
  case ENOTEMPTY: error = 66; break;
  case ENOSYS: error = 78; break;
  default: error = errno;
  }
  return r;
}

/* Functions whose arguments need no conversion. */
#define SAME(f) \
  static long go_##f(long a, long b, long c, long d) { \
    return checked((int)((long (*)(long, long, long, long))f)(a, b, c, d)); \
  }
#define WIDE(f) \
  static long go_##f(long a, long b, long c, long d) { \
    return checked(((long (*)(long, long, long, long))f)(a, b, c, d)); \
  }
SAME(close) SAME(dup) SAME(dup2) SAME(unlink) SAME(mkdir) SAME(rmdir) SAME(link) SAME(symlink) SAME(rename) SAME(chdir) SAME(fchdir)
SAME(ftruncate) SAME(truncate) SAME(chmod) SAME(fchmod) SAME(access) SAME(pipe) SAME(munmap) SAME(isatty) SAME(fsync) SAME(umask) SAME(flock)
WIDE(read) WIDE(write) WIDE(pread) WIDE(pwrite) WIDE(lseek) WIDE(readlink) WIDE(getcwd)

static int flags_of(int f) {
  int out = f & 3;
  if (f & 0x4) out |= O_NONBLOCK;
  if (f & 0x8) out |= O_APPEND;
  if (f & 0x200) out |= O_CREAT;
  if (f & 0x400) out |= O_TRUNC;
  if (f & 0x800) out |= O_EXCL;
  if (f & 0x100000) out |= O_DIRECTORY;
  if (f & 0x1000000) out |= O_CLOEXEC;
  return out;
}

/* On arm64 arguments after the named ones are on the stack. */
#if __aarch64__
#define MORE(n) MORE##n
#define MORE2 long r2, long r3, long r4, long r5, long r6, long r7, long rest
#define MORE3 long r3, long r4, long r5, long r6, long r7, long rest
#else
#define MORE(n) long rest
#endif
static long go_open(const char *path, int flags, MORE(2)) { return checked(open(path, flags_of(flags), (int)rest)); }
static int at_of(int dir) { return dir == -2 ? AT_FDCWD : dir; }
static long go_openat(int dir, const char *path, int flags, MORE(3)) { return checked(openat(at_of(dir), path, flags_of(flags), (int)rest)); }
static long go_fcntl(int fd, int what, MORE(2)) {
  enum { DUP_CLOEXEC = 67 };
  if (what > F_SETFL && what != DUP_CLOEXEC) {
    errno = EOPNOTSUPP;
    return checked(-1);
  }
  if (what == F_SETFL) rest = flags_of((int)rest);
  int r = fcntl(fd, what == DUP_CLOEXEC ? F_DUPFD_CLOEXEC : what, rest);
  if (what == F_GETFL && r >= 0) r = (r & O_ACCMODE) | (r & O_NONBLOCK ? 4 : 0) | (r & O_APPEND ? 8 : 0);
  return checked(r);
}
static long go_renamex(const char *from, const char *to, unsigned flags) {
  enum { EXCLUSIVE = 4 };
  return checked(renameat2(AT_FDCWD, from, AT_FDCWD, to, flags == EXCLUSIVE ? RENAME_NOREPLACE : 0));
}
static void *go_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off) {
  return (void *)checked((long)mmap(at, n, prot, (flags & 0x1f) | (flags & 0x1000 ? MAP_ANONYMOUS | MAP_NORESERVE : 0), fd, off));
}

struct darwin_stat {
  int32_t dev;
  uint16_t mode, links;
  uint64_t ino;
  uint32_t uid, gid;
  int32_t rdev, pad;
  struct timespec atime, mtime, ctime, birth;
  int64_t size, blocks;
  int32_t blksize;
  uint32_t flags, gen;
  int32_t spare;
  int64_t spares[2];
};
static long stat_of(int r, const struct stat *s, struct darwin_stat *d) {
  memset(d, 0, sizeof *d);
  d->dev = (int32_t)s->st_dev, d->mode = (uint16_t)s->st_mode, d->links = (uint16_t)s->st_nlink, d->ino = s->st_ino;
  d->uid = s->st_uid, d->gid = s->st_gid, d->rdev = (int32_t)s->st_rdev;
  d->atime = s->st_atim, d->mtime = s->st_mtim, d->ctime = s->st_ctim, d->birth = s->st_ctim;
  d->size = s->st_size, d->blocks = s->st_blocks, d->blksize = (int32_t)s->st_blksize;
  return checked(r);
}
static long go_stat(const char *path, struct darwin_stat *d) { struct stat s; int r = stat(path, &s); return stat_of(r, &s, d); }
static long go_lstat(const char *path, struct darwin_stat *d) { struct stat s; int r = lstat(path, &s); return stat_of(r, &s, d); }
static long go_fstat(int fd, struct darwin_stat *d) { struct stat s; int r = fstat(fd, &s); return stat_of(r, &s, d); }
static long go_fstatat(int dir, const char *path, struct darwin_stat *d, int flags) {
  struct stat s;
  int r = fstatat(at_of(dir), path, &s, flags & 0x20 ? AT_SYMLINK_NOFOLLOW : 0);
  return stat_of(r, &s, d);
}

struct darwin_dirent { uint64_t ino, seek; uint16_t reclen, namlen; uint8_t type; char name[1024]; };
static int go_readdir(DIR *dir, struct darwin_dirent *d, struct darwin_dirent **result) {
  struct dirent *e = readdir(dir);
  *result = e ? d : 0;
  if (!e) return 0;
  d->ino = e->d_ino, d->type = e->d_type, d->namlen = (uint16_t)strlen(e->d_name);
  d->reclen = (uint16_t)(21 + d->namlen + 1);
  strcpy(d->name, e->d_name);
  return 0;
}

/* ---- memory, times and limits of the system ---- */

static int go_madvise(void *at, size_t n, int what) { return 0; }
static uint64_t go_mach_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
static int go_timebase(uint32_t *ratio) { ratio[0] = ratio[1] = 1; return 0; }
static int go_clock_gettime(int clock, struct timespec *t) { return clock_gettime(clock ? CLOCK_MONOTONIC : CLOCK_REALTIME, t); }
static int resource_of(int darwin) { return darwin == 8 ? RLIMIT_NOFILE : darwin; }
static long go_getrlimit(int what, struct rlimit *r) { return checked(getrlimit(resource_of(what), r)); }
static long go_setrlimit(int what, struct rlimit *r) { return checked(setrlimit(resource_of(what), r)); }
static long go_sysctl(int *mib, unsigned n, void *out, size_t *size, void *in, size_t in_size) {
  enum { HW = 6, NCPU = 3, PAGESIZE = 7 };
  if (n == 2 && mib[0] == HW && (mib[1] == NCPU || mib[1] == PAGESIZE) && out) {
#if __aarch64__
    int page = 16384;
#else
    int page = 4096;
#endif
    memcpy(out, mib[1] == NCPU ? &(int){2} : &page, 4);
    *size = 4;
    return 0;
  }
  errno = ENOENT;
  return checked(-1);
}
static long go_sysctlbyname(void) { errno = ENOENT; return checked(-1); }
static int go_none(void) { return 0; }

/* ---- signals: none arrive ---- */

static int go_sigaction(int sig, void *new, void *old) { if (old) memset(old, 0, 16); return 0; }
static int go_sigmask(int how, void *new, void *old) { if (old) memset(old, 0, 4); return 0; }
static int go_sigaltstack(void *new, void *old) {
  enum { DISABLED = 4 };
  if (old) memset(old, 0, 24), ((int *)old)[4] = DISABLED;
  return 0;
}
static int go_raise(int sig) { return sig == 16 ? 0 : raise(sig == 10 ? SIGBUS : sig); } /* not SIGURG */
static int go_kill(pid_t pid, int sig) { return pid == getpid() ? go_raise(sig) : 0; }

/* ---- threads ---- */

struct start { void *(*run)(void *); void *arg; };
static void *run_thread(void *p) {
  struct start s = *(struct start *)p;
  free(p);
  thread_begins();
  return s.run(s.arg);
}
static int go_create(pthread_t *t, pthread_attr_t *attr, void *(*run)(void *), void *arg) {
  struct start *s = malloc(sizeof *s);
  *s = (struct start){run, arg};
  return pthread_create(t, attr, run_thread, s);
}
static int go_detach(pthread_attr_t *attr, int state) { return pthread_attr_setdetachstate(attr, PTHREAD_CREATE_DETACHED); }
static int go_wait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *d) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_sec += d->tv_sec, t.tv_nsec += d->tv_nsec;
  if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
  return pthread_cond_clockwait(c, m, CLOCK_MONOTONIC, &t) == ETIMEDOUT ? 60 : 0;
}
#if __x86_64__
enum { SET_GS = 0x1001 };
void thread_begins(void) { syscall(SYS_arch_prctl, SET_GS, calloc(1, 4096)); } /* Go's word is at 0x30 */
#else
static __thread void *volatile slots[8]; /* after the thread's register, where package runtime searches */
static unsigned keys;
void thread_begins(void) {}
static int go_key_create(unsigned long *key, void (*end)(void *)) { return *key = keys++, 0; }
static int go_setspecific(unsigned long key, void *value) { return slots[key] = value, 0; }
#endif

/* ---- kqueue: an eventfd for the event that package runtime triggers ---- */

struct event { uint64_t ident; int16_t filter; uint16_t flags; uint32_t fflags; int64_t data; void *udata; };
enum { FILTER_USER = -10, TRIGGER = 0x1000000 };
static struct event wakeup;
static long go_kqueue(void) { return checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }
static long go_kevent(int kq, struct event *in, int n, struct event *out, int room, struct timespec *limit) {
  for (int i = 0; i < n; i++) {
    if (in[i].filter != FILTER_USER) {
      errno = EOPNOTSUPP;
      return checked(-1);
    }
    if (in[i].fflags & TRIGGER) eventfd_write(kq, 1);
    else wakeup = in[i];
  }
  if (!room) return 0;
  struct pollfd p = {kq, POLLIN, 0};
  eventfd_t v;
  if (ppoll(&p, 1, limit, 0) <= 0 || eventfd_read(kq, &v)) return 0;
  *out = wakeup;
  return 1;
}

const struct function go_functions[] = {
#define F(f) {"_" #f, go_##f}
  F(close), F(dup), F(dup2), F(unlink), F(mkdir), F(rmdir), F(link), F(symlink), F(rename), F(chdir), F(fchdir), F(ftruncate), F(truncate), F(chmod),
  F(fchmod), F(access), F(pipe), F(munmap), F(isatty), F(fsync), F(umask), F(flock), F(read), F(write), F(pread), F(pwrite), F(lseek), F(readlink), F(getcwd),
  F(open), F(openat), F(fcntl), F(mmap), F(madvise), F(clock_gettime), F(getrlimit), F(setrlimit), F(sysctl), F(sysctlbyname), F(sigaction),
  F(sigaltstack), F(raise), F(kill), F(kqueue), F(kevent),
  {"___error", go_error}, {"_renamex_np", go_renamex},
  {"_stat64", go_stat}, {"_lstat64", go_lstat}, {"_fstat64", go_fstat}, {"_fstatat64", go_fstatat},
  {"_stat", go_stat}, {"_lstat", go_lstat}, {"_fstat", go_fstat}, {"_fstatat", go_fstatat},
  {"_readdir_r", go_readdir}, {"_readdir_r$INODE64", go_readdir}, {"_fdopendir$INODE64", fdopendir},
  {"_mach_absolute_time", go_mach_time}, {"_mach_timebase_info", go_timebase}, {"_issetugid", go_none}, {"_mlock", go_none},
  {"_notify_is_valid_token", go_none}, {"_xpc_date_create_from_current", go_none},
  {"_pthread_create", go_create}, {"_pthread_attr_setdetachstate", go_detach}, {"_pthread_cond_timedwait_relative_np", go_wait}, {"_pthread_sigmask", go_sigmask}, {"_pthread_kill", go_none},
#if __aarch64__
  {"_pthread_key_create", go_key_create}, {"_pthread_setspecific", go_setspecific},
#endif
  {0, 0},
};
