/* What events tell: samples, and the true stack of calls. */

#include "lbr.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- output ---- */

/* emit appends a record, in one piece: other processes may write to the file. */
void lbr_emit(u32 type, const void *data, u64 n) {
  u32 head[2] = {(u32)(n + 8), type};
  struct {
    const void *at;
    u64 n;
  } parts[2] = {{head, sizeof head}, {data, n}};
  syscall(SYS_writev, lbr_settings.out, parts, 2);
}

/* ---- the true stack ---- */

/* begins tells whether a function begins at an address relative to lo. */
static int begins(u64 at) {
  const u32 *f = lbr_settings.functions;
  u64 lo = 0, hi = lbr_settings.function_count;
  while (lo < hi) {
    u64 mid = lo + (hi - lo) / 2;
    if (f[mid] < at) lo = mid + 1;
    else hi = mid;
  }
  return lo < lbr_settings.function_count && f[lo] == at;
}

/* same_function tells whether no function begins in (first, last]. */
static int same_function(u64 a, u64 b) {
  const u32 *f = lbr_settings.functions;
  u64 first = a < b ? a : b, last = a < b ? b : a, lo = 0, hi = lbr_settings.function_count;
  while (lo < hi) {
    u64 mid = lo + (hi - lo) / 2;
    if (f[mid] <= first) lo = mid + 1;
    else hi = mid;
  }
  return lo == lbr_settings.function_count || f[lo] > last;
}

static void push(struct state *s, u32 from, u64 to, u32 sp) {
  if (s->depth < MAX_DEPTH) s->calls[s->depth++] = (struct call){to, from, sp};
  else s->cut++;
}

/* pop takes off the calls whose return address is at sp or below. */
static void pop(struct state *s, u32 sp) {
  while (s->depth && (i32)(s->calls[s->depth - 1].sp - sp) <= 0) {
    s->depth--;
    s->cut = 0;
  }
}

static void follow(struct state *s, const struct event *e) {
  u64 to = (u64)e->to_high << 32 | e->to;
  switch (e->from >> KIND_SHIFT) {
  case CALL: /* sp is the one before the call */
    pop(s, e->sp - 8);
    push(s, e->from, to, e->sp - 8);
    break;
  case INDIRECT_CALL: /* behind */
    pop(s, e->sp);
    push(s, e->from, to, e->sp);
    break;
  case RETURN: pop(s, e->sp - 8); break;
  case INDIRECT_JUMP:
    if (to < lbr_size && (!begins(to) || same_function(e->from & FROM_MASK, to))) break;
    /* fall through */
  case TAIL_CALL:
    pop(s, e->sp - 8);
    push(s, (u32)TAIL_CALL << KIND_SHIFT | (e->from & FROM_MASK), to, e->sp);
    break;
  case FROM_OUTSIDE:
    if (begins(to)) {
      pop(s, e->sp);
      push(s, e->from, to, e->sp);
    } else {
      pop(s, e->sp - 8);
    }
    break;
  }
}

/* ---- the stack as it can be seen ---- */

/* find_stack looks for the mapping that sp is in. */
static void find_stack(struct state *s, u64 sp) {
  char text[8192];
  i64 n, have = 0;
  s->stack_lo = s->stack_hi = 0;
  int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && (n = read(fd, text + have, sizeof text - (u64)have)) > 0) {
    char *line = text, *end = text + have + n, *stop;
    for (; (stop = memchr(line, '\n', (u64)(end - line))); line = stop + 1) {
      u64 range[2] = {0, 0};
      int k = 0;
      for (char *c = line; *c != ' '; c++) {
        if (*c == '-') k = 1;
        else range[k] = range[k] << 4 | (u64)(*c <= '9' ? *c - '0' : *c - 'a' + 10);
      }
      if (range[0] <= sp && sp < range[1]) s->stack_lo = range[0], s->stack_hi = range[1];
    }
    have = end - line;
    if (have == sizeof text) break;
    memmove(text, line, (u64)have);
  }
  if (fd >= 0) close(fd);
}

/* walk follows the frame pointers. */
static u32 walk(struct state *s, const ucontext_t *u, u64 pc, u64 *out) {
  u64 sp = (u64)u->uc_mcontext.gregs[REG_RSP], fp = (u64)u->uc_mcontext.gregs[REG_RBP], low = sp;
  u32 n = 0;
  out[n++] = pc;
  if (sp < s->stack_lo || sp >= s->stack_hi) find_stack(s, sp);
  while (n < MAX_STACK && fp >= low && !(fp & 7) && fp < s->stack_hi && s->stack_hi - fp >= 16) {
    const u64 *frame = (const u64 *)fp;
    if (!frame[1]) break;
    out[n++] = frame[1];
    low = fp + 16;
    fp = frame[0];
  }
  return n;
}

/* ---- samples ---- */

static void sample(struct state *s, const ucontext_t *u, u32 next) {
  struct sample *out = (struct sample *)s->scratch;
  u64 *w = (u64 *)(out + 1), outside = (u64)lbr_dispatch;
  u64 seen = s->history < lbr_settings.depth ? s->history : lbr_settings.depth;
  out->pid = (u32)getpid();
  out->tid = (u32)syscall(SYS_gettid);
  out->ip = lbr_lo + (next & FROM_MASK);
  out->stack = walk(s, u, out->ip, w);
  w += out->stack;
  for (const struct event *e = s->end - seen; e < s->end; e++) {
    u64 to = lbr_lo + ((u64)e->to_high << 32 | e->to);
    *w++ = e->from >> KIND_SHIFT == FROM_OUTSIDE ? outside : lbr_lo + (e->from & FROM_MASK);
    *w++ = to;
    if (to - lbr_lo >= lbr_size) outside = to;
  }
  out->branches = (u32)seen;
  u64 room = (SCRATCH - (u64)((u8 *)w - s->scratch)) / 24;
  out->calls = (u32)(s->depth < room ? s->depth : room);
  out->cut = (u32)(s->cut + s->depth - out->calls);
  for (u32 i = 0; i < out->calls; i++) {
    const struct call *c = &s->calls[i];
    *w++ = c->from >> KIND_SHIFT;
    *w++ = c->from >> KIND_SHIFT == FROM_OUTSIDE ? 0 : lbr_lo + (c->from & FROM_MASK);
    *w++ = lbr_lo + c->to;
  }
  s->samples++;
  lbr_emit(RECORD_SAMPLE, out, (u64)((u8 *)w - s->scratch));
}

struct event *lbr_full(struct state *s, const ucontext_t *u, u32 next) {
  s->branches += (u64)(s->end - s->armed);
  s->history += (u64)(s->end - s->armed);
  if (s->calls)
    for (const struct event *e = s->armed; e < s->end; e++) follow(s, e);
  u64 n = s->wait;
  if (!n) {
    /* At a return or a jump to another function the frame pointer is the caller's
     * already, and so is each sample's next branch: one that is neither is near. */
    u32 kind = next >> KIND_SHIFT;
    n = 1;
    if (kind == JUMP || kind == CALL || kind == INDIRECT_CALL) {
      sample(s, u, next);
      s->wait = lbr_settings.every;
      n = s->wait;
    } else {
      s->wait = 1;
    }
  }
  if (n > CAPACITY) n = CAPACITY;
  s->wait -= n;
  s->armed = s->end - n;
  memmove(s->armed - HISTORY, s->end - HISTORY, HISTORY * sizeof *s->end);
  return s->armed;
}
