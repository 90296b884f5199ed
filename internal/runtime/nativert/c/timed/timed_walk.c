/* The unwind tables, as far as compilers make them for functions in C, C++ and the like: the
 * sorted table of .eh_frame_hdr, entries of .eh_frame (Linux Standard Base, Core 5.0, chapter 10),
 * and the call frame instructions of DWARF 5, section 6.4.2. */

#include "hook.h"
#include "walk.h"

enum { HOW_SAME, HOW_UNDEFINED, HOW_AT, HOW_IS, HOW_AT_EXPRESSION, HOW_IS_EXPRESSION, HOW_REGISTER };
enum { COMMON = 256, FRAME = 2048, STATES = 4, MAX_VALUES = 16 };

struct rule {
  u8 how;
  u16 size;       /* of an expression */
  i64 offset;     /* to the CFA; or a register */
  const u8 *code; /* of an expression */
};
struct row {
  struct rule reg[WALK_REGISTERS];
  struct rule cfa; /* HOW_REGISTER with offset, or an expression */
  u32 cfa_register;
};

struct table {
  u64 code_align, pc, target;
  i64 data_align;
  u32 returns; /* column of the return address */
  u8 encoding, augmented, signal;
  struct row row, first, state[STATES];
  u32 states;
  u64 start;
  u8 common[COMMON], frame[FRAME];
  const u8 *begin, *end;       /* instructions of the common part */
  const u8 *own, *own_end; /* of the function */
  int cut;                 /* the function has more instructions than were read */
};

_Static_assert(sizeof(struct table) <= WALK_ROOM, "room");

/* ---- reading ---- */

static int peek(struct walker *w, u64 at, void *to, u64 n) {
  if (at - w->copy_at < w->copy_size && n <= w->copy_size - (at - w->copy_at)) {
    copy(to, w->copy + (at - w->copy_at), n);
    return 1;
  }
  return __cairn_peek(w->p, at, to, n);
}

int __cairn_walk_word(struct walker *w, u64 at, u64 *to) { return peek(w, at, to, 8); }

static u64 unsigned_at(const u8 **at, const u8 *end) {
  u64 v = 0;
  for (u32 shift = 0; *at < end; shift += 7) {
    u8 b = *(*at)++;
    if (shift < 64) v |= (u64)(b & 0x7f) << shift;
    if (!(b & 0x80)) break;
  }
  return v;
}

static i64 signed_at(const u8 **at, const u8 *end) {
  u64 v = 0;
  for (u32 shift = 0; *at < end;) {
    u8 b = *(*at)++;
    if (shift < 64) v |= (u64)(b & 0x7f) << shift;
    shift += 7;
    if (b & 0x80) continue;
    if (b & 0x40 && shift < 64) v |= ~0ul << shift;
    break;
  }
  return (i64)v;
}

static u64 fixed_at(const u8 **at, const u8 *end, u32 n) {
  u64 v = 0;
  if ((u64)(end - *at) < n) {
    *at = end;
    return 0;
  }
  for (u32 i = 0; i < n; i++) v |= (u64)(*at)[i] << 8 * i;
  *at += n;
  return v;
}

/* size_of returns the size of a pointer in the tables, 0 if it has none. */
static u32 size_of(u8 encoding) {
  switch (encoding & 0xf) {
  case 2: case 10: return 2;
  case 3: case 11: return 4;
  case 0: case 4: case 12: return 8;
  }
  return 0;
}

/* ---- the entry of a function ---- */

/* find returns the address of the entry in .eh_frame for a function that contains pc, and the
 * beginning of that function; 0 if there is none. */
static u64 find(struct walker *w, u64 pc, u64 *start) {
  const struct module *m = __cairn_module_of(w->p, pc);
  struct { u8 version, pointer, count, table; i32 frames; u32 n; } h;
  i32 pair[128][2];
  if (!m || !m->frames || !peek(w, m->frames, &h, sizeof h)) return 0;
  if (h.version != 1 || size_of(h.pointer) != 4 || h.count != 3 || h.table != 0x3b) return 0;
  u64 lo = 0, hi = h.n, table = m->frames + sizeof h;
  i64 want = (i64)(pc - m->frames);
  while (hi - lo > 128) {
    u64 mid = lo + (hi - lo) / 2;
    if (!peek(w, table + 8 * mid, pair, 8)) return 0;
    if (pair[0][0] <= want) lo = mid;
    else hi = mid;
  }
  if (hi == lo || !peek(w, table + 8 * lo, pair, 8 * (hi - lo))) return 0;
  u64 i = hi - lo;
  while (i && pair[i - 1][0] > want) i--;
  if (!i) return 0;
  *start = m->frames + (u64)(i64)pair[i - 1][0];
  return m->frames + (u64)(i64)pair[i - 1][1];
}

