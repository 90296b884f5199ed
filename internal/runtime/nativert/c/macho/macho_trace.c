/* Mode trace: chunks of events, as c/timed/trace.c has them. All but the routine runs under the lock. */

static u64 nowhere[2]; /* for events that have no other place */

/* ring_chunk returns the oldest chunk that no thread writes to, or another one. */
static u8 *ring_chunk(struct process *p, u32 tid) {
  for (u64 i = 0; i < p->ring_chunks; i++) {
    struct place *at = &p->ring[p->hand++ % p->ring_chunks];
    u8 *c = at->at;
    if (!c) return at->at = map_chunk(p);
    if (!*(u32 *)(c + LOG_CHUNK_USED_OFFSET) && !at->ended && *(u32 *)(c + LOG_CHUNK_TID_OFFSET) != tid) continue;
    p->overwritten++;
    at->ended = 0;
    store((u32 *)c, 0);
    for (u64 k = 0; k < CHUNK / 8; k++) ((volatile u64 *)c)[k] = 0;
    return c;
  }
  return map_chunk(p); /* all are in use */
}

/* complete closes a chunk, and returns its number plus 1. Its address stays: a frame that a signal interrupted long ago may be
 * about to write there. */
static u32 complete(struct process *p, u8 *c, u64 time) {
  u32 number = *(u32 *)(c + LOG_CHUNK_SEQUENCE_OFFSET) + 1;
  *(u64 *)(c + LOG_CHUNK_LAST_OFFSET) = time;
  *(u32 *)(c + LOG_CHUNK_USED_OFFSET) = LOG_CHUNK_SIZE - LOG_CHUNK_HEADER_SIZE;
  *(u32 *)(c + LOG_CHUNK_CHECKSUM_OFFSET) = sum_of(c, LOG_CHUNK_CHECKSUM_OFFSET);
  if (!p->ring_chunks) mmap(c, CHUNK, PROT_RW, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0);
  return number;
}

/* another completes a thread's chunk, if it has one, and gives it another. */
static u8 *another(struct process *p, u8 *old, u32 tid) {
  u64 time = moment(p);
  u32 before = old && *(u32 *)old == LOG_CHUNK_MAGIC ? complete(p, old, time) : 0;
  u8 *c = p->off || !begin_log(p) ? 0 : p->ring_chunks ? ring_chunk(p, tid) : map_chunk(p);
  if (!c) return p->sink;
  *(u32 *)(c + LOG_CHUNK_KIND_OFFSET) = LOG_KIND_EVENTS;
  *(u32 *)(c + LOG_CHUNK_PID_OFFSET) = (u32)p->pid;
  *(u32 *)(c + LOG_CHUNK_TID_OFFSET) = tid;
  *(u32 *)(c + LOG_CHUNK_SEQUENCE_OFFSET) = p->sequence++;
  *(u64 *)(c + LOG_CHUNK_FIRST_OFFSET) = time;
  *(u32 *)(c + LOG_CHUNK_BEFORE_OFFSET) = before;
  store((u32 *)c, LOG_CHUNK_MAGIC);
  return c;
}

/* thread_ends notes that a thread, whose position was at, has ended: another may use its chunk. */
static void thread_ends(void *at) {
  struct process *p = shared.process;
  u8 *c = (u8 *)(((u64)at - 1) & ~(CHUNK - 1));
  if (!p || !p->ring_chunks) return;
  take(p);
  for (u64 i = 0; i < p->ring_chunks; i++)
    if (p->ring[i].at == c && c) p->ring[i].ended = 1;
  give(p);
}

static int start_mode(struct process *p) {
  p->sink = map_memory(CHUNK, PROT_RW);
  p->ring = (struct place *)map_memory((p->ring_chunks + 1) * sizeof *p->ring, PROT_RW);
  return p->sink && p->ring;
}

static void write_mode(struct process *p, int final) {
  (void)final;
  if (load(&p->first)) write_status(p);
}

static void module_goes(struct process *p, struct module *m) {}

/* fork_mode makes the child begin a log of its own at its next event. */
static void fork_mode(struct process *p) {
  set_origin(p);
  p->clock = 1;
  p->ticks = p->worst = p->hand = p->overwritten = p->sequence = 0;
  for (u64 i = 0; i < p->ring_chunks; i++) p->ring[i] = (struct place){0, 0};
  pthread_setspecific(p->key, 0);
}

/* ---- what inserted code calls ---- */

/* next returns the position behind the next event of this thread, whose chunk is full, or which has none. */
static u64 next(struct process *p) {
  take(p);
  u64 at = own_slot(8 * p->key), was = at;
  if (!at || (at & (CHUNK - 1)) == CHUNK - LOG_EVENT_SIZE) at = (u64)another(p, (u8 *)(at & ~(CHUNK - 1)), thread_number()) + LOG_CHUNK_HEADER_SIZE;
  at += LOG_EVENT_SIZE;
  if (was) set_slot(8 * p->key, at);
  else pthread_setspecific(p->key, (void *)at); /* the first time: so that the system calls thread_ends */
  give(p);
  if (p->ready) start_clock(p);
  return at;
}

static u64 of_trace_full(u64 unused, u8 *vectors, u64 sp) {
  (void)unused, (void)sp;
  u64 state = begin_system(vectors);
  struct process *p = start();
  u64 at = p ? next(p) : (u64)&nowhere[1];
  end_system(state, vectors);
  return at;
}

ROUTINE(trace_full)
