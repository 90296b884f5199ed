/* The thread that writes the log: it takes records out of the threads' queues, counts episodes,
 * limits the rate, and updates the trailer. The clock's thread wakes it; nothing here delays the
 * clock or the program. */

#include "task.h"
#include "timed.h"

void __cairn_wake(struct process *p) {
  store(word(p, PENDING), 0);
  add(&p->log.wake, 1);
  sys3(SYS_futex, &p->log.wake, FUTEX_WAKE, 1);
}

/* ---- counters of what was seen ---- */

static u64 stack_hash(const struct entry *x, u32 n) {
  u64 h = 14695981039346656037ul;
  for (u32 i = 0; i < n; i++) h = (h ^ x[i].pc) * 1099511628211ul, h ^= h >> 29;
  return h;
}

/* count_seen adds an episode to the counter of its peak and stack, and returns the new count. The
 * last slot counts all that found no slot. worst is set if the episode is by far the longest of its
 * stack. */
static u64 count_seen(struct process *p, u64 number, u64 pc, u64 hash, u64 lo, u64 time, int *worst) {
  struct file *f = &p->log.file;
  u8 *slots = __cairn_file_seen(p), *r;
  if (!slots) return 1;
  u32 at = (u32)(hash ^ pc) % SEEN_INDEX;
  for (; f->seen_index[at]; at = (at + 1) % SEEN_INDEX) {
    r = slots + (f->seen_index[at] - 1u) * LOG_SEEN_SIZE;
    if (((u64 *)r)[1] == pc && ((u64 *)r)[2] == hash) goto found;
  }
  int full = f->seen_count >= SEEN_SLOTS - 1;
  r = slots + (full ? SEEN_SLOTS - 1 : f->seen_count) * LOG_SEEN_SIZE;
  if (!full) f->seen_index[at] = (u16)++f->seen_count;
  if (!*(u16 *)r) {
    ((u64 *)r)[1] = full ? 0 : pc;
    ((u64 *)r)[2] = full ? 0 : hash;
    ((u64 *)r)[7] = number;
    ((u16 *)r)[1] = LOG_SEEN_SIZE;
    store((u16 *)r, LOG_TYPE_SEEN);
  }
found:;
  u64 *s = (u64 *)r;
  *worst = less(lo, s[4]) > s[4] / 16;
  s[4] = most(s[4], lo);
  s[5] += lo;
  s[6] = time;
  return ++s[3];
}

/* ---- the line for people ---- */

static char *put_ms(char *p, u64 ns) {
  u64 tenths = ns / 100000;
  p = put_number(p, tenths / 10);
  *p++ = '.';
  *p++ = (char)('0' + tenths % 10);
  *p = 0;
  return p;
}

static void print_spike(struct process *p, struct thread *t, const u64 *f) {
  char b[512], *q = put(b, (u32)f[7] & LOG_EPISODE_SNAPSHOT ? "cairn: snapshot " : "cairn: spike ");
  const struct module *m = __cairn_module_of(p, f[10]);
  q = put(put_ms(put(put_ms(q, f[3]), ".."), f[4]), " ms in ");
  q = m ? put_hex(put(q, "0x"), f[10] - m->bias, 8) : put_hex(put(q, "0x"), f[10], 12);
  if (m) q = put_number(put(q, " of module "), m->number);
  q = put_number(put(q, ", thread "), (u64)(u32)t->owner);
  if (f[6]) q = put_number(put(q, ", frame "), f[6]);
  q = put(put_number(put(q, ", episode "), f[1]), "\n");
  __cairn_print(b, (u64)(q - b));
}

/* ---- records ---- */

/* name_of writes the name of a thread, as the program or else the kernel has it, and returns its
 * length, up to 64 bytes. The buffer needs more room, for the request. */