u64 __cairn_walk_start(struct walker *w, u64 pc) {
  u64 start;
  return find(w, pc, &start) ? start : 0;
}

/* read_entry reads an entry of up to room bytes, and returns its size; *have is how much was read. */
static u64 read_entry(struct walker *w, u64 at, u8 *to, u64 room, u64 *have) {
  enum { USUAL = 96 };
  u64 n = 0;
  *have = peek(w, at, to, USUAL) ? USUAL : peek(w, at, to, 4) ? 4 : 0; /* near the end of the mapping */
  if (!*have) return 0;
  copy(&n, to, 4);
  if (n < 8 || n >= 0xfffffff0) return 0;
  n += 4;
  if (n > *have && !peek(w, at, to, least(n, room))) return 0;
  *have = least(n, room);
  return n;
}

/* read_common reads the part that functions share. */
static int read_common(struct walker *w, struct table *t, u64 at) {
  u64 n;
  if (!read_entry(w, at, t->common, COMMON, &n)) return 0;
  const u8 *s = t->common + 8, *end = t->common + n, *text;
  u8 version = *s++;
  text = s;
  while (s < end && *s) s++;
  s++;
  t->code_align = unsigned_at(&s, end);
  t->data_align = signed_at(&s, end);
  t->returns = (u32)(version == 1 ? fixed_at(&s, end, 1) : unsigned_at(&s, end));
  if (*text == 'z') {
    u64 size = unsigned_at(&s, end);
    const u8 *data = s, *stop = size <= (u64)(end - s) ? s + size : end;
    t->augmented = 1;
    for (text++; *text; text++) {
      if (*text == 'R') t->encoding = (u8)fixed_at(&data, stop, 1);
      else if (*text == 'L') fixed_at(&data, stop, 1);
      else if (*text == 'P') fixed_at(&data, stop, size_of((u8)fixed_at(&data, stop, 1)));
      else if (*text == 'S') t->signal = 1;
    }
    s = stop;
  } else if (*text) {
    return 0;
  }
  t->begin = s, t->end = end;
  return t->returns < WALK_REGISTERS && s <= end;
}

static int read_frame(struct walker *w, struct table *t, u64 at) {
  u64 n, want = read_entry(w, at, t->frame, FRAME, &n);
  if (!want) return 0;
  const u8 *s = t->frame + 4, *end = t->frame + n;
  u64 back = fixed_at(&s, end, 4);
  if (!back || !read_common(w, t, at + 4 - back)) return 0;
  u32 size = size_of(t->encoding);
  if (!size) return 0;
  fixed_at(&s, end, size);
  u64 range = fixed_at(&s, end, size);
  if (t->target - t->start >= range) return 0; /* between functions */
  if (t->augmented) {
    u64 more = unsigned_at(&s, end);
    if (more > (u64)(end - s)) return 0;
    s += more;
  }
  t->own = s, t->own_end = end, t->cut = n < want;
  return 1;
}

/* ---- instructions ---- */

static void set(struct table *t, u64 r, u8 how, i64 offset) {
  if (r < WALK_REGISTERS) t->row.reg[r] = (struct rule){how, 0, offset, 0};
}

static struct rule block(const u8 **at, const u8 *end, u8 how) {
  u64 n = unsigned_at(at, end);
  n = least(n, (u64)(end - *at));
  struct rule r = {how, (u16)n, 0, *at};
  *at += n;
  return r;
}

static void define(struct table *t, u32 r, i64 offset) {
  t->row.cfa = (struct rule){HOW_REGISTER, 0, offset, 0};
  t->row.cfa_register = r;
}

