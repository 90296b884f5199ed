/* The table of open files of the thread that writes the log. A program may close descriptors that it
 * does not know, and open files that get their numbers. If this thread had a file of /proc open under
 * such a number, and closed it then, it would close the program's file. So the thread has a table of
 * its own, which holds the log's file alone, under the number that it has in the program's table,
 * where other threads use it.
 *
 * Two cases remain in which it shares the program's table: on kernels before 5.9, and in a child made
 * by fork until its log is open, which is once. A library that is put into a running program removes
 * the log's file from the program's table when it leaves, and shares it until then. */

#include "task.h"
#include "timed.h"
#include "wait.h"

#ifndef CAIRN_ATTACH
enum { STDERR = 2, O_WRONLY = 1, O_NOCTTY = 0400, O_APPEND = 02000 };

static i64 close_range(i64 from, i64 to, u32 flags) { return from > to ? 0 : sys3(SYS_close_range, (u32)from, (u32)to, flags); }

/* keep_file gives this thread a table with one file. */
static int keep_file(i64 fd) {
  enum { LAST = 0x7fffffff };
  if (fd < 0) return leave_files();
  if (close_range(fd + 1, LAST, CLOSE_RANGE_UNSHARE) < 0) return 0;
  close_range(0, fd - 1, 0);
  return 1;
}

/* leave_table gives the log's thread its own table when it is known whether there is a log. */
void __cairn_leave_table(struct process *p) {
  if (p->log.left_table || (!load(&p->log.file.begun) && !p->log.file.failed && p->dir[0])) return;
  p->log.left_table = 1;
  p->log.own_files = (u8)keep_file(load(&p->log.file.begun) ? p->log.file.fd : -1);
  if (p->log.own_files && p->log.file.fd >= 0 && !__cairn_file_own(p)) sys1(SYS_close, p->log.file.fd); /* the program's */
}

/* open_stderr opens the program's standard error for the log's thread. A filter of system calls may
 * forbid the first way; the second one is not possible for sockets. */
static i64 open_stderr(struct process *p) {
  i64 of = __cairn_is_filtered() ? -1 : sys2(SYS_pidfd_open, p->pid, 0), fd = of < 0 ? of : sys3(SYS_pidfd_getfd, of, STDERR, 0);
  if (of >= 0) sys1(SYS_close, of);
  if (fd >= 0) return fd;
  char path[64];
  put_number(put(put_number(put(path, "/proc/"), (u64)(u32)p->pid), "/fd/"), STDERR);
  return open_file(path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC, 0);
}

void __cairn_print(const char *text, u64 n) {
  struct process *p = __cairn_state;
  if (!p || !p->log.own_files || p->log.tid != (u32)sys0(SYS_gettid)) {
    sys3(SYS_write, STDERR, text, n);
    return;
  }
  i64 fd = open_stderr(p);
  if (fd < 0) return;
  sys3(SYS_write, fd, text, n);
  sys1(SYS_close, fd);
}
#else
void __cairn_leave_table(struct process *p) { (void)p; }
#endif
