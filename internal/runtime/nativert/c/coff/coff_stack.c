/* Stacks, by the unwind tables that Windows itself uses. */

static u64 stack_base(void) {
  u64 v;
  __asm__ volatile("movq %%gs:8, %0" : "=r"(v));
  return v;
}

static u64 stack_limit(void) {
  u64 v;
  __asm__ volatile("movq %%gs:16, %0" : "=r"(v));
  return v;
}

/* is_stamped reports whether a function begins with code that stamps its calls:
 *
 *      movq    %rax, 8(%rsp)                  in some
 *      movq    __cairn_base(%rip), %r10       or %rax
 *      movl    %esp, %r11d */
static int is_stamped(const u8 *f) {
#ifdef CAIRN_DETOURS
  return is_hooked((u64)f);
#endif
  if (*(const u32 *)f == 0x24448948 && f[4] == 8) f += 5;
  return ((f[0] == 0x4c && f[2] == 0x15) || (f[0] == 0x48 && f[2] == 0x05)) && f[1] == 0x8b && f[7] == 0x41 && f[8] == 0x89 && f[9] == 0xe3;
}

enum { HUGE = 512 << 10, CHAINED = 4 << 3 };

/* whole returns the function that a part of its code belongs to. */
static const struct function *whole(u64 base, const struct function *f) {
  for (const u8 *info; (info = (const u8 *)base + f->unwind)[0] & CHAINED;) f = (const struct function *)(info + 4 + 2 * ((info[2] + 1u) & ~1u));
  return f;
}

/* is_huge reports whether the frame of a function has about HUGE bytes or more: its unwind codes have their number in 32 bits. */
static int is_huge(u64 base, const struct function *f) {
  enum { ALLOCATES_HUGE = 0x11 };
  static const u8 sizes[16] = {1, 2, 1, 1, 2, 3, 2, 1, 2, 3, 1, 1, 1, 1, 1, 1};
  for (;;) {
    const u8 *info = (const u8 *)base + f->unwind, *code = info + 4;
    for (u32 i = 0; i < info[2]; i += sizes[code[2 * i + 1] & 15])
      if (code[2 * i + 1] == ALLOCATES_HUGE) return 1;
    if (!(info[0] & CHAINED)) return 0;
    f = (const struct function *)(code + 2 * ((info[2] + 1u) & ~1u));
  }
}

/* may_unwind reports whether the frame pointer of a function, if it has one, is in the stack. The unwinder would read far behind a copy
 * that has only a part of a frame. */
static int may_unwind(const struct context *c, u64 base, const struct function *f, u64 low, u64 high) {
  const u8 *info = (const u8 *)base + f->unwind;
  const u64 *registers = &c->rax; /* in the order of their numbers */
  u32 number = info[3] & 15;
  return (!number || (registers[number] >= low && registers[number] < high)) && (high - low >= HUGE || !is_huge(base, f));
}

/* step replaces a context by that of the caller, and returns the function that it was in, 0 for the end of the stack. A
 * function without unwind table is a leaf: the return address is at the stack pointer. */
static int step(struct context *c, u64 low, u64 high, u64 *begin) {
  void *data;
  u64 base = 0, frame, sp = c->rsp;
  const struct function *f = RtlLookupFunctionEntry(c->rip, &base, 0);
  *begin = f ? base + whole(base, f)->begin : 0;
  if (sp < low || sp + 8 > high) return 0;
  if (!f) c->rip = *(const u64 *)sp, c->rsp += 8;
  else if (may_unwind(c, base, f, low, high)) RtlVirtualUnwind(0, base, c->rip, f, c, &data, &frame, 0);
  return c->rsp > sp && c->rsp <= high;
}

/* set_times sets the times of an entry as of e. */
static void set_times(struct stack *s, u32 i, u64 e) {
  struct entry *x = &s->entry[i];
  if (x->flags & LOG_ENTRY_NO_STAMP) return;
  x->lo = less(e, s->t1[i]), x->hi = less(e, s->t0[i]);
}

/* move_registers makes the registers of a context that point into a stack point into its copy, which is delta behind it. */
static void move_registers(struct context *c, u64 low, u64 high, u64 delta) {
  u64 *registers = &c->rax; /* in the order of their numbers */
  for (u32 i = 3; delta && i < 16; i++)
    if (registers[i] - low < high - low) registers[i] += delta;
}

/* place_in returns where a context is, of which a return address may have been replaced. */
static u64 place_in(struct context *c, u64 delta) { return c->rip = original(c->rip, c->rsp - delta); }

/* walk_copy fills s with the stack of a context, which it changes, from a copy of the stack that is delta behind it. */
static void walk_copy(struct process *p, struct context *c, u64 e, struct stack *s, u64 low, u64 high, u64 delta) {
  u64 begin;
  s->n = s->found = s->cut = 0;
  move_registers(c, low, high, delta);
  for (u64 pc = place_in(c, delta), of; pc && step(c, low + delta, high + delta, &begin); pc = place_in(c, delta)) {
    s->found++;
    if (s->n == CHAIN) {
      s->cut = 1;
      return;
    }
    u32 i = s->n++;
    s->sp[i] = c->rsp - 8 - delta;
    move_registers(c, low, high, delta);
    s->entry[i] = (struct entry){(of = moved_from(pc)) ? of : pc, 0, 0, LOG_ENTRY_NO_STAMP, (u32)s->sp[i]};
    if (!begin || of || !is_stamped((const u8 *)begin) || !entered(p, s->sp[i], e, &s->t0[i], &s->t1[i])) continue;
    s->entry[i].flags = 0;
    set_times(s, i, e);
  }
}

/* walk fills s with the stack of a context of this thread, which it changes. */
static void walk(struct process *p, struct context *c, u64 e, struct stack *s) {
  walk_copy(p, c, e, s, stack_limit(), stack_base(), 0);
}
