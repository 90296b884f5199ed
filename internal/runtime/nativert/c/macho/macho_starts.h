/* Where the functions of an image begin, which LC_FUNCTION_STARTS lists: distances, in ULEB128. What strip removes are names only. */

enum { LC_FUNCTION_STARTS = 0x26, EACH = 64 };

/* A mark is at every EACH of the functions. */
struct mark {
  u64 function;
  const u8 *next; /* distance of the function behind it */
};

/* distance reads a number, 0 at the end. */
static u64 distance(const u8 **at, const u8 *end) {
  u64 v = 0;
  for (u32 shift = 0; *at < end && shift < 63; shift += 7) {
    u8 b = *(*at)++;
    v |= (u64)(b & 127) << shift;
    if (!(b & 128)) return v;
  }
  return 0;
}

/* note_starts finds the list of an image, and marks it. */
static void note_starts(struct module *m) {
  const u32 *list = (const u32 *)find(m->image, LC_FUNCTION_STARTS);
  const struct command *c = (const struct command *)(m->image + 1);
  const u8 *at = 0, *end;
  for (u32 i = 0; i < m->image->commands; i++, c = (const struct command *)((const u8 *)c + c->size)) {
    const struct segment *s = (const struct segment *)c;
    if (c->kind == LC_SEGMENT_64 && word_value(s->name, "__LINKEDIT") && list) at = (const u8 *)(s->address + m->slide + list[2] - s->offset);
  }
  if (!at || !(m->marks = (struct mark *)map_memory((list[3] / EACH + 1) * sizeof(struct mark), PROT_RW))) return;
  end = at + list[3];
  u64 function = (u64)m->image;
  for (u64 d, n = 0; (d = distance(&at, end)); n++) {
    function += d;
    if (n % EACH == 0) m->marks[n / EACH] = (struct mark){function, at};
    m->functions = n + 1;
  }
  m->starts_end = end;
}

/* function_of returns the start of the function that an address is in, 0 if it is not known. */
static u64 function_of(const struct module *m, u64 pc) {
  u64 low = 0, high = (m->functions + EACH - 1) / EACH, d;
  while (low < high) {
    u64 middle = (low + high) / 2;
    if (m->marks[middle].function <= pc) low = middle + 1;
    else high = middle;
  }
  if (!low) return 0;
  const u8 *at = m->marks[low - 1].next;
  u64 function = m->marks[low - 1].function;
  for (u32 i = 1; i < EACH && (d = distance(&at, m->starts_end)) && function + d <= pc; i++) function += d;
  return function;
}
