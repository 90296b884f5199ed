/* One clock for a process and all that it forked, the family: one thread of one of them, the
 * leader, advances the clocks of all. The clock threads of the others sleep. While their process is
 * not idle, they wake twice per threshold to check what only a thread of the process can observe.
 *
 * The words of a process are on a page of memory that the family shares, which is mapped below the
 * window as well. The ticks are shared too. There are no locks: a leader that is stopped or killed
 * during a tick leaves an incomplete tick, see timed_clock.c. The leader's thread id is a robust
 * futex: the kernel marks it when that thread ends for any reason, and wakes a follower, which
 * becomes the leader. If the leader is stopped, there are no ticks: the first follower that notices
 * becomes the leader, and the old one follows when it continues. So no process waits for one that
 * has ended, and two leaders at the same time do no harm.
 *
 * A child gets its own clock and starts a new family if it and its relatives may be unable to see
 * each other: in another PID or time namespace, after its parent has ended, with another filter of
 * system calls, or if the page of the family is full. */

#include "timed.h"

enum { FUTEX_WAIT_BITSET = 9, FUTEX_WAKE_BITSET = 10, OWNER_DIED = 0x40000000, TID_MASK = 0x3fffffff };
#define WAITERS 0x80000000u
enum { MEMBERS = 128, PR_GET_SECCOMP = 21, REMAP_HERE = 3 /* MREMAP_MAYMOVE | MREMAP_FIXED */, MAKING = -1 };
#define HEAD ((sizeof(struct clock) + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1ul))
#define SIZE (HEAD + MEMBERS * PAGE_SIZE)

/* Without a hook for fork there are no families. */
#ifdef CAIRN_ATTACH
enum { FAMILIES = 0 };
#else
enum { FAMILIES = 1 };
#endif

#define base_of(m) ((u8 *)(m) + PAGE_SIZE)
#define swap(at, from, to) __atomic_compare_exchange_n(at, from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

static struct member *page(struct clock *k, u32 i) { return (struct member *)((u8 *)k + HEAD + i * PAGE_SIZE); }

/* member returns a process of the family, or 0. */
struct member *__cairn_member(struct process *p, u32 i) {
  if (!p->time.family) return p->time.member;
  struct member *m = page(p->time.clock, i);
  return load(&m->pid) > 0 ? m : 0;
}
u32 __cairn_members(struct process *p) { return p->time.family ? load(&p->time.clock->members) : 1; }

/* ---- membership ---- */

static void describe(struct process *p, struct member *m) {
  m->period = p->set.period;
  m->threshold = p->set.threshold;
  m->since = p->forked ? p->fork_time : p->started.mono;
}

/* claim takes a page that was never used, or whose process has ended. The leader advances
 * its clock as soon as pid is set. The clock is set again after that, as a tick before it
 * may be missed. */
static struct member *claim(struct process *p, struct clock *k) {
  for (u32 i = 0; i < MEMBERS; i++) {
    struct member *m = page(k, i);
    i32 owner = load(&m->pid);
    u32 members = load(&k->members);
    if (owner < 0 || (owner && !(load(&m->tid) & OWNER_DIED)) || !swap(&m->pid, &owner, MAKING)) continue;
    clear(&m->tid, PAGE_SIZE - __builtin_offsetof(struct member, tid));
    describe(p, m);
    store((u32 *)(base_of(m) + CLOCK), (u32)__cairn_clock_of(p, __cairn_now(p)) | 1);
    while (members <= i && !swap(&k->members, &members, i + 1)) {
    }
    p->time.slot = i;
    __atomic_store_n(&m->pid, p->pid, __ATOMIC_SEQ_CST);
    __cairn_move(base_of(m), __cairn_clock_of(p, __cairn_now(p)));
    store(&k->usual, 0);
    add(&k->wakeups, 1);
    return m;
  }
  return 0;
}

/* enter adds the process to the family of a clock. */
static int enter(struct process *p, struct clock *k) {
  if (!FAMILIES) return 0;
  struct member *m = claim(p, k);
  if (!m) return 0;
  if (failed(sys6(SYS_mremap, (sword)m, 0, PAGE_SIZE, REMAP_HERE, (sword)p->time.member, 0))) {
    store(&m->pid, 0);
    return 0;
  }
  p->time.clock = k;
  p->time.family = 1;
  return 1;
}

/* copy_clock copies the recorded ticks. */
static void copy_clock(struct clock *to, struct clock *from) {
  u64 n = load(&from->ticks);
  for (u32 level = 0; n && level < LEVELS; level++)
    copy(to->ring[level], from->ring[level], least(((n - 1) >> level * LEVEL_SHIFT) + 1, LEVEL_TICKS) * sizeof(struct tick));
  to->pace = to->leader = to->members = 0;
  to->begun = to->ticks = n;
}