static u64 name_of(struct thread *t, char *name) {
  char *path = name + 128;
  i64 n = (i64)load(&t->name_len);
  if (n) {
    copy(name, t->name, (u64)n);
    return (u64)n;
  }
  put(put_task(path, t->owner), "/comm");
  i64 fd = open_file(path, O_RDONLY | O_CLOEXEC, 0);
  n = fd < 0 ? 0 : sys3(SYS_read, fd, name, 64);
  if (fd >= 0) sys1(SYS_close, fd);
  if (n > 0 && name[n - 1] == '\n') n--;
  return n < 0 ? 0 : (u64)n;
}

/* put_thread writes the name of a record's thread, once. */
static void put_thread(struct process *p, struct thread *t, u64 time) {
  char *name = (char *)p->log.scratch + 12288;
  i64 n = (i64)name_of(t, name);
  t->named = 1;
  u8 *r = __cairn_file_record(p, LOG_TYPE_THREAD, (u32)(LOG_THREAD_SIZE + up8((u64)n)), (u32)t->owner, time);
  if (!r) return;
  ((u64 *)r)[1] = time;
  ((u16 *)r)[8] = (u16)n;
  copy(r + LOG_THREAD_SIZE, name, (u64)n);
}

/* passes_limit applies the rate limit: p->set.rate episodes per second, and beyond that only those whose
 * count is a power of two; so that calls of stacks that are suspended for long do not take the place of
 * others, they are counted apart. */
enum { OFTEN = 3 }; /* a count that is not a power of two */
static int passes_limit(struct process *p, u64 time, u64 seen, int suspended) {
  if (time / SECOND != p->limit.second) p->limit.second = time / SECOND, p->limit.in_second = p->limit.suspended_in_second = 0;
  u64 *in = suspended ? &p->limit.suspended_in_second : &p->limit.in_second;
  if (*in < p->set.rate || !(seen & (seen - 1))) {
    ++*in;
    return 1;
  }
  p->limit.count++;
  return 0;
}

/* A call that crossed its threshold is a parent of each spike in it. Readers need all parents,
 * including those of spikes that were only counted, to see how much of a parent's time they
 * explain. Each is written once. */
static int wanted_parent(struct process *p, struct thread *t, const u64 *f) {
  enum { LONG = SECOND / 16 };
  if (p->limit.left_out[f[1] % LIMITED] != f[1]) return 1;
  if (f[2] == t->parent_at && (u32)(f[7] >> 32) == t->parent_sp) return 0;
  if (f[2] / SECOND != p->limit.parent_second) p->limit.parent_second = f[2] / SECOND, p->limit.in_parent_second = 0;
  return p->limit.in_parent_second++ < 10 * p->set.rate || f[3] >= LONG;
}

/* __cairn_list_again lists the modules for addresses that are in none: at once, then less often if that
 * finds nothing, as with code that is generated at run time. It reports whether there are new ones. */
int __cairn_list_again(struct process *p) {
  u32 before = p->modules.numbers;
  if (less(__cairn_now(p), p->modules.at) < p->modules.pause) return 0;
  p->modules.unknown = 0;
  __cairn_modules(p);
  p->modules.pause = p->modules.numbers != before ? 0 : least(SECOND, most(10 * MS, 2 * p->modules.pause));
  return p->modules.numbers != before;
}