/* extended executes an instruction of its own byte. It reports whether it knows it. */
static int extended(struct table *t, u8 op, const u8 **s, const u8 *end) {
  u64 r;
  switch (op) {
  case 0x00: case 0x2d: return 1; /* nothing; the return address is signed */
  case 0x02: t->pc += fixed_at(s, end, 1) * t->code_align; return 1;
  case 0x03: t->pc += fixed_at(s, end, 2) * t->code_align; return 1;
  case 0x04: t->pc += fixed_at(s, end, 4) * t->code_align; return 1;
  case 0x05: r = unsigned_at(s, end); set(t, r, HOW_AT, (i64)unsigned_at(s, end) * t->data_align); return 1;
  case 0x06: r = unsigned_at(s, end); if (r < WALK_REGISTERS) t->row.reg[r] = t->first.reg[r]; return 1;
  case 0x07: set(t, unsigned_at(s, end), HOW_UNDEFINED, 0); return 1;
  case 0x08: set(t, unsigned_at(s, end), HOW_SAME, 0); return 1;
  case 0x09: r = unsigned_at(s, end); set(t, r, HOW_REGISTER, (i64)unsigned_at(s, end)); return 1;
  case 0x0a: if (t->states == STATES) return 0; t->state[t->states++] = t->row; return 1;
  case 0x0b: if (!t->states) return 0; t->row = t->state[--t->states]; return 1;
  case 0x0c: r = unsigned_at(s, end); define(t, (u32)r, (i64)unsigned_at(s, end)); return 1;
  case 0x0d: define(t, (u32)unsigned_at(s, end), t->row.cfa.offset); return 1;
  case 0x0e: t->row.cfa.offset = (i64)unsigned_at(s, end); return 1;
  case 0x0f: t->row.cfa = block(s, end, HOW_IS_EXPRESSION); return 1;
  case 0x10: case 0x16: {
    r = unsigned_at(s, end);
    struct rule x = block(s, end, op == 0x10 ? HOW_AT_EXPRESSION : HOW_IS_EXPRESSION);
    if (r < WALK_REGISTERS) t->row.reg[r] = x;
    return 1;
  }
  case 0x11: r = unsigned_at(s, end); set(t, r, HOW_AT, signed_at(s, end) * t->data_align); return 1;
  case 0x12: r = unsigned_at(s, end); define(t, (u32)r, signed_at(s, end) * t->data_align); return 1;
  case 0x13: t->row.cfa.offset = signed_at(s, end) * t->data_align; return 1;
  case 0x14: r = unsigned_at(s, end); set(t, r, HOW_IS, (i64)unsigned_at(s, end) * t->data_align); return 1;
  case 0x15: r = unsigned_at(s, end); set(t, r, HOW_IS, signed_at(s, end) * t->data_align); return 1;
  case 0x2e: unsigned_at(s, end); return 1; /* size of arguments */
  }
  return 0;
}

static int run(struct table *t, const u8 *s, const u8 *end) {
  while (s < end && t->pc <= t->target) {
    u8 op = *s++, low = op & 0x3f;
    switch (op >> 6) {
    case 1: t->pc += low * t->code_align; break;
    case 2: set(t, low, HOW_AT, (i64)unsigned_at(&s, end) * t->data_align); break;
    case 3: if (low < WALK_REGISTERS) t->row.reg[low] = t->first.reg[low]; break;
    default:
      if (!extended(t, op, &s, end)) return 0;
    }
  }
  return 1;
}

/* evaluate computes an expression (DWARF 5, section 2.5) of the few operations that unwind tables have. */
static int evaluate(struct walker *w, const struct rule *r, int cfa_known, u64 cfa, u64 *to) {
  u64 v[MAX_VALUES], n = 0;
  const u8 *s = r->code, *end = s + r->size;
  if (cfa_known) v[n++] = cfa;
  while (s < end) {
    u8 op = *s++;
    if (n + 1 >= MAX_VALUES) return 0;
    if (op >= 0x70 && op <= 0x8f) { /* a register and an offset */
      i64 offset = signed_at(&s, end);
      if (!(w->known >> (op - 0x70) & 1)) return 0;
      v[n++] = w->reg[op - 0x70] + (u64)offset;
      continue;
    }
    if (op >= 0x30 && op <= 0x4f) {
      v[n++] = op - 0x30;
      continue;
    }
    if (op == 0x08) { v[n++] = fixed_at(&s, end, 1); continue; }
    if (op == 0x09) { v[n++] = (u64)(i64)(signed char)fixed_at(&s, end, 1); continue; }
    if (!n) return 0;
    if (op == 0x06) { /* what is at an address */
      if (!peek(w, v[n - 1], &v[n - 1], 8)) return 0;
      continue;
    }
    if (op == 0x23) { v[n - 1] += unsigned_at(&s, end); continue; }
    if (n < 2) return 0;
    u64 b = v[--n], a = v[n - 1];
    switch (op) {
    case 0x1a: a &= b; break;
    case 0x1c: a -= b; break;
    case 0x22: a += b; break;
    case 0x24: a = b < 64 ? a << b : 0; break;
    case 0x2a: a = (i64)a >= (i64)b; break;
    default: return 0;
    }
    v[n - 1] = a;
  }
  if (n) *to = v[n - 1];
  return n != 0;
}

