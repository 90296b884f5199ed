/* What programs say of their calls and threads: self returns the state of the thread, lower lowers the inline threshold. */

void __cairn_note(u64 sp, u64 own, u64 children, u32 flags) {
  struct thread *t = self();
  if (!t) return;
  while (t->notes && t->note[t->notes - 1].sp < sp) t->notes--; /* of frames that have returned */
  struct annotation *n;
  if (t->notes && t->note[t->notes - 1].sp == sp) {
    n = &t->note[t->notes - 1];
  } else {
    if (t->notes == NOTES) return;
    n = &t->note[t->notes];
    n->own = n->children = n->flags = 0;
    n->sp = sp;
    t->notes++;
  }
  n->at = __cairn_now(__cairn_state);
  if (own) n->own = own, lower(__cairn_state, own);
  if (children) n->children = children, lower(__cairn_state, children);
  n->flags |= flags;
}

void __cairn_note_end(u64 sp) {
  struct thread *t = self();
  while (t && t->notes && t->note[t->notes - 1].sp <= sp) t->notes--;
}

void __cairn_note_parents(u64 sp, u64 ns) {
  struct thread *t = self();
  if (!t) return;
  t->parents = ns, t->parents_sp = sp, t->parents_at = __cairn_now(__cairn_state);
  /* It replaces annotations of the frames themselves. */
  for (u32 i = 0; i < t->notes; i++)
    if (t->note[i].sp > sp && t->note[i].own) t->note[i].own = ns;
  if (ns) lower(__cairn_state, ns);
}

int __cairn_over(u64 sp) {
  struct thread *t = self();
  struct process *p = __cairn_state;
  u32 flags;
  u64 t0, t1, e;
  if (!t || !__cairn_entered(p, sp, e = __cairn_now(p), &t0, &t1)) return 0;
  u64 threshold = __cairn_rule(p, t, sp, t0, &flags);
  return e - t1 >= threshold && !(flags & LOG_ENTRY_IGNORED) && !t->inactive && !t->paused && !is_quiet(p);
}

void __cairn_pause(void) {
  struct thread *t = self();
  if (!t || t->paused++) return;
  struct pause *z = &t->pause[t->pauses % PAUSES];
  if (t->pauses >= PAUSES) t->paused_before += z->to - z->from;
  z->from = z->to = __cairn_now(__cairn_state);
  t->pauses++;
}

void __cairn_resume(void) {
  struct thread *t = self();
  if (!t || !t->paused || --t->paused) return;
  t->pause[(t->pauses - 1) % PAUSES].to = __cairn_now(__cairn_state);
}

void __cairn_thread_active(int yes) {
  struct thread *t = self();
  if (t) t->inactive = !yes;
}
