/* Where the recorders of Windows and macOS have their chunks and rings from. Before, they define map_chunk(p): another chunk of the file, or 0. */

enum { SEGMENT = 16 };

/* fresh_chunk returns a chunk of the file that was never used, or 0. */
static struct chunk *fresh_chunk(struct process *p, struct ring *r) {
  if (!r->fresh) {
    struct chunk *c = (struct chunk *)anonymous(SEGMENT * sizeof *c);
    for (u32 i = 1; c && i < SEGMENT; i++) c[i - 1].next = &c[i];
    r->fresh = c;
  }
  struct chunk *c = r->fresh;
  if (!c || !take(p)) return 0;
  c->at = map_chunk(p);
  give(p);
  if (!c->at) return 0;
  r->fresh = c->next;
  return c;
}

/* ring_of returns the ring of this thread, which it makes, or takes from one that has ended; 0 without memory. */
static struct ring *ring_of(struct process *p) {
  struct thread *t = thread_of(p);
  if (!t || t->ring) return t ? t->ring : 0;
  if (load(&p->flight.free) && take(p)) {
    if ((t->ring = p->flight.free)) p->flight.free = t->ring->next;
    give(p);
  }
  if (!t->ring) t->ring = (struct ring *)anonymous(sizeof *t->ring);
  return t->ring;
}
