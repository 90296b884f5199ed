/* What marks say of a call: its threshold, whether it is ignored, and pauses in it. */

/* forget removes annotations of frames that have returned: below sp. */
static void forget(struct thread *t, u64 sp) {
  while (t->notes && t->note[t->notes - 1].sp < sp) t->notes--;
}

/* __cairn_rule finds the threshold of the frame and whether it is to be ignored. */
u64 __cairn_rule(struct process *p, struct thread *t, u64 sp, u64 t0, u32 *flags) {
  u64 threshold = common_threshold(p), parents = 0;
  *flags = 0;
  forget(t, sp);
  if (t->parents && sp > t->parents_sp && t0 <= t->parents_at) threshold = parents = t->parents;
  for (u32 i = t->notes; i--;) {
    const struct annotation *n = &t->note[i];
    if (n->sp == sp && n->at >= t0) {
      if (n->flags & NOTE_IGNORE) *flags |= LOG_ENTRY_IGNORED;
      if (n->own) return n->own;
    } else if (n->sp > sp) {
      if (n->flags & NOTE_IGNORE_CHILDREN) *flags |= LOG_ENTRY_IGNORED;
      if (n->children) return n->children;
    }
  }
  return parents ? parents : threshold;
}

/* paused returns the sum of the pauses between two times, without current ones. With all set it is
 * an upper bound if the ring of pauses is too short. */
static u64 paused(const struct thread *t, u64 from, u64 to, int all) {
  u64 sum = 0, oldest = NONE;
  for (u32 i = t->pauses; i-- > less(t->pauses, PAUSES);) {
    const struct pause *z = &t->pause[i % PAUSES];
    sum += less(least(z->to, to), most(z->from, from));
    oldest = z->from;
  }
  return all && from < oldest ? sum + t->paused_before : sum;
}