/* write_queued writes one record of a queue. */
static void write_queued(struct process *p, struct thread *t, u8 *q) {
  u32 type = ((u16 *)q)[0], size = ((u16 *)q)[1];
  u64 *f = (u64 *)q;
  u64 time = f[2];
  if (type == LOG_TYPE_FRAMES) {
    __cairn_frame_ended(p, f);
    return;
  }
  if (type == LOG_TYPE_EPISODE) {
    const struct entry *x = (const struct entry *)(q + LOG_EPISODE_SIZE);
    int spike = !((u32)f[7] & LOG_EPISODE_SNAPSHOT), worst = 0, suspended = (x->flags & LOG_ENTRY_SUSPENDED) != 0;
    u64 seen = spike ? count_seen(p, f[1], x->pc, stack_hash(x, (u32)f[8] & 0xffff) ^ (u64)suspended, f[3], time, &worst) : OFTEN;
    if (!passes_limit(p, time, worst ? 1 : seen, suspended)) {
      p->limit.left_out[f[1] % LIMITED] = f[1];
      if (!spike) p->limit.count--; /* the limit is for spikes */
      return;
    }
    for (u32 i = 0, n = (u32)f[8] & 0xffff; i < n; i++) p->modules.unknown |= x[i].pc && !__cairn_known(p, x[i].pc);
    if (p->modules.unknown) __cairn_list_again(p);
    f[9] = __cairn_late_between(p, time - least(time, f[4]), time);
    if (p->set.to_stderr && !suspended) print_spike(p, t, f);
    if (spike && !suspended && load(&p->spikes)) {
      char *name = (char *)p->log.scratch + 12288;
      __cairn_callback_spike(p, f, t->owner, name, name_of(t, name));
    }
  }
  if (type == LOG_TYPE_USAGE && p->limit.left_out[f[1] % LIMITED] == f[1] && (f[2] != t->parent_at || (u32)f[8] != t->parent_sp)) return;
  if ((type == LOG_TYPE_WAIT || type == LOG_TYPE_HOLDER || type == LOG_TYPE_SUSPENDED) && p->limit.left_out[f[1] % LIMITED] == f[1] && (f[2] != t->parent_at || (u32)f[3] != t->parent_sp)) return;
  if (type == LOG_TYPE_TEXT && f[1] && p->limit.left_out[f[1] % LIMITED] == f[1]) return;
  if (type == LOG_TYPE_PARENT) {
    if (!wanted_parent(p, t, f)) return;
    t->parent_at = f[2], t->parent_sp = (u32)(f[7] >> 32);
  }
  if (type == LOG_TYPE_TEXT) __cairn_callback_text(p, f[1], (const char *)q + LOG_TEXT_SIZE, f[3] >> 16 & 0xffff);
  if (!load(&t->named)) put_thread(p, t, time);
  __cairn_file_copy(p, q, size, time);
}

static void put_stall(struct process *p, u64 from, u64 to, u64 waited) {
  u64 *r = __cairn_file_record(p, LOG_TYPE_STALL, LOG_STALL_SIZE, 0, to);
  if (r) r[1] = from, r[2] = to, r[3] = waited;
}

/* put_stalls writes the stalls in the ring up to one that is not complete, and those that are in none.
 * If too many follow it, its thread has been killed. */
static void put_stalls(struct process *p) {
  struct member *m = p->time.member;
  if (p->log.file.fd < 0) return;
  for (u64 n = m->stalls_read, end = load(&m->stalls); n < end; n++) {
    u64 *s = m->stall[n % STALLS], to = load(&s[1]);
    if (!to && end - n < STALLS) break;
    if (to) put_stall(p, s[0], to, s[2]);
    store(&s[1], 0);
    store(&m->stalls_read, n + 1);
  }
  u64 lost = __atomic_exchange_n(&m->lost_from, 0, __ATOMIC_ACQ_REL);
  if (lost) put_stall(p, lost, load(&m->lost_to), 0);
}

/* put_freezes writes the times in which the process stood still. */
static void put_freezes(struct process *p) {
  if (p->log.file.fd < 0) return;
  for (u32 n = load(&p->log.freezes); p->log.freezes_read != n; p->log.freezes_read++) {
    const u64 *f = p->log.freeze[p->log.freezes_read % FREEZES];
    u64 *r = __cairn_file_record(p, LOG_TYPE_FREEZE, LOG_FREEZE_SIZE, 0, f[1]);
    if (r) copy(r + 1, f, 4 * sizeof *f);
  }
}

static void put_setting(struct process *p, u64 time, const u64 *of) {
  u64 *r = __cairn_file_record(p, LOG_TYPE_SETTING, LOG_SETTING_SIZE, of[3] ? LOG_SETTING_OFF : 0, time);
  if (r) r[1] = time, r[2] = of[0], r[3] = of[1], r[4] = of[2];
}

