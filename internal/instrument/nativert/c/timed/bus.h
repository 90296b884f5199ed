/* Logs are files that are mapped, and others may make a file shorter: logrotate with
 * copytruncate does, and truncate -s 0. Who touches what is mapped behind the new end
 * gets SIGBUS. So that signal has a handler from the start of the program: where the
 * address is in a log, memory that is nobody's takes the place of the file's, and the
 * program goes on. Anything else is as it would be without the handler, and a program
 * that installs its own has that one. */
#ifndef CAIRN_BUS_H
#define CAIRN_BUS_H

/* bus_start installs the handler, once in a process. */
HIDDEN void __cairn_bus_start(void);
/* bus_add takes in a part of a log that was mapped, bus_drop one that is not any more. */
HIDDEN void __cairn_bus_add(void *at, u64 size);
HIDDEN void __cairn_bus_drop(void *at);
/* bus_cut counts how often the end of a log was met too early. */
HIDDEN u32 __cairn_bus_cut(void);

/* block_most blocks all signals but SIGBUS, which stays as it is, and returns what was
 * blocked before. A thread that blocks it ends the process where others go on. */
INLINE u64 block_most(void) {
  u64 most = ~(1ul << 6), before = 0;
  sys4(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &most, &before, 8);
  return before;
}
/* block_own does so for a thread that is to be made, which never blocks SIGBUS. */
INLINE u64 block_own(void) {
  u64 most = ~(1ul << 6), before = 0;
  sys4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &most, &before, 8);
  return before;
}
INLINE void unblock(u64 before) { sys4(SYS_rt_sigprocmask, 2, &before, 0, 8); }

#endif
