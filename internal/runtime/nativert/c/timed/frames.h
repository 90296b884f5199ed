/* The summary of the frames of a program, which is a part of the log: who has that writes it. */

struct bucket {
  u32 worst, over; /* worst: us */
};
struct frame {
  u64 number, end, took;
};

/* summary is the record, as package wire documents it. */
struct summary {
  u16 type, size;
  u32 edition; /* odd while it is written */
  u64 count, end, sum, worst, budget, over;
  u32 shift, used;
  struct bucket bucket[LOG_FRAME_BUCKETS];
  struct frame longest[LOG_FRAMES_LONGEST];
};
_Static_assert(sizeof(struct summary) == LOG_FRAMES_SIZE, "layout");

/* halve merges pairs of buckets. */
static void halve(struct summary *s) {
  for (u32 i = 0; i < LOG_FRAME_BUCKETS / 2; i++) {
    const struct bucket *a = &s->bucket[2 * i], *b = a + 1;
    s->bucket[i].worst = (u32)most(a->worst, b->worst);
    s->bucket[i].over = a->over + b->over;
  }
  clear(&s->bucket[LOG_FRAME_BUCKETS / 2], sizeof s->bucket / 2);
  s->used = LOG_FRAME_BUCKETS / 2;
}

/* keep puts a frame among the longest, in place of the shortest. */
static void keep(struct summary *s, u64 number, u64 end, u64 took) {
  struct frame *shortest = s->longest;
  for (u32 i = 1; i < LOG_FRAMES_LONGEST; i++)
    if (s->longest[i].took < shortest->took) shortest = &s->longest[i];
  if (took <= shortest->took) return;
  shortest->number = number, shortest->end = end, shortest->took = took;
}

/* frame_ended adds a record of next_frame. */
void __cairn_frame_ended(struct process *p, const u64 *f) {
  u64 number = f[1], end = f[2], took = f[3], budget = load(&p->frames.budget);
  if (!p->frames.summary) {
    u8 *c = __cairn_file_chunk(p, LOG_KIND_FRAMES, end);
    if (!c) return;
    p->frames.summary = (struct summary *)(c + LOG_CHUNK_HEADER_SIZE);
    p->frames.summary->size = LOG_FRAMES_SIZE;
    p->frames.since = number;
    p->frames.shift = 0;
    store(&p->frames.summary->type, LOG_TYPE_FRAMES);
  }
  struct summary *s = p->frames.summary;
  store(&s->edition, s->edition + 1);
  u64 at = less(number, p->frames.since);
  while (at >> p->frames.shift >= LOG_FRAME_BUCKETS) halve(s), p->frames.shift++;
  at >>= p->frames.shift; /* not an index from the mapped file, which other processes may change */
  s->shift = p->frames.shift;
  struct bucket *b = &s->bucket[at];
  s->used = (u32)most(s->used, at + 1);
  b->worst = (u32)most(b->worst, least(took / 1000, ~0u));
  s->count++, s->end = end, s->sum += took, s->worst = most(s->worst, took), s->budget = budget;
  if (took > budget) s->over++, b->over++;
  keep(s, number, end, took);
  store(&s->edition, s->edition + 1);
}