/* put_settings writes the settings that changed since its last call, preceded by the earlier ones
 * if those are not in the log. */
static void put_settings(struct process *p) {
  enum { MOST = 1000 }; /* limit for a program that changes them endlessly */
  u64 now[4] = {load(&p->set.threshold), load(&p->set.period), load(&p->set.rate), load(&p->set.quiet)}, *was = p->log.setting;
  if (p->log.file.fd < 0) return;
  int same = now[0] == was[0] && now[1] == was[1] && now[2] == was[2] && now[3] == was[3];
  if (!same && was[0] && p->log.settings < MOST) {
    if (!p->log.settings++) put_setting(p, p->forked ? p->fork_time : p->started.mono, was);
    put_setting(p, __cairn_now(p), now);
  }
  copy(was, now, sizeof now);
}

/* drain empties all queues. */
static void drain(struct process *p) {
  int any = p->log.file.fd >= 0 && p->time.member->stalls != p->time.member->stalls_read; /* they alone do not justify a log */
  for (struct thread *t = load(&p->threads); t; t = t->next) any |= !__cairn_queue_empty(t);
  if (any) __cairn_begin(p);
  if (any && less(p->time.clock->last_tick, p->modules.at) > 100 * MS) __cairn_modules(p);
  for (struct thread *t = load(&p->threads); t; t = t->next) __cairn_queue_drain(p, t, write_queued);
  put_stalls(p);
  put_freezes(p);
}

/* free_ended frees the states of threads that have ended. */
static void free_ended(struct process *p) {
  for (struct thread *t = load(&p->threads); t; t = t->next) {
    i32 tid = load(&t->owner);
    if (tid && sys3(SYS_tgkill, p->pid, tid, 0) == -ESRCH && __cairn_queue_empty(t))
      store(&t->owner, 0);
  }
}

/* flush waits, for two seconds at most, until the log has all records found so far. */
void __cairn_flush(struct process *p) {
  u32 want = add(&p->log.flush_want, 1) + 1;
  u64 end = __cairn_now(p) + 2ul * SECOND;
  uword ts[2] = {0, 10 * MS};
  __cairn_wake(p);
  while ((i32)(load(&p->log.flush_done) - want) < 0 && __cairn_now(p) < end)
    sys4(SYS_futex, &p->log.flush_done, FUTEX_WAIT, load(&p->log.flush_done), ts);
}

/* time_to_write returns how long to wait for the writer at the end: not at all if it has written all,
 * and not long if the rest is in queues in the log. */
static u64 time_to_write(struct process *p) {
  const struct member *m = p->time.member;
  u64 read = load(&m->stalls_read);
  int any = 0, all = p->stacks.trees || p->set.to_stderr || p->spikes || (read != load(&m->stalls) && load(&m->stall[read % STALLS][1]));
  for (struct thread *t = load(&p->threads); t; t = t->next) {
    any |= !__cairn_queue_empty(t);
    all |= load(&t->head) != load(&t->read);
  }
  any |= __cairn_open_any(p); /* threads may have ended, or left them */
  return all || !load(&p->log.file.begun) ? 2ul * SECOND : any ? 100 * MS : 0;
}

/* end finishes the log at a regular end of the program, without a system call: a seccomp filter may
 * forbid all by then. The clock's thread sees that something is pending. */
void __cairn_end(struct process *p) {
  u32 want = add(&p->log.flush_want, 1) + 1;
  u64 timeout = p->log.file.failed ? 0 : time_to_write(p), end = __cairn_now(p) + timeout;
  while (timeout && (i32)(load(&p->log.flush_done) - want) < 0) {
    store(word(p, PENDING), 1);
    if (__cairn_now(p) > end) break;
    for (u32 i = 0; i < 100; i++) pause_briefly();
  }
  store(&p->finished, 1);
  if (load(&p->log.file.first) && !p->log.file.failed) __cairn_trailer(p, 0);
}

