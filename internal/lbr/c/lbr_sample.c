/* What events tell: samples, and the true stack of calls. */

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
  enum { OUT_OF_THE_WAY = 500 }; /* programs may know which number comes next */
  int low = open(lbr_settings.out, O_WRONLY | O_APPEND | O_CLOEXEC), fd = fcntl(low, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
  if (fd >= 0) close(low);
  else fd = low;
  if (fd < 0 || fstat(fd, &st) < 0) return 0;
  device = st.st_dev, inode = st.st_ino;
  output = fd;
  return 1;
}

/* open_still makes sure that the output is open. Programs close all that they find, and
 * get its number for a file of theirs. */
static int open_still(void) {
  struct stat st;
  return fstat(output, &st) == 0 && st.st_dev == device && st.st_ino == inode ? 1 : lbr_open_output();
}

/* emit appends a record, in one piece: other processes may write to the file. */
void lbr_emit(u32 type, const void *data, u64 n) {
  u32 head[2] = {(u32)(n + 8), type};
  struct {
    const void *at;
    u64 n;
  } parts[2] = {{head, sizeof head}, {data, n}};
  if (open_still()) syscall(SYS_writev, output, parts, 2);
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

/* begins tells whether a function begins at an address in a module. */
static int begins(const struct module *m, u64 addr) {
  u64 n = functions_before(m, addr);
  return n < m->function_count && m->functions[n] == addr - m->lo;
}

/* leaves tells whether a jump in a module, to a computed address, goes to another
 * function. */
static int leaves(const struct module *own, const struct branch *b) {
  const struct module *m = b->to - own->lo < own->span ? own : lbr_module_at(b->to);
  if (!m) return 1;
  if (!begins(m, b->to)) return 0;
  return m != own || functions_before(m, b->from + 1) != functions_before(m, b->to + 1);
}

static void push(struct state *s, const struct branch *b, u32 kind, u32 sp) {
  if (s->depth < MAX_DEPTH) s->calls[s->depth++] = (struct branch){b->from, b->to, kind, sp};
  else s->cut++;
}

/* pop takes off the calls whose return address is at sp or below. */
static void pop(struct state *s, u32 sp) {
  while (s->depth && (i32)(s->calls[s->depth - 1].sp - sp) <= 0) {
    s->depth--;
    s->cut = 0;
  }
}

/* come follows code without a copy to a module. */
static void come(struct state *s, const struct module *m, const struct branch *b) {
  if (!begins(m, b->to)) { /* it returns, or jumps out of calls */
    pop(s, b->sp - 8);
    return;
  }
  /* A call that is open at the same sp may have jumped here, by way of the other code:
   * it still is what will return. So it is when the loader looks for a function at
   * its first call. What came from outside there is gone. */
  pop(s, b->sp - 8);
  for (u64 n = s->depth; n && s->calls[n - 1].sp == b->sp; n--)
    if (s->calls[n - 1].kind == FROM_OUTSIDE) s->depth = n - 1;
  push(s, b, FROM_OUTSIDE, b->sp);
}

/* follow keeps the true stack at a branch of a module, which may be unloaded by now. */
static void follow(struct state *s, const struct module *m, const struct branch *b) {
  switch (b->kind) {
  case CALL: /* sp is the one before the call */
    pop(s, b->sp - 8);
    push(s, b, CALL, b->sp - 8);
    break;
  case INDIRECT_CALL: /* behind */
    pop(s, b->sp);
    push(s, b, INDIRECT_CALL, b->sp);
    break;
  case RETURN: pop(s, b->sp - 8); break;
  case INDIRECT_JUMP:
    if (!leaves(m, b)) break;
    /* fall through */
  case TAIL_CALL:
    pop(s, b->sp - 8);
    push(s, b, TAIL_CALL, b->sp);
    break;
  case FROM_OUTSIDE: come(s, m, b); break;
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

/* branch returns an event with its addresses. */
static struct branch branch(const struct event *e) {
  u32 kind = e->from >> KIND_SHIFT;
  u64 lo = lbr_modules[e->module].lo, to = lo + ((u64)(i64)(int16_t)e->to_high << 32 | e->to);
  return (struct branch){kind == FROM_OUTSIDE ? 0 : lo + (e->from & FROM_MASK), to, kind, e->sp};
}

static void sample(struct state *s, const ucontext_t *u, u64 pc) {
  struct sample *out = (struct sample *)s->scratch;
  u64 *w = (u64 *)(out + 1), outside = (u64)lbr_dispatch;
  u64 seen = s->history < lbr_settings.depth ? s->history : lbr_settings.depth;
  out->pid = (u32)getpid();
  out->tid = (u32)syscall(SYS_gettid);
  out->ip = pc;
  out->stack = walk(s, u, out->ip, w);
  w += out->stack;
  for (const struct event *e = s->end - seen; e < s->end; e++) {
    struct branch b = branch(e);
    *w++ = b.kind == FROM_OUTSIDE ? outside : b.from;
    *w++ = b.to;
    if (!lbr_module_at(b.to)) outside = b.to;
  }
  out->branches = (u32)seen;
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

struct event *lbr_full(struct state *s, const ucontext_t *u, u64 from, u32 kind) {
  s->branches += (u64)(s->end - s->armed);
  s->history += (u64)(s->end - s->armed);
  if (s->calls) {
    for (const struct event *e = s->armed; e < s->end; e++) {
      struct branch b = branch(e);
      follow(s, &lbr_modules[e->module], &b);
    }
  }
  if (s->moved != lbr_moved) { /* older events may be of code that is gone */
    s->moved = lbr_moved;
    s->history = 0;
    s->wait += lbr_settings.depth;
  }
  u64 n = s->wait;
  if (!n) {
    /* At a return or a jump to another function the frame pointer is the caller's
     * already, and so is each sample's next branch: one that is neither is near. */
    n = 1;
    if (kind == JUMP || kind == CALL || kind == INDIRECT_CALL) {
      sample(s, u, from);
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
