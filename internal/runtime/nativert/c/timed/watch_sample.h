/* The clock's thread looks at the others, as c/timed/timed_usage.c does, for Windows and macOS: how long they have run, and where they
 * wait. For the second, a thread that has not run for a part of the threshold is suspended while its registers and its stack are copied;
 * the stack is walked in the copy. Both take about a hundredth of a processor at most, but threads are sampled four times in a threshold. */

/* look_at finds the stack of a thread, with the times of its calls, and reports whether it could. */
static int look_at(struct process *p, struct watch *k, struct watched *w, u64 *pc) {
  u64 begun = now(p), end;
  if (begun < k->look_due || !stop(k, w)) return 0;
  *pc = place_of_context(&k->context);
  w->looked = now(p); /* no stamp on the stack is later */
  walk_copy(p, &k->context, w->looked, &k->stack, k->low, k->high, k->delta);
  k->stack.entry[0].flags |= LOG_ENTRY_EXACT;
  end = now(p);
  k->look_due = end + least(SHARE * (end - begun), p->threshold);
  return k->stack.n != 0;
}

/* note_wait notes that a thread waits in a system call, with its stack, since it has not run, or was seen elsewhere; the samples
 * since then are of that call. */
static void note_wait(struct watch *k, struct watched *w, i64 call, u64 pc) {
  int moved = w->place[0] != k->low || w->place[1] != pc;
  struct wait *x = &w->wait[(w->waits - !moved) % WAITS];
  if (moved && w->place[0]) w->still = w->elsewhere;
  w->in = call, w->place[0] = k->low, w->place[1] = pc, w->elsewhere = w->looked;
  if (call == RAN) return;
  x->to = w->looked;
  u64 from = moved ? w->still : x->from;
  if (moved) x->from = from, x->call = call, x->slots = 1, x->holder = 0;
  u32 holder = holder_of(k, w);
  if (holder) x->holder = holder, x->held = w->looked, x->lock = w->lock;
  x->slot[0][0] = k->low, x->slot[0][1] = pc;
  for (u32 i = 1; moved && i < k->stack.n && x->slots < LOG_MAX_WAIT_STACK; i++, x->slots++)
    x->slot[i][0] = k->stack.sp[i - 1], x->slot[i][1] = k->stack.entry[i].pc;
  store(&w->waits, w->waits + moved);
  for (u32 r = 0; r < RINGS; r++)
    for (u64 n = w->n ? ((w->n - 1) >> r * SHIFT) + 1 : 0, i = n; i-- > less(n, SAMPLES - LAP) && w->ring[r][i % SAMPLES].at > from;)
      w->ring[r][i % SAMPLES].in = call;
}

/* looked notes where a thread is that was looked at. */
static void looked(struct process *p, struct watch *k, struct watched *w, u64 pc) {
  i64 call = w->still ? call_at(k, pc) : RAN;
  if (w->still) note_wait(k, w, call, pc);
  open_found(p, k, w, call);
}

/* ---- samples ---- */

/* forget_thread makes room for another thread. */
static void forget_thread(struct process *p, struct watch *k, struct watched *w) {
  open_left(p, k, w);
  forget_handle(w);
  w->n = w->waits = w->still = w->looked = w->due = w->no_room = w->lock = 0;
  store(&w->tid, 0);
  store(&w->claimed, 0);
}

/* is_due reports whether a thread is to be looked at: if it has not run for half of the threshold, or when a call of it is over its
 * own. Where times have steps, it is looked at again, as it may have run. Threads that run are looked at once in a second. */
static int is_due(struct process *p, const struct watch *k, const struct watched *w, u64 time) {
  if (!w->still || time - w->still < p->threshold / 2) return time - w->looked >= PAUSE;
  if (w->due && time >= w->due) return 1;
  return !w->place[0] || (!is_exact(k) && time - w->looked >= p->threshold / 4);
}

/* sample notes how long a thread has run, and looks at it if that is due. */
static void sample(struct process *p, struct watch *k, struct watched *w, u64 time) {
  u64 cpu = cpu_of_watched(k, w), n = w->n, pc;
  const struct sample *last = &w->ring[0][(n - 1) % SAMPLES];
  struct sample x = {time, cpu, RAN};
  int same = n && cpu == last->cpu && rests(k);
  if (same && has_ended(w)) {
    forget_thread(p, k, w);
    return;
  }
  if (same && !w->still) w->still = last->at, w->in = is_exact(k) ? UNKNOWN : RAN, w->place[0] = 0;
  if (!same) w->still = w->due = 0;
  if (same) x.in = is_exact(k) ? w->in : RAN; /* where times have steps it may have run */
  else if (n && is_exact(k) && rests(k) && cpu_ns(p, cpu - last->cpu) < (time - last->at) / 2) x.in = UNKNOWN;
  for (u32 r = 0; r < RINGS && !(n & ((1ull << r * SHIFT) - 1)); r++) w->ring[r][(n >> r * SHIFT) % SAMPLES] = x;
  store(&w->n, n + 1);
  if (same && w->in >= 0 && is_exact(k)) {
    store(&w->wait[(w->waits - 1) % WAITS].to, time);
    open_lasts(w, time);
  }
  if (is_due(p, k, w, time) && look_at(p, k, w, &pc)) looked(p, k, w, pc);
}

/* watch_tick samples some threads. */
static void watch_tick(struct process *p, u64 time) {
  struct watch *k = p->watch;
  u64 end;
  if (!k || is_quiet(p) || time < k->due || !lock_watch(k, 0)) return;
  for (u32 i = 0, done = 0; i < WATCHED && done < ROUND && !load(&p->ended); i++) {
    struct watched *w = &k->thread[k->next++ % WATCHED];
    if (!load(&w->tid)) continue;
    u32 before = w->no_room;
    sample(p, k, w, time), done++;
    k->no_room += w->no_room - before;
  }
  end = now(p);
  k->due = end + least(SHARE * (end - time), p->threshold / 4);
  store(&k->lock, 0);
}

