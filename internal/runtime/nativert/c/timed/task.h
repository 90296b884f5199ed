/* Files of a thread in /proc.
 *
 * Names below /proc/PID/task are expensive at the end of the process. The kernel removes those of a
 * thread when the thread ends, and all of the process when its parent collects it: then the parent
 * waits in a loop, without sleeping, until the threads have removed theirs
 * (proc_invalidate_siblings_dcache, shrink_dcache_parent). Such a thread may be waiting for a
 * processor. On a busy machine that took longer than all that a short child did. */
#ifndef CAIRN_TASK_H
#define CAIRN_TASK_H

#include "kernel.h"

/* put_task writes the directory of a thread of this process. That is /proc/TID, which no listing of
 * /proc shows, if /proc has the same numbers as the process: it may be of another PID namespace. */
static char *put_task(char *to, i32 tid) {
  char self[24];
  i64 n = read_link("/proc/self", self, sizeof self - 1);
  u64 pid = 0;
  for (i64 i = 0; i < n; i++) pid = pid * 10 + (u64)(self[i] - '0');
  return put_number(put(to, n > 0 && pid == (u64)sys0(SYS_getpid) ? "/proc/" : "/proc/self/task/"), (u64)(u32)tid);
}

/* put_file writes the path of an open file of this thread. */
static inline char *put_file(char *to, i64 fd) { return put_number(put(put_task(to, sys0(SYS_gettid)), "/fd/"), (u64)fd); }

#endif
