/* Logs are mapped files, and other processes may truncate them, as logrotate with copytruncate and
 * truncate -s 0 do. An access to a mapped page after the new end raises SIGBUS. So the runtime
 * handles that signal from the start of the program: if the address is in a log, anonymous memory
 * replaces the file's, and the program continues. Any other SIGBUS has its usual effect, and a
 * program's own handler takes precedence. */
#ifndef CAIRN_BUS_H
#define CAIRN_BUS_H

/* bus is that of the module that made the state of the process, which has the handler. */
extern struct bus *__cairn_bus HIDDEN;
/* bus_start installs the handler, once in a process. */
HIDDEN void __cairn_bus_start(void);
/* bus_add registers a mapped part of a log, bus_drop removes one. */
HIDDEN void __cairn_bus_add(void *at, u64 size);
HIDDEN void __cairn_bus_drop(void *at);
/* bus_cut returns how often a log was found truncated. */
HIDDEN u32 __cairn_bus_cut(void);

/* block_most blocks all signals but SIGBUS, which stays as it is, and returns the previous mask. If
 * a thread blocks SIGBUS, the signal ends the process. */
INLINE u64 block_most(void) {
  u64 most = ~((u64)1 << 6), before = 0;
  sys4(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &most, &before, 8);
  return before;
}
/* block_own does that for a thread that is to be created, which never blocks SIGBUS. */
INLINE u64 block_own(void) {
  u64 most = ~((u64)1 << 6), before = 0;
  sys4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &most, &before, 8);
  return before;
}
INLINE void unblock(u64 before) { sys4(SYS_rt_sigprocmask, 2, &before, 0, 8); }

#endif