/* ---- code ---- */

#ifdef __aarch64__
u64 __cairn_walk_target(struct process *p, u64 back) {
  u64 to;
  u32 code[4], bl;
  if (!__cairn_peek(p, back - 4, &bl, 4) || bl >> 26 != 0x25) return 0;
  to = back - 4 + (u64)(i64)((i32)(bl << 6) >> 4);
  if (!__cairn_known(p, to)) return 0;
  if (!__cairn_peek(p, to, code, sizeof code)) return to;
  u32 i = code[0] == 0xd503245f; /* bti c */
  u32 adrp = code[i], ldr = code[i + 1];
  if ((adrp & 0x9f00001fu) != 0x90000010u || (ldr & 0xffc003ffu) != 0xf9400211u) return to;
  u64 pages = (adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3), at = (to + 4 * i) & ~4095ul;
  return __cairn_peek(p, at + (u64)((i64)(pages << 43) >> 31) + (ldr >> 10 & 0xfff) * 8, &to, 8) ? to : 0;
}
#else
u64 __cairn_walk_target(struct process *p, u64 back) {
  u64 to;
  u8 code[16];
  i32 distance;
  if (!__cairn_peek(p, back - 6, code, 6)) return 0;
  copy(&distance, code + 2, 4);
  to = back + (u64)(i64)distance;
  if (code[0] == 0xff && code[1] == 0x15) return __cairn_peek(p, to, &to, 8) ? to : 0;
  if (code[1] != 0xe8 || !__cairn_known(p, to)) return 0;
  if (!__cairn_peek(p, to, code, sizeof code)) return to;
  u32 i = code[0] == 0xf3 ? 4 : 0; /* endbr64 */
  i += code[i] == 0xf2;            /* bnd */
  if (code[i] != 0xff || code[i + 1] != 0x25) return to;
  copy(&distance, code + i + 2, 4);
  return __cairn_peek(p, to + i + 6 + (u64)(i64)distance, &to, 8) ? to : 0;
}
#endif

/* ---- steps ---- */

/* value computes a caller's register, and reports whether it is known. */
static int value(struct walker *w, const struct rule *r, u32 number, u64 cfa, u64 *to) {
  u64 at = cfa + (u64)r->offset;
  switch (r->how) {
  case HOW_SAME: *to = w->reg[number]; return w->known >> number & 1;
  case HOW_AT: return peek(w, at, to, 8);
  case HOW_IS: *to = at; return 1;
  case HOW_AT_EXPRESSION: return evaluate(w, r, 1, cfa, &at) && peek(w, at, to, 8);
  case HOW_IS_EXPRESSION: return evaluate(w, r, 1, cfa, to);
  case HOW_REGISTER:
    if ((u64)r->offset >= WALK_REGISTERS) return 0;
    *to = w->reg[r->offset];
    return w->known >> r->offset & 1;
  }
  return 0;
}

/* return_of returns the real return address of a function that is hooked: see hook.h. */
static u64 return_of(struct walker *w, u64 slot, u64 pc) {
  const struct hooks *h = load(&w->p->hooks);
  u64 real;
  w->hooked = h && pc - h->stub < h->stub_end - h->stub;
  if (!w->hooked) return pc;
  return peek(w, h->returns + (u32)slot, &real, 8) ? real << 16 >> 16 : 0;
}

/* find_frame looks for the frame pointer of a function, which is not known where a walk begins: the
 * function has saved that of its caller at the place that it points to, below its return address, in
 * front of which the caller calls this function. */
