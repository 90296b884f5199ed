/* Calls that an exception or a longjmp has left. No exit evaluates them. But where it arrives, their
 * frames are still below the stack pointer, with the function that raised it innermost: unwinding
 * itself ran further down. So the stack is walked from there, as the unwinder did, and each call is
 * evaluated as if it had ended now. That is when it was left, except for the time that unwinding
 * took.
 *
 * Frames of earlier exceptions may be there as well. A walk is right if it arrives in the function
 * that control arrived in, and if callees were entered after their callers. Of several, that with
 * the latest entry is the right one; of those with the same, that with the most calls. */

#include "walk.h"
#include "raisers.h"

enum { ARRIVAL_COPY = 9 * 4096, ABOVE = 4 * 4096, CHAIN = 256, REACH = 1024, NEAR = 1 << 20, CONTEXT = 4096, TRIES = 200 };
enum { COPY_STACK = 16 * 4096 };

u8 *__cairn_arrival_base = (u8 *)(1ul << 63); /* as __cairn_base */
u32 __cairn_arrival_mask = ~0u, __cairn_arrival_exact;
u8 *__cairn_arrival_area; /* what the process has once for this; 0: nothing */
HIDDEN void __cairn_depart(u64 site, u64 sp, u64 frame);

/* chain is a stack from the innermost call that was left; sp has whole stack pointers. */
struct chain {
  u32 n, left; /* left: index of the function that control arrived in */
  u32 timed;   /* calls with a stamp that were left */
  u64 latest;  /* when the innermost call with a stamp was entered */
  struct entry entry[CHAIN];
  u64 sp[CHAIN], t0[CHAIN], t1[CHAIN];
};

/* The memory for one arrival. It is guarded by the lock of the caller, taken, which knows the offsets. */
struct area {
  u32 taken;
  u64 saved[7];
  u64 local[2 * 9] __attribute__((aligned(64))), remote[2 * 9] __attribute__((aligned(64)));
  u8 copy[ARRIVAL_COPY + ABOVE] __attribute__((aligned(4096)));
  u8 stack[COPY_STACK]; /* of AArch64 */
  struct chain found[2];
  struct walker walker;
};
#if __x86_64__
_Static_assert(__builtin_offsetof(struct area, saved) == 8 && __builtin_offsetof(struct area, local) == 64 &&
                   __builtin_offsetof(struct area, remote) == 256 && __builtin_offsetof(struct area, copy) == 4096, "as timed_arrive_x86_64.S has it");
#else
_Static_assert(__builtin_offsetof(struct area, saved) == 8 && __builtin_offsetof(struct area, stack) + COPY_STACK == 122880, "as timed_arrive_aarch64.S has it");
#endif
#define memory ((struct area *)__cairn_arrival_area)
#define own_walker (memory->walker)

