/* The coarse clock of the timed modes: the ticks that it remembers, and the state of the processes
 * whose clocks it sets. */
#ifndef CAIRN_CLOCK_H
#define CAIRN_CLOCK_H

#include "kernel.h"

struct process;

/* A tick: the clock was set between these two times. */
struct tick {
  u64 before, after;
};

/* Recent ticks: every one, every 8th, 64th, 512th and 4096th. internal/spikes computes from this
 * which calls are sure to be found. */
enum { LEVELS = 5, LEVEL_SHIFT = 3, LEVEL_TICKS = 2048, TICK_MARGIN = 64 };

enum { PAGE_SIZE = MAX_PAGE, STALLS = 128, SHORT_STALLS = 64 };
enum { LOOK_PAUSE = 20 * MS /* between checks whether a process is idle */ };

/* A coarse clock, of one process or, in shared memory, of a family. Any thread may set it at any
 * time, and may be stopped or killed while it does. */
struct clock {
  u64 begun; /* ticks */
  u64 ticks; /* number of them that can be read; one may never be completed */
  u64 last_tick;
  u64 pace;        /* set by the leader: the period, or more while all are idle */
  u32 wakeups;     /* futex on which the leader sleeps */
  u32 leader;      /* number of the thread, with FUTEX_WAITERS: futex of the followers */
  u32 leader_idle; /* it leads only for others */
  u64 led_since;
  u32 members;     /* pages used so far */
  u32 alive;
  u32 asking; /* members have open questions */
  u64 period; /* the least */
  u64 usual;  /* gaps up to this length need no accounting in any member */
  struct tick ring[LEVELS][LEVEL_TICKS];
};

/* The clock's state of one process, at the start of that process's page. */
struct member {
  i32 pid; /* 0: free; negative: being made */
  u32 tid; /* of its thread; a robust futex */
  u32 joined; /* by the thread */
  u64 period, threshold, since;
  u64 idle_since; /* 0: it is not */
  u64 seen;     /* processor time, as last read by the leader */
  u32 at_work;  /* its thread is running */
  u32 question; /* the leader asks whether the process is idle */
  u32 asked;    /* so often */
  u64 blind, late, worst, idle;
  /* Stalls for the log: a ring, in which a stall is complete when its end is not 0; stalls shorter
   * than the threshold get only a part of it. Those that found no room are in the interval lost. */
  u64 stalls, stalls_read;
  u64 stall[STALLS][3];
  u64 lost_from, lost_to; /* from: 0 if there is none */
};

HIDDEN void __cairn_coarse_interval(struct process *p, u32 stamp, u64 e, u64 *t0, u64 *t1);
HIDDEN void __cairn_advance(struct process *p);
HIDDEN void __cairn_move(u8 *base, u64 c);
HIDDEN u64 __cairn_clock_of(const struct process *p, u64 ns);
HIDDEN void __cairn_wake_clock(struct process *p);
HIDDEN void __cairn_family_start(struct process *p);
HIDDEN int __cairn_family_forked(struct process *p, i32 parent);
HIDDEN void __cairn_family_thread(struct process *p, i32 tid);
HIDDEN void __cairn_family_join(struct process *p);
HIDDEN int __cairn_is_busy(const struct member *m, u64 now);
HIDDEN int __cairn_leads(struct process *p);
HIDDEN int __cairn_family_wait(struct process *p);
HIDDEN void __cairn_family_scan(struct process *p, u64 now);
HIDDEN void __cairn_family_leave(struct process *p);
HIDDEN void __cairn_family_look(struct process *p, u64 now);
HIDDEN struct member *__cairn_member(struct process *p, u32 i);
HIDDEN u32 __cairn_members(struct process *p);
HIDDEN u64 __cairn_cpu(i64 clock);
HIDDEN void __cairn_set_low(struct process *p, u64 threshold);
HIDDEN void __cairn_clock_thread(struct process *p);
HIDDEN void __cairn_prefer(i32 tid);
HIDDEN u64 __cairn_late_between(struct process *p, u64 from, u64 to);
HIDDEN u64 __cairn_switches(int who);

#endif
