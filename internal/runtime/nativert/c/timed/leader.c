/* If the first thread of a process ends alone, by the system call exit or because of a
 * filter of system calls, the threads of the runtime keep the process alive. They block all
 * signals, so that it could only be killed. So they check whether other threads are left,
 * and end if there are none, with the exit status of the first thread. */

#include "kernel.h"

HIDDEN int __cairn_is_there(i32 tid);
HIDDEN int __cairn_deserted(i32 pid);
HIDDEN void __cairn_follow(i32 pid);

/* leaving reports whether the runtime must leave a program that continues: see attach.c. This
 * is FALLBACK, for programs without that. */
FALLBACK int __cairn_leaving(void) { return 0; }


/* is_there reports whether a thread has memory: a first thread that has ended while others
 * run has none. */
int __cairn_is_there(i32 tid) {
  uword word = 0, got, local[2] = {(uword)&got, sizeof got}, remote[2] = {(uword)&word, sizeof word};
  return sys6(SYS_process_vm_readv, tid, (sword)local, 1, (sword)remote, 1, 0) != -ESRCH;
}

/* is_own reports by its name whether a thread belongs to a runtime. */
static int is_own(const char *tid) {
  static const char own[] = "cairn-";
  char b[64];
  put(put(put(b, "/proc/self/task/"), tid), "/comm");
  i64 fd = open_file(b, O_RDONLY | O_CLOEXEC, 0), n;
  if (fd < 0) return 1; /* it has ended */
  n = sys3(SYS_read, fd, b, sizeof b);
  sys1(SYS_close, fd);
  for (u32 i = 0; i < sizeof own - 1; i++)
    if ((i64)i >= n || b[i] != own[i]) return 0;
  return 1;
}

/* deserted reports whether all threads of the program have ended. If threads cannot be
 * listed, that is when the first one has ended. */
int __cairn_deserted(i32 pid) {
  char b[2048];
  i64 n, fd;
  int others = 0;
  if (__cairn_is_there(pid)) return 0;
  fd = open_file("/proc/self/task", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return 1;
  while (!others && (n = sys3(SYS_getdents64, fd, b, sizeof b)) > 0)
    for (i64 at = 0; at < n && !others; at += *(u16 *)(b + at + 16)) {
      const char *name = b + at + 19;
      i32 tid = 0;
      for (const char *s = name; *s >= '0' && *s <= '9'; s++) tid = tid * 10 + (*s - '0');
      others = tid && tid != pid && !is_own(name);
    }
  sys1(SYS_close, fd);
  return !others;
}

/* ended_with returns the status of the first thread, in the format of wait. */
static u32 ended_with(i32 pid) {
  enum { FIELD = 49 }; /* of those after the name, from 0 */
  char b[1024], *q = put_number(put(b, "/proc/self/task/"), (u64)(u32)pid);
  put(q, "/stat");
  i64 fd = open_file(b, O_RDONLY | O_CLOEXEC, 0), n = 0;
  if (fd >= 0) n = sys3(SYS_read, fd, b, sizeof b - 1);
  if (fd >= 0) sys1(SYS_close, fd);
  if (n <= 0) return 0;
  b[n] = 0;
  const char *s = b + n;
  while (s > b && *s != ')') s--;
  for (u32 field = 0; *s && field < FIELD + 1; s++) field += *s == ' ';
  u32 code = 0;
  for (; *s >= '0' && *s <= '9'; s++) code = code * 10 + (u32)(*s - '0');
  return code;
}

/* follow ends this thread with the status of the first one: the status of the last thread is
 * that of the process. */
void __cairn_follow(i32 pid) {
  if (__cairn_leaving()) sys1(SYS_exit, 0); /* only this thread ends */
  u32 code = ended_with(pid), number = code & 127;
  u64 standard[4] = {0}, mask = number ? ~((u64)1 << (number - 1)) : 0;
  if (number) {
    sys4(SYS_rt_sigaction, number, standard, 0, 8);
    sys4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &mask, 0, 8);
    sys3(SYS_tgkill, sys0(SYS_getpid), sys0(SYS_gettid), number);
  }
  sys1(SYS_exit, code >> 8 & 255);
}
