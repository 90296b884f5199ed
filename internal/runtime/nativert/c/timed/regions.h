/* The stacks of a thread other than its own. */

enum { SLACK = 2048 /* minimum distance between two stacks */ };

static struct region *find_region(struct thread *t, u64 sp) {
  for (u32 i = 0; i < t->regions; i++)
    if (sp + SLACK >= t->region[i].lo && sp <= t->region[i].top) return &t->region[i];
  return 0;
}

/* add_region assigns a number to the stack with that outermost frame, and removes earlier stacks in its
 * place. */
static struct region *add_region(struct thread *t, u64 sp, u64 top, u32 handlers) {
  struct region *r = 0;
  for (u32 i = 0; i < t->regions; i++) {
    struct region *x = &t->region[i];
    if (x->top == top) {
      x->lo = least(x->lo, sp);
      return x;
    }
    if (x->lo <= top && sp <= x->top) r = x;
  }
  if (!r && t->regions < REGIONS) r = &t->region[t->regions++];
  if (!r) r = &t->region[t->region_number % REGIONS];
  t->region_number = t->region_number % (LOG_STACK_UNKNOWN - 1) + 1;
  *r = (struct region){sp, top, t->region_number, handlers};
  return r;
}