/* arrivals_start gives this module the memory, which the first module makes. */
void __cairn_arrivals_start(struct process *p) {
  raisers_start(p);
  u8 *m = load(&p->arrivals), *none = 0;
  u64 size = (sizeof(struct area) + 4095) & ~4095ul;
  if (!m) {
    m = (u8 *)map(0, size, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (failed(m)) return;
    if (!__atomic_compare_exchange_n(&p->arrivals, &none, m, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      unmap(m, size);
      m = none;
    }
  }
  __cairn_arrival_area = m;
}

/* arrivals_forked makes it usable in a child: another thread of the parent may have had it. */
void __cairn_arrivals_forked(struct process *p) {
  if (p->arrivals) store((u32 *)p->arrivals, 0);
}

/* set_times sets the times of a frame that a stamp is of. */
static void set_times(struct process *p, struct entry *x, u64 t0, u64 t1, u64 e) {
  x->flags &= ~LOG_ENTRY_NO_STAMP;
  x->lo = e - t1, x->hi = e - t0;
  if (t0 < p->fork_time) x->flags |= LOG_ENTRY_BEFORE_FORK;
}

/* judge evaluates the first n calls of a chain as ended at e. */
static void judge(struct process *p, struct thread *t, const struct chain *c, u32 n, u64 e) {
  u64 low = p->kind == KIND_EXACT ? p->set.low : p->set.low * 1000ul;
  for (u32 i = 0; i < n; i++) {
    const struct entry *x = &c->entry[i];
    if (x->flags & LOG_ENTRY_NO_STAMP) continue;
    t->left = (struct left){x, c->n - i};
    if (x->hi > low) __cairn_left(p, t, x->pc, c->sp[i], c->t0[i], c->t1[i], e);
    __cairn_unstamp(p, c->sp[i]);
  }
  t->left = (struct left){0, 0};
}

/* begin returns the state of a thread for an evaluation at e, 0 if it is in one. */
static struct thread *begin(struct process *p, u64 e) {
  struct thread *t = __cairn_thread(p);
  if (!t || (t->busy && e - t->busy_since < SECOND)) return 0;
  t->busy_since = e;
  t->busy = 1;
  barrier();
  return t;
}

static void finish(struct thread *t) {
  barrier();
  t->busy = 0;
}

/* ---- the end of a thread ---- */

/* take waits for the memory that threads share. */
static int take(void) {
  enum { TRIES_TO_TAKE = 1000 };
  for (u32 i = 0; i < TRIES_TO_TAKE; i++) {
    if (!__atomic_exchange_n(&memory->taken, 1, __ATOMIC_ACQUIRE)) return 1;
    sys0(SYS_sched_yield);
  }
  return 0;
}

/* walk_out walks the stack of a thread that ends, of which all calls are left. */
static void walk_out(struct process *p, struct chain *c, u64 e) {
  struct walker *w = &own_walker;
  c->n = 0;
  for (int more = 1; more && c->n < CHAIN; c->n++) {
    struct entry *x = &c->entry[c->n];
    u64 t0 = 0, t1 = 0;
    *x = (struct entry){w->pc, 0, 0, LOG_ENTRY_NO_STAMP | (w->exact ? LOG_ENTRY_EXACT : 0u), 0};
    more = __cairn_walk_step(w);
    x->sp = (u32)w->entry;
    if (w->entry && __cairn_walk_stamped(w) && __cairn_entered(p, w->entry, e, &t0, &t1)) {
      set_times(p, x, t0, t1, e);
      x->flags |= LOG_ENTRY_LEFT;
    }
    c->sp[c->n] = w->entry, c->t0[c->n] = t0, c->t1[c->n] = t1;
  }
}

/* depart evaluates all calls of a thread that is about to end inside them, by pthread_exit. */
void __cairn_depart(u64 site, u64 sp, u64 frame) {
  struct process *p = __cairn_state;
  if (!p || !__cairn_arrival_area || !load(word(p, ALIVE)) || (p->check_pid && (i32)sys0(SYS_getpid) != p->pid)) return;
  u64 e = __cairn_now(p);
  struct thread *t = begin(p, e);
  if (!t) return;
  if (take()) {
    struct chain *c = &memory->found[0];
    __cairn_walk(&own_walker, p, site, sp, 0);
    own_walker.reg[FRAME_REGISTER] = frame, own_walker.known |= 1u << FRAME_REGISTER;
    walk_out(p, c, e);
    judge(p, t, c, c->n, e);
    __atomic_store_n(&memory->taken, 0, __ATOMIC_RELEASE);
  }
  finish(t);
}

/* ---- arrivals ---- */

extern char arrived[] __asm__("__cairn_arrived") HIDDEN;
HIDDEN void __cairn_arrive(u64 site, u64 sp, u64 at, i64 copied, u64 rbp);
HIDDEN i64 __cairn_copy_below(u64 at);

/* is_in_raiser reports whether an address is in a function that raises something, as far as can be
 * told without tables. Frames of the unwinder itself cannot be walked: it has changed them. */
static int is_in_raiser(struct process *p, u64 pc) {
  for (u32 i = 0, n = load(&p->raisers.sets); i < n; i++)
    for (u32 k = 0; k < UNWINDERS; k++)
      if (p->raisers.set[i][k] && pc - p->raisers.set[i][k] < REACH) return 1;
  return 0;
}

static int is_raiser(struct process *p, u64 function) {
  for (u32 i = 0, n = load(&p->raisers.sets); i < n; i++)
    for (u32 k = 0; k < RAISERS; k++)
      if (p->raisers.set[i][k] == function) return 1;
  return 0;
}

static int same_raisers(const u64 *a, const u64 *b) {
  u32 n = 0;
  while (n < RAISERS && a[n] == b[n]) n++;
  return n == RAISERS;
}

/* add_raisers adds the functions that a module finds: those of a library's own C++ library are not known to the
 * executable. */
void __cairn_add_raisers(struct process *p, const u64 *functions) {
  lock(&p->control.lock);
  u32 n = p->raisers.sets, i = 0;
  while (i < n && !same_raisers(p->raisers.set[i], functions)) i++;
  if (i == n && n < RAISER_SETS) {
    copy(p->raisers.set[n], functions, sizeof p->raisers.set[n]);
    store(&p->raisers.sets, n + 1);
  }
  unlock(&p->control.lock);
}

/* raises reports whether such a function is called before an address. */
static int raises(struct process *p, u64 pc) {
  u64 to = __cairn_known(p, pc) ? __cairn_walk_target(p, pc) : 0;
  return to && is_raiser(p, to);
}

/* follow walks from a raiser outwards. It reports whether that leads to the call with stack pointer sp. */
static int follow(struct process *p, struct chain *c, u64 sp, u64 e) {
  struct walker *w = &own_walker;
  u64 before = NONE;
  c->n = c->left = c->timed = 0;
  c->latest = 0;
  for (int more = 1, arrived = 0; more && c->n < CHAIN;) {
    struct entry *x = &c->entry[c->n];
    u64 t0 = 0, t1 = 0, back;
    *x = (struct entry){w->pc, 0, 0, LOG_ENTRY_NO_STAMP | (w->exact ? LOG_ENTRY_EXACT : 0u), 0};
    more = __cairn_walk_step(w);
    x->sp = (u32)w->entry;
    u64 named = w->entry ? __cairn_walk_stamped(w) : 0;
    int hidden = FRAME_IS_ENTRY && !named && w->entry && __cairn_walk_word(w, w->entry, &back) && __cairn_walk_target(p, back) == (u64)arrived;
    named |= (u64)hidden; /* its return address has been overwritten */
    if (named && __cairn_entered(p, w->entry, e, &t0, &t1)) {
      if (named != 1 && !arrived) x->pc = named, x->flags |= LOG_ENTRY_EXACT; /* the place may be a guess */
      set_times(w->p, x, t0, t1, e);
      if (!arrived && t0 > before) return 0;
      before = t1;
      if (!c->latest) c->latest = t1;
      if (!arrived && w->entry != sp) x->flags |= LOG_ENTRY_LEFT, c->timed++;
    }
    c->sp[c->n] = w->entry, c->t0[c->n] = t0, c->t1[c->n] = t1;
    if (!arrived && w->entry > sp) return 0;
    if (w->entry == sp) arrived = 1, c->left = c->n;
    c->n++;
  }
  return c->left > 0;
}

/* The memory below the stack pointer. */
struct below {
  struct process *p;
  u64 site, sp, at, size, e;
  u64 above; /* bytes above the stack pointer that were copied as well */
  u64 start, text, text_end; /* of the function at site; of its code and what is near it */
  u8 *copy;
  const struct chain *best;
  u32 tries;
};

static u64 word_at(const struct below *m, u64 at) { return *(const u64 *)(m->copy + (at - (m->at - m->size))); }

/* try walks from a place with a stack pointer, and keeps the result if it is the best. */
static int try(struct below *m, u64 pc, u64 from, u64 rbp) {
  struct chain *c = &memory->found[m->best == &memory->found[0]];
  __cairn_walk(&own_walker, m->p, pc, from, 0);
  own_walker.copy = m->copy, own_walker.copy_at = m->at - m->size, own_walker.copy_size = m->size + m->above;
  if (rbp) own_walker.reg[FRAME_REGISTER] = rbp, own_walker.known |= 1u << FRAME_REGISTER;
  m->tries++;
  if (!follow(m->p, c, m->sp, m->e)) return 0;
  if (!m->best || c->latest > m->best->latest || (c->latest == m->best->latest && c->timed > m->best->timed)) m->best = c;
  return 1;
}

#if __x86_64__

/* is_after_call reports whether an address is behind a call in the function that control arrived in,
 * or elsewhere in its module if that is wanted: the function may have several parts. */
static int is_after_call(const struct below *m, u64 pc, int elsewhere) {
  u8 c[7];
  if (pc < m->text + 7 || pc >= m->text_end || pc == m->site || !__cairn_peek(m->p, pc - 7, c, 7)) return 0;
  if (c[2] != 0xe8 && c[0] != 0xff && c[1] != 0xff && c[4] != 0xff && c[5] != 0xff) return 0;
  return (__cairn_walk_start(&own_walker, pc - 1) == m->start) != elsewhere;
}

/* raised_from tries the places from which the exception may have been raised that arrives now. The
 * unwinder of gcc restores registers from its own frame. So its return address has been overwritten
 * by that of the call in the function where control arrives; but it is still among its copies of
 * registers further down. Where control had arrived before, and went on from a destructor, the place
 * is known. */
static void raised_from(struct below *m, const struct thread *t, u64 at) {
  u64 low = most(m->at - m->size, less(at, CONTEXT)), *top = (u64 *)(m->copy + m->size - 8);
  *top = word_at(m, at); /* which the call of the code that arrived here has overwritten */
  u64 rbp = t->landed.at == at + 8 ? t->landed.rbp : 0;
  if (t->landed.at == at + 8 && try(m, t->landed.pc, at + 8, rbp)) return;
  for (int all = 0; all < 2; all++)
    for (u64 k = at - 8; k >= low && m->tries < TRIES; k -= 8) {
      u64 pc = word_at(m, k);
      if (all ? raises(m->p, pc) : is_in_raiser(m->p, pc))
        if (try(m, pc, at + 8, rbp)) return;
    }
  *top = m->site;
}

/* search finds the calls that were left. */
static const struct chain *search(struct below *m, const struct thread *t) {
  for (int elsewhere = 0; elsewhere < 2 && !m->best; elsewhere++)
    for (u64 at = m->at - 16; at >= m->at - m->size && m->tries < TRIES; at -= 8) {
      u64 word = word_at(m, at);
      if (is_after_call(m, word, elsewhere)) raised_from(m, t, at);
      else if (!elsewhere && (is_in_raiser(m->p, word) || raises(m->p, word))) try(m, word, at + 8, 0); /* musl's longjmp has no frame */
    }
  return m->best;
}

#else

/* is_after_blr reports whether an address is behind a call of a function in a register (-fno-plt). */
static int is_after_blr(struct process *p, u64 pc) {
  u32 code;
  return !(pc & 3) && __cairn_known(p, pc) && __cairn_peek(p, pc - 4, &code, 4) && (code & 0xfffffc1fu) == 0xd63f0000u;
}

/* search finds the calls that were left. What raises something does not return, and saves its return
 * address and its frame pointer at the bottom of its frame. The unwinder of gcc returns to where control
 * arrives by the frame of its outermost function, whose return address, in the raiser, has been
 * overwritten by that; but it is among its copies of registers. Where control had arrived before, and
 * went on from a destructor, the place is known. */
static const struct chain *search(struct below *m, const struct thread *t) {
  u64 low = m->at - m->size;
  if (t->landed.at >= low && t->landed.at < m->at) try(m, t->landed.pc, t->landed.at, t->landed.rbp);
  for (u64 at = m->at - 8; at >= low + 8 && m->tries < TRIES; at -= 8) {
    u64 pc = plain_address(word_at(m, at)), frame = word_at(m, at - 8), inside = 0;
    int named = raises(m->p, pc);
    if (!named && !is_after_blr(m->p, pc)) continue;
    for (u64 k = at - 16; !inside && k >= most(low, less(at, named ? 2 * CONTEXT : CONTEXT / 8)); k -= 8)
      if (is_in_raiser(m->p, plain_address(word_at(m, k)))) inside = plain_address(word_at(m, k));
    if (!named && !inside) continue;
    if (!inside || !try(m, inside, at - 8, at - 8)) try(m, pc, frame, frame);
  }
  return m->best;
}

/* copy_below copies the memory below a stack pointer, which may be unmapped, and returns its size. */
i64 __cairn_copy_below(u64 at) {
  struct process *p = __cairn_state;
  u8 *to = memory->copy + ARRIVAL_COPY;
  u64 n = 0;
  for (u64 size = (at & 4095) ? at & 4095 : 4096; p && n + size <= ARRIVAL_COPY; size = 4096) {
    if (!__cairn_peek(p, at - n - size, to - n - size, size)) break;
    n += size;
  }
  return (i64)n;
}

#endif

void __cairn_arrive(u64 site, u64 sp, u64 at, i64 copied, u64 rbp) {
  struct process *p = __cairn_state;
  u64 e, t0, t1;
  if (!p || copied <= 16 || !load(word(p, ALIVE)) || (p->check_pid && (i32)sys0(SYS_getpid) != p->pid)) return;
  e = __cairn_now(p);
  if (!__cairn_entered(p, sp, e, &t0, &t1)) return;
  struct thread *t = begin(p, e);
  if (!t) return;
  const struct module *text = __cairn_module_of(p, site);
  struct below m = {p, site, sp, at, (u64)copied, e, ABOVE, 0, 0, 0, memory->copy + ARRIVAL_COPY - copied, 0, 0};
  while (m.above && !__cairn_peek(p, at, memory->copy + ARRIVAL_COPY, m.above)) m.above = m.above > 64 ? m.above / 2 : 0;
  if (text) {
    __cairn_walk(&own_walker, p, 0, 0, 0);
    m.start = __cairn_walk_start(&own_walker, site - 1);
    m.text = most(text->start, less(site, NEAR)), m.text_end = least(text->end, site + NEAR);
  }
  const struct chain *c = search(&m, t);
  if (c) judge(p, t, c, c->left, e);
  t->landed.at = at, t->landed.pc = site, t->landed.rbp = rbp;
  finish(t);
}