/* new_family makes a new family with this process. */
static int new_family(struct process *p) {
  struct clock *k = (struct clock *)map(0, SIZE, PROT_RW, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (failed(k)) return 0;
  sys3(SYS_madvise, k, SIZE, MADV_DONTDUMP);
  copy_clock(k, p->time.clock);
  k->last_tick = p->forked ? p->fork_time : p->started.mono; /* the time namespace may be another one */
  if (enter(p, k)) return 1;
  unmap(k, SIZE);
  return 0;
}

/* family_start makes a family, if a thread of the process makes the ticks. */
void __cairn_family_start(struct process *p) {
  describe(p, p->time.member);
  if (!FAMILIES || p->kind != KIND_SPIKE || p->signal.wanted) return;
  p->time.seccomp = sys2(SYS_prctl, PR_GET_SECCOMP, 0);
  if (new_family(p)) __cairn_show_low(p);
}

/* shares_namespaces reports whether a child and the family share the namespaces of PIDs and time. */
static int shares_namespaces(struct process *p, i32 parent) {
  u64 last = load(&p->time.clock->last_tick), now = __cairn_now(p);
  return FAMILIES && sys0(SYS_getppid) == parent && now >= last && now - last < SECOND + 2 * load(&p->time.clock->pace);
}

/* private_clock gives a child its own clock, on a private page. */
static int private_clock(struct process *p, struct clock *was) {
  u8 *words = p->base - PAGE_SIZE;
  if (was != &p->time.own) {
    if (failed(sys6(SYS_mmap, (sword)words, PAGE_SIZE, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0))) return 0;
    copy_clock(&p->time.own, was);
    p->time.clock = &p->time.own;
  }
  clear(words, PAGE_SIZE);
  describe(p, p->time.member);
  p->time.clock->last_tick = p->fork_time;
  return 1;
}

/* family_forked gives a child, which still has the page of its parent, another one. It
 * returns 0 on failure. */
int __cairn_family_forked(struct process *p, i32 parent) {
  struct clock *was = p->time.clock;
  int family = p->time.family, filtered = family && sys2(SYS_prctl, PR_GET_SECCOMP, 0) != p->time.seccomp;
  p->time.family = 0;
  if (family && !filtered && shares_namespaces(p, parent) && enter(p, was)) return 1;
  if (!(family && !filtered && new_family(p)) && !private_clock(p, was)) return 0;
  if (family) unmap(was, SIZE);
  return 1;
}

/* ---- the clock's thread ---- */

/* family_thread is called by the creator of the thread, which may be killed before it runs. */
void __cairn_family_thread(struct process *p, i32 tid) {
  u32 nobody = 0;
  swap(&p->time.member->tid, &nobody, (u32)tid);
}

/* family_join registers this thread: the kernel marks its id when it ends. */
void __cairn_family_join(struct process *p) {
  struct member *m = p->time.member;
  if (!FAMILIES) return;
  p->time.tid = (u32)sys0(SYS_gettid);
  p->time.robust_head[0] = (uword)&p->time.robust_node;
  p->time.robust_head[1] = (uword)&m->tid - (uword)&p->time.robust_node;
  p->time.robust_head[2] = 0;
  p->time.robust_node = (uword)&p->time.robust_head;
  store(&m->tid, p->time.tid);
  sys2(SYS_set_robust_list, &p->time.robust_head, sizeof p->time.robust_head);
  store(&m->joined, 1);
}

int __cairn_leads(struct process *p) {
  return !p->time.family || (load(&p->time.clock->leader) & (TID_MASK | OWNER_DIED)) == p->time.tid;
}

/* wake_member wakes the thread of a process. It may wake others, which sleep again. */
static void wake_member(struct clock *k, u32 i) { sys6(SYS_futex, (sword)&k->leader, FUTEX_WAKE_BITSET, NEVER, 0, 0, 1l << i % 32); }

/* family_leave wakes the thread if it is a follower. */
void __cairn_family_leave(struct process *p) {
  if (p->time.family) wake_member(p->time.clock, p->time.slot);
}

/* become_leader makes this thread the leader in place of the old one. */
static int become_leader(struct process *p, u32 was) {
  struct clock *k = p->time.clock;
  store(&p->time.robust_head[2], (uword)&k->leader - p->time.robust_head[1]);
  int others = was & TID_MASK;
  store(&k->led_since, __cairn_now(p));
  store(&k->leader_idle, 0);
  if (!swap(&k->leader, &was, p->time.tid | WAITERS)) return 0;
  p->time.had_other_leader = others != 0;
  return 1;
}

/* is_busy reports whether the process ran within the last second. */
int __cairn_is_busy(const struct member *m, u64 now) {
  u64 since = load(&m->idle_since);
  return !since || less(now, since) <= SECOND;
}

/* next_check returns the time at which an idle process must check for ticks. Idle processes take
 * turns, so that together they check as often as a single one. */
static u64 next_check(struct process *p, u64 now) {
  u64 all = most(1, load(&p->time.clock->alive)), at = now / LOOK_PAUSE + 1;
  return (at + (p->time.slot % all + all - at % all) % all) * LOOK_PAUSE;
}

/* family_wait sleeps for a while and returns 0, or makes this thread the leader. A new leader gets time
 * for its first tick: threads that become the leader in turn, each before the other's tick, would make
 * no ticks, and use a processor each. */
int __cairn_family_wait(struct process *p) {
  enum { PATIENCE = 2 * MS };
  struct clock *k = p->time.clock;
  const struct member *m = p->time.member;
  u32 seen = load(&k->leader);
  u64 now = __cairn_now(p), silence = less(now, most(load(&k->last_tick), load(&k->led_since)));
  int busy = __cairn_is_busy(m, now);
  if (!(seen & TID_MASK) || seen & OWNER_DIED || silence > most(4 * load(&k->pace), busy ? PATIENCE : LOOK_PAUSE) || (busy && load(&k->leader_idle)))
    return become_leader(p, seen);
  store(&p->time.robust_head[2], 0);
  u64 until = busy ? now + most(2 * m->period, m->threshold / 2) : next_check(p, now);
  uword ts[2] = {until / SECOND, until % SECOND};
  p->time.cpu = __cairn_cpu(THREAD_CPU);
  store(&p->time.member->at_work, 0);
  i64 r = sys6(SYS_futex, (sword)&k->leader, FUTEX_WAIT_BITSET, seen, (sword)ts, 0, 1l << p->time.slot % 32);
  __cairn_rest(p, r, until - now);
  store(&p->time.member->at_work, 1);
  return 0;
}

/* ---- the leader ---- */

/* is_gone reports whether a process has ended or runs another program: then its clock thread
 * has ended, which the kernel marks if the thread ever ran. */
static int is_gone(const struct member *m, u64 now) {
  u32 tid = load(&m->tid);
  if (tid & OWNER_DIED) return 1;
  return !load(&m->joined) && less(now, m->since) > 2 * LOOK_PAUSE && sys3(SYS_tgkill, m->pid, tid ? tid : (u32)m->pid, 0) == -ESRCH;
}

/* asks reports whether an idle process has not answered yet whether it is idle. The processor time
 * of the answer itself is no reason to ask again. */
static int asks(struct process *p, u32 i, struct member *m, u64 c) {
  enum { TIMES = 100 };
  if (m->seen == c && !m->asked) return 0;
  if (!m->asked) store(&m->question, 1);
  store(&p->time.clock->asking, 1);
  if (load(&m->question) && m->asked++ < TIMES) wake_member(p->time.clock, i);
  else if (!load(&m->at_work)) m->seen = c, m->asked = 0;
  return 1;
}

/* look asks an idle process whether it still is, if any of its threads ran. A busy one checks
 * this itself. */
static void look(struct process *p, u32 i, struct member *m, u64 now) {
  enum { DESERTED = 5 };
  i32 pid = load(&m->pid), free = pid;
  u64 c = __cairn_cpu((i64)(i32)(~(u32)pid << 3 | 2));
  if (c == NONE || is_gone(m, now)) {
    swap(&m->pid, &free, 0);
    return;
  }
  if (__cairn_is_busy(m, now) || asks(p, i, m, c)) return;
  /* All threads but those of the runtime may have ended. */
  if ((now / LOOK_PAUSE + i) % DESERTED == 0 && !__cairn_is_there(pid)) store((u32 *)(base_of(m) + PENDING), 1);
}

/* family_scan checks all other processes. */
void __cairn_family_scan(struct process *p, u64 now) {
  struct clock *k = p->time.clock;
  u32 alive = 0;
  for (u32 i = 0, n = load(&k->members); i < n; i++) {
    struct member *m = __cairn_member(p, i);
    if (!m) continue;
    alive++;
    if (i != p->time.slot) look(p, i, m, now);
  }
  store(&k->alive, alive);
  store(&k->leader_idle, !__cairn_is_busy(p->time.member, now));
}

/* family_look wakes the threads of processes that have something to write, and checks those
 * that were asked. */
void __cairn_family_look(struct process *p, u64 now) {
  u32 asking = __atomic_exchange_n(&p->time.clock->asking, 0, __ATOMIC_ACQ_REL);
  for (u32 i = 0, n = load(&p->time.clock->members); i < n; i++) {
    struct member *m = i == p->time.slot ? 0 : __cairn_member(p, i);
    if (!m) continue;
    if (load((u32 *)(base_of(m) + PENDING))) wake_member(p->time.clock, i);
    if (asking && m->asked) look(p, i, m, now);
  }
}
