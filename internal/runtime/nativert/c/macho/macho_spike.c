/* Mode spike: calls that take too long, as c/timed/timed_slow.c finds them. Stacks are walked by frame pointers, which code for
 * Apple's systems keeps. */

/* Where a routine was called: the stack pointer at the entry of the function, where that returns to, and the frame of its caller. */
struct context {
  u64 pc, sp, next, fp;
};

/* What thread_info tells of a thread. */
struct about {
  u64 user, system; /* ns */
  i32 usage, policy, run_state, flags, sleeps, priorities[3];
  char name[64];
};

typedef void (*watched_hook)(u32 event, u64 thread, void *, u64);
extern u32 mach_task_self_ WEAK;
extern int thread_suspend(u32) WEAK, thread_resume(u32) WEAK, thread_get_state(u32, i32, u32 *, u32 *) WEAK, thread_info(u32, u32, i32 *, u32 *) WEAK;
extern int vm_read_overwrite(u32, u64, u64, u64, u64 *) WEAK;
extern watched_hook pthread_introspection_hook_install(watched_hook) WEAK;

struct mach {
  int (*suspend)(u32), (*resume)(u32), (*state)(u32, i32, u32 *, u32 *), (*info)(u32, u32, i32 *, u32 *), (*read)(u32, u64, u64, u64, u64 *);
};

/* port: of the thread; low, high: of its stack; state: 0 if it has none. */
#define WATCHED_OWN u32 port, ended; u64 low, high; struct thread *state;
/* rests: the thread of the last time waited; call: that the stopped thread is in. */
#define WATCH_OWN struct mach mach; struct about about; u32 rests; i64 call; u64 state[34];
#include "watch.h"

#include "mark_types.h"
#include "region.h"
#include "flight.h"

struct thread {
  u32 tid, busy, named, name_length;
  u32 notes, inactive, paused, pauses;
  u64 parents, parents_sp, parents_at; /* threshold for the frames above */
  u64 paused_before;                   /* sum of the pauses that are no longer in the ring */
  u64 busy_since;
  struct ring *ring; /* of the flight recorder */
  struct annotation note[NOTES];
  struct pause pause[PAUSES]; /* ring of pauses */
  u64 calls, reported;
  u32 opened;
  u64 low, high;                  /* of its stack */
  struct slow_call call[CALLS];   /* ring */
  struct open_episode open[OPEN]; /* ring of opened */
  u32 regions, region_number; /* number: the latest */
  struct region region[REGIONS];
  struct context context;
  struct stack stack;  /* of the call that is judged */
  struct stack raised; /* of what may leave calls */
  char name[MAX_NAME];
  u64 record[(LOG_EPISODE_SIZE + LOG_MAX_ENTRIES * LOG_ENTRY_SIZE) / 8];
};

/* ---- stacks ---- */

/* stamps reports whether a function begins with code that reads the window's address, which is at a place in its image. */
static int stamps(const struct process *p, const struct module *m, u64 f) {
  u64 at;
#if __aarch64__
  enum { PUSH = 0xa9bf3fee }; /* stp x14, x15, [sp, -16]!: of the flight recorder */
  if (*(const u32 *)f == PUSH) f += 4;
  u32 page = ((const u32 *)f)[0], word = ((const u32 *)f)[1];
  if ((page & 0x9f00001f) != 0x90000010 || (word & 0xffc003ff) != 0xf9400210) return 0;
  at = (f & -4096ul) + (u64)((i64)((u64)(page >> 5 & 0x7ffff) << 45 | (u64)(page >> 29 & 3) << 43) >> 31) + (word >> 10 & 0xfff) * 8;
#else
  const u8 *code = (const u8 *)f;
  if (*(const u32 *)code == 0x24448948) code += 5; /* movq %rax, -16(%rsp) */
  if ((code[0] != 0x4c || code[2] != 0x15) && (code[0] != 0x48 || code[2] != 5)) return 0;
  if (code[1] != 0x8b) return 0;
  at = (u64)code + 7 + (u64)(i64)*(const i32 *)(code + 3);
#endif
  return at >= m->start && at + 8 <= m->end && *(u8 *const *)at == p->base;
}

/* image_at returns the image that an address is in, 0 if none that is known. */
static const struct module *image_at(const struct process *p, u64 pc) {
  for (const struct module *m = p->module; m < p->module + p->modules; m++)
    if (load(&m->image) && pc >= m->start && pc < m->end) return m;
  return 0;
}