static int find_frame(struct walker *w, const struct table *t) {
  enum { LARGEST = 16384 };
  u64 saved, back, at;
  for (at = (w->sp + 7) & ~7ul; at - w->sp < LARGEST && peek(w, at, &saved, 8) && peek(w, at + 8, &back, 8); at += 8)
    if (__cairn_known(w->p, back) && __cairn_walk_target(w->p, back) == t->start) {
      w->reg[FRAME_REGISTER] = at;
      w->known |= 1u << FRAME_REGISTER;
      return 1;
    }
  return 0;
}

static int go_up(struct walker *w, struct table *t) {
  u64 cfa = 0, next[WALK_REGISTERS];
  u32 known = 0;
  if (t->row.cfa.how == HOW_IS_EXPRESSION) {
    if (!evaluate(w, &t->row.cfa, 0, 0, &cfa)) return 0;
  } else {
    if (FRAME_IS_ENTRY && t->row.cfa_register == FRAME_REGISTER && !(w->known >> FRAME_REGISTER & 1)) find_frame(w, t);
    if (t->row.cfa_register >= WALK_REGISTERS || !(w->known >> t->row.cfa_register & 1)) return 0;
    cfa = w->reg[t->row.cfa_register] + (u64)t->row.cfa.offset;
  }
  if (!t->signal && cfa < w->sp + ENTRY_BELOW_CFA) return 0;
  for (u32 i = 0; i < WALK_REGISTERS; i++)
    if (value(w, &t->row.reg[i], i, cfa, &next[i])) known |= 1u << i;
  w->start = t->start, w->entry = cfa - ENTRY_BELOW_CFA;
  w->ended = t->row.reg[t->returns].how == HOW_UNDEFINED;
  if (!(known >> t->returns & 1)) return 0;
  w->pc = return_of(w, w->entry, plain_address(next[t->returns]));
  if (t->row.reg[STACK_REGISTER].how == HOW_SAME) next[STACK_REGISTER] = cfa, known |= 1u << STACK_REGISTER;
  copy(w->reg, next, sizeof next);
  w->known = known;
  w->sp = w->reg[STACK_REGISTER];
  w->exact = t->signal;
  w->ended = !w->pc;
  return w->pc != 0;
}

int __cairn_walk_step(struct walker *w) {
  struct table *t = (struct table *)w->room;
  clear(t, sizeof *t);
  w->start = w->entry = 0;
  w->hooked = 0;
  t->target = w->pc - !w->exact;
  u64 at = find(w, t->target, &t->start);
  if (!at || !read_frame(w, t, at)) return 0;
  w->start = t->start;
  t->row.cfa_register = WALK_REGISTERS;
  t->pc = 0;
  u64 target = t->target;
  t->target = NONE;
  if (!run(t, t->begin, t->end)) return 0;
  t->first = t->row;
  t->pc = t->start, t->target = target;
  if (!run(t, t->own, t->own_end) || (t->cut && t->pc <= t->target)) return 0;
  return go_up(w, t);
}

void __cairn_walk(struct walker *w, struct process *p, u64 pc, u64 sp, int exact) {
  clear(w, (u64)(w->room - (u8 *)w));
  w->p = p, w->pc = pc, w->sp = sp, w->exact = exact;
  w->reg[STACK_REGISTER] = sp;
  w->known = 1u << STACK_REGISTER;
}

void __cairn_walk_copy(struct walker *w, u8 *buffer) {
  u64 n = WALK_COPY - (w->sp & 4095);
  while (n >= 64 && !__cairn_peek(w->p, w->sp, buffer, n)) n = n > 4096 ? n - 4096 : n / 2 & ~7ul;
  if (n < 64) return;
  w->copy = buffer, w->copy_at = w->sp, w->copy_size = n;
}

u64 __cairn_walk_called(struct walker *w, u64 entry) {
  u64 back, to;
  if (!FRAME_IS_ENTRY || !__cairn_walk_word(w, entry, &back)) return 0;
  to = __cairn_walk_target(w->p, back);
  return to && __cairn_known(w->p, to) && __cairn_is_stamped(w->p, to) ? to : 0;
}

u64 __cairn_walk_stamped(struct walker *w) {
  return w->hooked || __cairn_is_stamped(w->p, w->start) ? 1 : __cairn_walk_called(w, w->entry);
}
