/* The threshold of a call that has not ended. */

/* open_rule is the threshold of a call by the marks of its thread, without changing them, as they are
 * those of another thread. 0: it is not to be reported. */
static u64 open_rule(struct process *p, const struct thread *t, u64 sp) {
  u64 threshold = common_threshold(p);
  if (!t) return threshold;
  if (t->inactive || t->paused) return 0;
  for (u32 i = (u32)least(load(&t->notes), NOTES); i--;) {
    const struct annotation *n = &t->note[i];
    if (n->sp == sp) {
      if (n->flags & NOTE_IGNORE) return 0;
      if (n->own) return n->own;
    } else if (n->sp > sp) {
      if (n->flags & NOTE_IGNORE_CHILDREN) return 0;
      if (n->children) return n->children;
    }
  }
  return threshold;
}