/* start_of returns the start of the function that an address is in, 0 if it is not known. */
static u64 start_of(const struct process *p, u64 pc) {
  const struct module *m = image_at(p, pc);
  return m ? function_of(m, pc) : 0;
}

/* is_stamped reports whether the function that an address is in stamps its calls. */
static int is_stamped(const struct process *p, u64 pc) {
  const struct module *m = image_at(p, pc);
  u64 f = m ? function_of(m, pc) : 0;
  return f && stamps(p, m, f);
}

/* set_times sets the times of an entry as of e. */
static void set_times(struct stack *s, u32 i, u64 e) {
  struct entry *x = &s->entry[i];
  if (x->flags & LOG_ENTRY_NO_STAMP) return;
  x->lo = less(e, s->t1[i]), x->hi = less(e, s->t0[i]);
}

/* A frame's pointer is so far below the stack pointer of the entry. */
#if __aarch64__
enum { FRAME = 16, FRAME_STEP = 16 };
#else
enum { FRAME = 8, FRAME_STEP = 8 };
#endif
#define ADDRESS ((1ul << 47) - 1) /* without a signature */

/* A part of a stack that may be read; or a copy of it, which is delta behind it. */
struct span {
  u64 low, high, delta;
  const struct watch *watch; /* 0: nothing else is to be read */
};

static u64 read_memory(const struct watch *k, u64 at, void *to, u64 n);

/* frame_at reads a frame: that of the caller, and the return address. Frames on other stacks may be anywhere. */
static int frame_at(const struct span *x, u64 fp, u64 *f) {
  if (fp < x->low || fp + 16 > x->high || fp + 16 < fp) return read_memory(x->watch, fp, f, 16) != 0;
  f[0] = ((u64 *)(fp + x->delta))[0], f[1] = ((u64 *)(fp + x->delta))[1];
  return 1;
}

static void walk_frames(struct process *p, const struct context *c, u64 e, struct stack *s, const struct span *x) {
  u64 pc = c->pc, sp = c->sp, next = c->next, fp = c->fp, f[2];
  s->n = s->found = s->cut = 0;
  while (pc) {
    s->found++;
    if (s->n == CHAIN) {
      s->cut = 1;
      return;
    }
    u32 i = s->n++;
    s->sp[i] = sp;
    s->entry[i] = (struct entry){pc, 0, 0, LOG_ENTRY_NO_STAMP, (u32)sp};
    if (is_stamped(p, pc - 1) && entered(p, sp, e, &s->t0[i], &s->t1[i])) s->entry[i].flags = 0, set_times(s, i, e);
    if (fp < sp || fp % FRAME_STEP || !frame_at(x, fp, f)) return;
    pc = next & ADDRESS, sp = fp + FRAME, next = f[1], fp = f[0];
  }
}

/* walk fills s with the stack of a context of this thread. */
static void walk(struct process *p, const struct context *c, u64 e, struct stack *s) {
  struct thread *t = (struct thread *)own_slot(8 * p->key);
  struct span own = {c->sp, t->high, 0, p->watch};
  if (c->sp < t->low || c->sp >= t->high) own.low = own.high = 0; /* another stack */
  walk_frames(p, c, e, s, &own);
}

static void walk_copy(struct process *p, const struct context *c, u64 e, struct stack *s, u64 low, u64 high, u64 delta) {
  walk_frames(p, c, e, s, &(struct span){low, high, delta, 0});
}

/* ---- threads ---- */

/* own_stack finds the stack that this thread began on. */
static void own_stack(u64 *low, u64 *high) {
  if (!pthread_get_stackaddr_np || !pthread_get_stacksize_np) return;
  *high = pthread_get_stackaddr_np(pthread_self()), *low = *high - pthread_get_stacksize_np(pthread_self());
}

#include "macho_watch.c"

