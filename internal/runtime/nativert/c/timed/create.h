/* Creates the file of a log so that no reader finds one without its header, however the process
 * ends: the file gets its name after the header is written. Only where files can neither be linked
 * nor be renamed without replacing others is it empty for a moment. */

#include "task.h"
#include "timed.h"

enum {
  CREATE_NAMES = 10000, /* for one process, or for processes with the same id */
  CREATE_MODE = 0644,   /* no other user may truncate a log, whatever the umask */
  CREATE_PATH = 2048    /* a directory has at most 1024 bytes */
};

/* sum is the checksum of headers. */
static u32 sum(const u8 *b, u64 n) {
  u32 h = 2166136261u;
  while (n--) h = (h ^ *b++) * 16777619u;
  return h;
}

static i64 put_file_header(i64 fd, const u8 *h) {
  if (!fits(LOG_HEADER_SIZE)) return -EFBIG;
  return write_at(fd, h, LOG_HEADER_SIZE, 0) == LOG_HEADER_SIZE ? 0 : -ENOSPC;
}

/* name_file links an open file without a name to a path. Kernels before 6.10 can do that without
 * /proc only for privileged processes. */
static i64 name_file(i64 fd, const char *path) {
  enum { AT_SYMLINK_FOLLOW = 0x400, AT_EMPTY_PATH = 0x1000 };
  char link[64];
#ifndef CAIRN_TEST_OLD_KERNEL
  i64 named = sys6(SYS_linkat, fd, (sword)"", AT_FDCWD, (sword)path, AT_EMPTY_PATH, 0);
  if (named >= 0 || named == -EEXIST) return named;
#endif
  put_file(link, fd);
  return sys6(SYS_linkat, AT_FDCWD, (sword)link, AT_FDCWD, (sword)path, AT_SYMLINK_FOLLOW, 0);
}

/* create_nameless uses a file without a name, if the file system supports that and the file can be
 * linked to a name. */
static i64 create_nameless(const char *dir, char *path, char *end, const u8 *h) {
  i64 err, fd = open_file(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, CREATE_MODE);
  if (fd < 0) return fd;
  err = put_file_header(fd, h);
  for (u32 n = 0; err >= 0 && n < CREATE_NAMES; n++) {
    put(put_number(end, n), LOG_SUFFIX);
    i64 named = name_file(fd, path);
    if (named >= 0) return fd;
    if (named != -EEXIST) err = named;
  }
  sys1(SYS_close, fd);
  return err < 0 ? err : -EEXIST;
}

/* move_up moves a file to a high descriptor, which programs do not expect to get. */
static i64 move_up(i64 fd) {
  uword limit[2];
  if (fd < 0 || sys2(SYS_getrlimit, 7 /* RLIMIT_NOFILE */, limit) < 0) return fd;
  i64 high = sys3(SYS_fcntl, fd, 1030 /* F_DUPFD_CLOEXEC */, less(least(limit[0], 1024), 24));
  if (high < 0) return fd;
  sys1(SYS_close, fd);
  return high;
}

/* give_name gives the file at tmp the first free name. */
static i64 give_name(const char *tmp, char *path, char *end) {
  for (u32 n = 0; n < CREATE_NAMES; n++) {
    put(put_number(end, n), LOG_SUFFIX);
    i64 err = move_new(tmp, path);
    if (err >= 0) return 0;
    if (err == -EEXIST) continue;
    /* Neither is supported. The name is reserved first. */
    err = create_file(path, CREATE_MODE);
    if (err == -EEXIST) continue;
    if (err < 0) return err;
    sys1(SYS_close, err);
    return rename_file(tmp, path);
  }
  return -EEXIST;
}

/* create_temporary uses a temporary name. */
static i64 create_temporary(char *path, char *end, const u8 *h) {
  char tmp[CREATE_PATH];
  i64 err, fd = -EEXIST;
  for (u32 n = 0; n < CREATE_NAMES && fd == -EEXIST; n++) {
    put(put_number(end, n), ".tmp");
    put(tmp, path);
    fd = create_file(tmp, CREATE_MODE);
  }
  if (fd < 0) return fd;
  err = put_file_header(fd, h);
  if (err >= 0 && (err = give_name(tmp, path, end)) >= 0) return fd;
  sys1(SYS_close, fd);
  remove_file(tmp);
  return err;
}

/* create makes the file of a log in a directory. It puts the first free number and the suffix at
 * end, which is in path. It returns the descriptor. */
static i64 create(const char *dir, char *path, char *end, const u8 *h) {
  i64 fd = create_nameless(dir, path, end, h);
  return move_up(fd >= 0 ? fd : create_temporary(path, end, h));
}
