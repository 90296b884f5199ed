/* The coarse clock of the timed modes: what it remembers, and what it knows of the
 * processes whose words it moves. */
#ifndef CAIRN_CLOCK_H
#define CAIRN_CLOCK_H

#include "kernel.h"

struct process;

/* A tick: the clock was set between the two moments. */
struct tick {
  u64 before, after;
};

/* Recent ticks: every one, every 8th, 64th, 512th and 4096th. internal/spikes
 * says what calls that last longer than a level are sure to be found. */
enum { LEVELS = 5, LEVEL_SHIFT = 3, LEVEL_TICKS = 2048, TICK_MARGIN = 64 };

enum { PAGE_SIZE = MAX_PAGE, STALLS = 64 };
enum { LOOK_PAUSE = 20 * MS /* between looks whether a process is idle */ };

/* A coarse clock: of one process, or of a family, in memory that they share. Any thread
 * may move it at any time, and may be stopped or killed while it does. */
struct clock {
  u64 begun; /* ticks */
  u64 ticks; /* of these, those that can be read; one among them may never come */
  u64 last_tick;
  u64 pace;        /* of who leads: the period, or more while all is idle */
  u32 hurry;       /* futex on which that thread sleeps */
  u32 leader;      /* number of the thread, with FUTEX_WAITERS: futex of those that follow */
  u32 leader_idle; /* it leads for others only */
  u32 members;     /* pages that were ever used */
  u32 alive;
  u32 asking; /* some were asked something */
  u64 period; /* the least */
  u64 usual;  /* a gap that is no longer changes nothing in any */
  struct tick ring[LEVELS][LEVEL_TICKS];
};

/* What a clock knows of a process whose words it moves: at the start of their page. */
struct member {
  i32 pid; /* 0: free; less: it is being made */
  u32 tid; /* of its thread; a robust futex */
  u32 joined; /* by the thread */
  u64 period, threshold, since;
  u64 idle_since; /* 0: it is not */
  u64 seen;     /* processor time, as the leader saw it */
  u32 at_work;  /* its thread runs */
  u32 question; /* the leader wants to know whether the process is idle */
  u32 asked;    /* so often */
  u64 blind, late, worst, idle;
  u64 stalls, stalls_read;
  u64 stall[STALLS][3];
};

HIDDEN void __cairn_coarse_interval(struct process *p, u32 stamp, u64 e, u64 *t0, u64 *t1);
HIDDEN u64 __cairn_tick(struct process *p);
HIDDEN void __cairn_move(u8 *base, u64 c);
HIDDEN u64 __cairn_clock_of(const struct process *p, u64 ns);
HIDDEN void __cairn_hurry(struct process *p);
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
HIDDEN u64 __cairn_late_between(struct process *p, u64 from, u64 to);
HIDDEN u64 __cairn_switches(int who);

#endif
