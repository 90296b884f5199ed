/* Spikes that wait until a program is told of them: who has the log adds them. */

enum { SPIKES = 64, STACK = 32, TEXT = 1024, DELAY = 20 * MS };

/* As in cairn_mark.h. */
struct spike {
  u64 number, lo, hi, threshold, end, frame;
  i32 tid, depth;
  __UINTPTR_TYPE__ stack[STACK];
  char thread[64], text[TEXT];
};

struct spikes {
  void (*told)(const struct spike *);
  u64 head, ready, tail; /* the log's thread advances the first two */
  u32 wake, done;        /* futexes: of ready, of tail */
  i32 tid;               /* of the thread that calls the callback */
  u32 leaves;            /* its code is to be unloaded */
  const void *code;      /* an address in it */
  u32 text[SPIKES];      /* lengths */
  u64 since[SPIKES];
  struct spike spike[SPIKES];
};

/* callback_spike adds an episode, unless too many are waiting. */
void __cairn_callback_spike(struct process *p, const u64 *f, i32 tid, const char *thread, u64 n) {
  struct spikes *s = load(&p->spikes);
  if (!s || s->head - load(&s->tail) == SPIKES) return;
  struct spike *k = &s->spike[s->head % SPIKES];
  const struct entry *x = (const struct entry *)((const u8 *)f + LOG_EPISODE_SIZE);
  clear(k, sizeof *k);
  k->number = f[1], k->end = f[2], k->lo = f[3], k->hi = f[4], k->threshold = f[5], k->frame = f[6];
  k->tid = tid;
  k->depth = (i32)least((u32)f[8] & 0xffff, STACK);
  for (i32 i = 0; i < k->depth; i++) k->stack[i] = x[i].pc;
  copy(k->thread, thread, least(n, sizeof k->thread - 1));
  s->text[s->head % SPIKES] = 0;
  s->since[s->head % SPIKES] = __cairn_now(p);
  s->head++;
}

/* callback_text adds a line to a waiting spike. */
void __cairn_callback_text(struct process *p, u64 number, const char *text, u64 n) {
  struct spikes *s = load(&p->spikes);
  for (u64 i = s ? s->ready : 0; s && i < s->head; i++) {
    struct spike *k = &s->spike[i % SPIKES];
    u32 *len = &s->text[i % SPIKES];
    if (k->number != number || *len + n + 2 > TEXT) continue;
    if (*len) k->text[(*len)++] = '\n';
    copy(k->text + *len, text, n);
    *len += (u32)n;
  }
}