HIDDEN int __cairn_leaving(void); /* see leader.c */

/* Releases the resources of a library that leaves the process, see attach.c. */
FALLBACK void __cairn_take_along(struct process *p) { (void)p; }

/* leave ends the threads of the runtime when the log is complete. */
static void leave(struct process *p) {
  __cairn_take_along(p);
  store(&p->deserted, 1);
  __cairn_control_end(p);
  __cairn_wake_clock(p);
  __cairn_family_leave(p);
  __cairn_callback_desert(p);
  __cairn_follow(p->pid);
}

/* rest waits until there is something to do, or for so long. A program that ends waits for the log's
 * thread without a system call, see end. The clock's thread notices that within a tick, but ticks come
 * once a second where only calls are counted, and in a process that does not lead the clock. So that
 * no program uses a processor for long only to end, this thread looks itself. */
static void rest(struct process *p, u32 wake, u64 sleep) {
  u64 part = p->stacks.write ? least(sleep, 10 * MS) : sleep;
  for (u64 slept = 0; slept < sleep && load(&p->log.wake) == wake; slept += part) {
    uword ts[2] = {part / SECOND, part % SECOND};
    __cairn_rest(p, sys4(SYS_futex, &p->log.wake, FUTEX_WAIT, wake, ts), part);
    if (load(word(p, PENDING))) {
      store(word(p, PENDING), 0);
      return;
    }
  }
}

void __cairn_log_thread(struct process *p) {
  int rated = 0;
  u64 freed_at = 0, opened_at = __cairn_now(p) + (p->forked ? 100 * MS : 0);
  sys2(SYS_prctl, 15 /* PR_SET_NAME */, "cairn-log");
  p->log.left_table = p->log.own_files = 0;
  store(&p->log.tid, (u32)sys0(SYS_gettid));
  for (;;) {
    u32 wake = load(&p->log.wake), want = load(&p->log.flush_want);
    u64 now = __cairn_now(p);
    int deserted = __cairn_leaving() || __cairn_deserted(p->pid);
    /* A child that runs another program at once has no log. */
    if (now >= opened_at || want != p->log.flush_done) __cairn_begin(p);
    __cairn_leave_table(p);
    __cairn_file_look(p);
    drain(p);
    __cairn_control(p);
    __cairn_signal_taken(p);
    put_settings(p);
    if (want != p->log.flush_done && p->modules.unknown && p->modules.at) __cairn_modules(p);
    __cairn_modules_join(p);
    __cairn_modules_leave(p);
    if (p->stacks.trees) p->stacks.write(p, want != p->log.flush_done || deserted);
    __cairn_open_look(p, load(&p->ended) || deserted);
    if (now - freed_at > 100 * MS) free_ended(p), freed_at = now;
    if (!rated && now - p->started.mono > 100 * MS) __cairn_file_header(p), rated = 1; /* which was written before the TSC's rate was known */
    int ended = deserted || (load(&p->ended) && want != p->log.flush_done);
    int told_later = __cairn_callback_ready(p, ended);
    __cairn_trailer(p, ended);
    if (want != p->log.flush_done) {
      store(&p->log.flush_done, want);
      sys3(SYS_futex, &p->log.flush_done, FUTEX_WAKE, NEVER);
    }
    if (deserted) leave(p);
    u64 ts[2] = {1, 0};
    if (p->stacks.trees && p->stacks.pause < SECOND) ts[0] = 0, ts[1] = most(p->stacks.pause, MS);
    if (p->log.file.fd < 0 && !p->log.file.failed) ts[0] = 0, ts[1] = 100 * MS;
    if (told_later) ts[0] = 0, ts[1] = 20 * MS;
    store(&p->log.switches, __cairn_switches(1) + 1); /* including the one to come */
    rest(p, wake, __cairn_open_pause(p, ts[0] * SECOND + ts[1]));
  }
}
