/* Evaluation of events: samples, and the true stack of calls. */

#include "lbr.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- output ---- */

static int output = -1;
static u64 device, inode; /* of its file */

int lbr_open_output(void) {
  struct stat st;
  enum { OUT_OF_THE_WAY = 500 }; /* programs may expect certain descriptor numbers */
  int low = lbr_open(lbr_settings.out, O_WRONLY | O_APPEND | O_CLOEXEC), fd = fcntl(low, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
  if (fd >= 0) lbr_close(low);
  else fd = low;
  if (fd < 0 || fstat(fd, &st) < 0) return 0;
  device = st.st_dev, inode = st.st_ino;
  output = fd;
  return 1;
}

/* open_still makes sure that the output is open. Some programs close all descriptors, and get its
 * number for a file of theirs. */
static int open_still(void) {
  struct stat st;
  return fstat(output, &st) == 0 && st.st_dev == device && st.st_ino == inode ? 1 : lbr_open_output();
}

/* emit appends a record with one write, as other processes may write to the file. */
void lbr_emit(u32 type, const void *data, u64 n) {
  u32 head[2] = {(u32)(n + 8), type};
  struct {
    const void *at;
    u64 n;
  } parts[2] = {{head, sizeof head}, {data, n}};
  if (open_still()) lbr_raw(SYS_writev, (u64)output, (u64)parts, 2, 0, 0, 0);
}

/* ---- the true stack ---- */

/* functions_before counts the functions of a module that begin below an address. */
static u64 functions_before(const struct module *m, u64 addr) {
  u64 lo = 0, hi = m->function_count, at = addr - m->lo;
  while (lo < hi) {
    u64 mid = lo + (hi - lo) / 2;
    if (m->functions[mid] < at) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/* begins reports whether a function begins at an address in a module. */
int lbr_begins(const struct module *m, u64 addr) {
  u64 n = functions_before(m, addr);
  return n < m->function_count && m->functions[n] == addr - m->lo;
}

/* leaves reports whether a jump in a module, to a computed address, goes to another function. */
static int leaves(const struct module *own, const struct branch *b) {
  const struct module *m = b->to - own->lo < own->span ? own : lbr_module_at(b->to);
  if (!m) return 1;
  if (!lbr_begins(m, b->to)) return 0;
  return m != own || functions_before(m, b->from + 1) != functions_before(m, b->to + 1);
}

static void push(struct state *s, const struct branch *b, u32 kind, u32 sp) {
  if (s->depth < MAX_DEPTH) s->calls[s->depth++] = (struct branch){b->from, b->to, kind, sp};
  else s->cut++;
}

/* pop removes the calls whose return address is at sp or below. */
static void pop(struct state *s, u32 sp) {
  while (s->depth && (i32)(s->calls[s->depth - 1].sp - sp) <= 0) {
    s->depth--;
    s->cut = 0;
  }
}

/* left removes the calls that end with a jump to code without a copy, if such code called them: they
 * never return to recorded code. */
static int left(struct state *s, const struct branch *b) {
  u64 n = s->depth;
  if (s->cut || lbr_module_at(b->to)) return 0;
  while (n && s->calls[n - 1].sp == b->sp) n--;
  if (n == s->depth || s->calls[n].kind != FROM_OUTSIDE) return 0;
  s->depth = n;
  return 1;
}

/* come handles an arrival in a module from code without a copy. */
static void come(struct state *s, const struct module *m, const struct branch *b) {
  if (!lbr_begins(m, b->to)) { /* it returns, or jumps out of calls */
    pop(s, b->sp - 8);
    return;
  }
  /* A call that is open at the same sp may have jumped here, through the other code: it is still
   * the call that will return. This happens when the loader resolves a function at its first call.
   * A call from outside at that sp has ended. */
  pop(s, b->sp - 8);
  for (u64 n = s->depth; n && s->calls[n - 1].sp == b->sp; n--)
    if (s->calls[n - 1].kind == FROM_OUTSIDE) s->depth = n - 1;
  push(s, b, FROM_OUTSIDE, b->sp);
}

struct branch lbr_branch(const struct event *e) {
  const struct module *m = &lbr_modules[e->module];
  u32 kind = e->from >> KIND_SHIFT;
  u64 to = e->to_high == TO_NUMBER ? lbr_address(m, e->to) : m->lo + ((u64)(i64)(int16_t)e->to_high << 32 | e->to);
  return (struct branch){kind == FROM_OUTSIDE ? 0 : lbr_address(m, e->from & FROM_MASK), to, kind, e->sp};
}

/* follow updates the true stack for a branch of a module, which may be unloaded by now. */
static void follow(struct state *s, const struct module *m, const struct branch *b) {
  switch (b->kind) {
  case CALL: /* sp is the one before the call */
    pop(s, b->sp - 8);
    push(s, b, CALL, b->sp - 8);
    break;
  case INDIRECT_CALL: /* after */
    pop(s, b->sp);
    push(s, b, INDIRECT_CALL, b->sp);
    break;
  case RETURN: pop(s, b->sp - 8); break;
  case INDIRECT_JUMP:
    if (!leaves(m, b)) break;
    __attribute__((fallthrough));
  case TAIL_CALL:
    pop(s, b->sp - 8);
    if (!left(s, b)) push(s, b, TAIL_CALL, b->sp);
    break;
  case FROM_OUTSIDE: come(s, m, b); break;
  }
}

void lbr_follow_truth(struct state *s, const struct event *e) {
  struct branch b = lbr_branch(e);
  follow(s, &lbr_modules[e->module], &b);
}

/* ---- the stack as it can be seen ---- */

struct found {
  struct state *s;
  u64 sp;
};

static void is_stack(const struct mapping *m, void *to) {
  const struct found *f = to;
  if (m->lo <= f->sp && f->sp < m->hi) f->s->stack_lo = m->lo, f->s->stack_hi = m->hi;
}

/* find_stack finds the mapping that contains sp. */
void lbr_find_stack(struct state *s, u64 sp) {
  struct found f = {s, sp};
  s->stack_lo = s->stack_hi = 0;
  lbr_mappings(is_stack, &f);
}

/* ---- samples ---- */

void lbr_sample(struct state *s, u64 ip, const struct event *before, u32 branches) {
  if (__atomic_load_n(&lbr_loads_told, __ATOMIC_ACQUIRE) != __atomic_load_n(&lbr_loads, __ATOMIC_ACQUIRE)) lbr_emit_maps();
  struct sample *out = (struct sample *)s->scratch;
  u64 *w = (u64 *)(out + 1), outside = (u64)lbr_dispatch;
  out->pid = (u32)getpid();
  out->tid = (u32)s->tid;
  out->ip = *w++ = ip;
  out->stack = 1;
  u32 most = lbr_settings.by_calls ? MAX_CALLS : MAX_STACK;
  for (u64 i = s->top; i < s->bottom && out->stack < most; i++, out->stack++) *w++ = s->frames[i].back;
  out->branches = branches;
  for (const struct event *e = before - branches; e < before; e++) {
    struct branch b = lbr_branch(e);
    *w++ = b.kind == FROM_OUTSIDE ? outside : b.from;
    *w++ = b.to;
    if (!lbr_module_at(b.to)) outside = b.to;
  }
  u64 room = (SCRATCH - (u64)((u8 *)w - s->scratch)) / 24;
  out->calls = (u32)(s->depth < room ? s->depth : room);
  out->cut = (u32)(s->cut + s->depth - out->calls);
  for (u32 i = 0; i < out->calls; i++) {
    const struct branch *c = &s->calls[i];
    *w++ = c->kind;
    *w++ = c->from;
    *w++ = c->to;
  }
  s->samples++;
  lbr_emit(RECORD_SAMPLE, out, (u64)((u8 *)w - s->scratch));
}