/* thread_of returns the state of this thread, 0 if there is no memory. */
static struct thread *thread_of(struct process *p) {
  struct thread *t = (struct thread *)own_slot(8 * p->key);
  if (t) return t;
  t = mmap(0, sizeof *t, PROT_RW, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (t == (struct thread *)-1) return 0;
  t->tid = thread_number();
  own_stack(&t->low, &t->high);
  pthread_setspecific(p->key, t);
  add(&p->threads, 1);
  struct watched *w = watch_thread(p);
  if (w) store(&w->state, t);
  return t;
}

/* leave_ring gives the ring of this thread, which ends, to others. What it calls yet begins another one. */
static void leave_ring(struct process *p, struct thread *t) {
  p->flight.seal(p, t->ring);
  set_slot(p->flight.local, 0), set_slot(p->flight.local + 8, 0);
  take(p);
  t->ring->next = p->flight.free, p->flight.free = t->ring;
  give(p);
}

/* thread_ends frees the state of a thread, which the clock's thread may be reading: without its lock it is left. */
static void thread_ends(void *of) {
  enum { TRIES = 200 };
  struct thread *t = of;
  struct watch *k = shared.process ? shared.process->watch : 0;
  struct watched *w = watched_of(k, t->tid);
  if (w && !lock_watch(k, TRIES)) return;
  if (w) w->state = 0, store(&k->lock, 0);
  if (t->ring) leave_ring(shared.process, t);
  munmap(t, sizeof *t);
}

static void start_again(struct process *p);

static u32 stack_of(struct thread *t);
static u64 stack_base(void);
static void away(struct process *p, u64 base, u64 t0, u64 t1, u64 e, u64 *lo, u64 *hi);

/* ---- the log ---- */

static void put_record(struct process *p, u32 type, u32 tid, const u64 *f, u32 size, u64 time) {
  u8 *r = room(p, size, tid);
  if (!r) return;
  copy(r + 8, f + 1, size - 8);
  store((u16 *)r, (u16)type);
}

static void write_record(struct process *p, u32 type, u32 tid, const u64 *f, u32 size, u64 time) {
  take(p);
  if (!p->failed && begin_log(p)) put_record(p, type, tid, f, size, time);
  give(p);
}

/* write_thread writes the name of a thread, once. */
static void write_thread(struct process *p, struct thread *t, u64 time) {
  u64 record[(LOG_THREAD_SIZE + MAX_NAME) / 8];
  for (u32 i = 0; i < sizeof record / 8; i++) ((volatile u64 *)record)[i] = 0;
  t->named = 1;
  if (pthread_getname_np && !t->name_length) {
    pthread_getname_np(pthread_self(), t->name, sizeof t->name);
    t->name_length = (u32)length(t->name);
  }
  record[1] = time, record[2] = t->name_length;
  copy(record + 3, t->name, record[2]);
  put_record(p, LOG_TYPE_THREAD, t->tid, record, LOG_THREAD_SIZE + (((u32)record[2] + 7) & ~7u), time);
}

static void note_episode(struct process *p, const struct thread *t, const u64 *f);

/* write_episode writes an episode unless there were too many in this second, and reports whether it did. */
static int write_episode(struct process *p, struct thread *t, const u64 *f, u32 size) {
  u64 time = f[2];
  take(p);
  if (time / SECOND != p->second) p->second = time / SECOND, p->in_second = 0;
  int written = !p->failed && p->in_second < p->rate && begin_log(p);
  if (written) {
    p->in_second++;
    if (!t->named) write_thread(p, t, time);
    put_record(p, LOG_TYPE_EPISODE, t->tid, f, size, time);
    note_episode(p, t, f);
    write_status(p);
  } else {
    p->left_out++;
  }
  give(p);
  if (written && p->flight.recorder && !(f[7] & LOG_EPISODE_SNAPSHOT)) p->flight.keep_window(p, t, f[1], f[3], f[4], time);
  return written;
}

/* ---- what judge.h and marks.h have from others ---- */

#include "macho_mark.c"
#include "macho_switch.c"
#ifdef CAIRN_FLIGHT
#include "macho_flight.c"
#else
static void fork_flight(struct process *p, struct thread *t) {}
#endif

/* ---- the process ---- */

static int start_mode(struct process *p) {
  if (!make_window(p)) return 0;
  set_low(p);
  start_watch(p);
  return 1;
}

static void write_mode(struct process *p, int final) {
  enum { LOOK = 100 };
  if (final) open_all(p), tell_last(p);
  else tell(p, 0), watch_tick(p, now(p));
  if (!final && p->ticks % LOOK) return;
  take(p);
  if (!p->failed && begin_log(p)) write_status(p);
  give(p);
}

/* module_goes waits while a stack is walked that may have code of the image, but not for long. */
static void module_goes(struct process *p, struct module *m) {
  enum { TRIES = 50 };
  channels_go(p, m), told_goes(p, m);
  if (!p->watch || !lock_watch(p->watch, TRIES)) return;
  names_go(p, m);
  store(&p->watch->lock, 0);
}

/* fork_mode makes the child begin a log of its own. All exits seem slow to it, until one has started its clock. What was called before that
 * may have been called at any time since the last tick of the parent. */
static void fork_mode(struct process *p) {
  struct thread *t = (struct thread *)own_slot(8 * p->key);
  if (t) t->tid = thread_number(), t->named = 0, t->calls = t->opened = t->raised.n = 0;
  p->episodes = p->borderline = p->slow = p->dropped = p->left_out = p->late = p->blind = 0;
  p->ended = 0;
  fork_watch(p, t);
  fork_marks(p), fork_flight(p, t);
  store(word(p, LOW), (u32)-1);
}

static void start_again(struct process *p) {
  start_clock(p);
  tick(p);
  set_low(p);
}

/* ---- what inserted code calls ---- */

/* What is below the stack pointer of a routine's call: where that returns to, and the frame pointer. */
#if __aarch64__
#define SITE(sp) ((u64 *)(sp))[-3]
#define FP(sp) ((u64 *)(sp))[-4]
#define CALLER(sp) ((u64 *)(sp))[-1] /* at an exit, in front of which the return address is saved */
#else
#define SITE(sp) ((u64 *)(sp))[-1]
#define FP(sp) ((u64 *)(sp))[-2]
#define CALLER(sp) *(u64 *)(sp)
#endif

/* frame_of returns the context of a call in the middle of a function, which was entered with the stack pointer entry; without callers, if it
 * has no frame pointer. */
static struct context frame_of(u64 sp, u64 entry) {
  u64 fp = FP(sp);
  if (fp + FRAME != entry) return (struct context){SITE(sp), entry, 0, 0};
  return (struct context){SITE(sp), entry, ((u64 *)fp)[1], *(u64 *)fp};
}

static void judge_exit(struct process *p, u64 sp) {
  struct slow_call c = {.site = SITE(sp), .sp = sp, .e = now(p)};
  struct thread *t;
  if (p->flight.recorder) p->flight.left(p, sp);
  if (!p->has_clock && p->ready) start_again(p);
  if (!entered(p, sp, c.e, &c.t0, &c.t1) || c.e - c.t0 < p->low * 1000ul) return;
  if (!(t = begin(p))) {
    add(&p->dropped, c.e - c.t0 >= p->threshold);
    return;
  }
  t->context = (struct context){SITE(sp), sp, CALLER(sp), FP(sp)};
  store(slot(p, sp), 0); /* the stamps that remain are of calls that go on, or were short */
  evaluate(p, t, c, 0, 0);
  end(t);
}

static u64 of_slow(u64 r, u8 *vectors, u64 sp) {
  u64 saved = begin_system(vectors);
  judge_exit(shared.process, sp);
  end_system(saved, vectors);
  return 0;
}

/* of_arrived: control is back in the call that was entered with the stack pointer r. */
static u64 of_arrived(u64 r, u8 *vectors, u64 sp) {
  struct process *p = shared.process;
  struct thread *t = p ? (struct thread *)own_slot(8 * p->key) : 0;
  if (!t || !t->raised.n || !(t = begin(p))) return 0;
  u64 saved = begin_system(vectors);
  left(p, t, r);
  end_system(saved, vectors);
  end(t);
  return 0;
}

/* of_raises: what is called next may leave calls. */
static u64 of_raises(u64 r, u8 *vectors, u64 sp) {
  struct process *p = shared.process;
  struct thread *t;
  if (!p || p->off) return 0;
  u64 saved = begin_system(vectors);
  if ((t = begin(p))) {
    t->context = frame_of(sp, r);
    walk(p, &t->context, now(p), &t->raised);
    end(t);
  }
  end_system(saved, vectors);
  return 0;
}

/* of_departs: what is called next ends the thread. */
static u64 of_departs(u64 r, u8 *vectors, u64 sp) {
  of_raises(r, vectors, sp);
  return of_arrived(~0ul, vectors, sp);
}

ROUTINE(slow)
ROUTINE(arrived)
ROUTINE(raises)
ROUTINE(departs)
