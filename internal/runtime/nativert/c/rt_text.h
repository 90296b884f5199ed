/* Texts of the runtimes for macOS and Windows, whose characters have the type letter. */

/* put puts a text and returns its end. */
static letter *put(letter *p, const letter *s) {
  while ((*p = *s++)) p++;
  return p;
}

static letter *put_number(letter *p, u32 v) {
  letter b[12], *q = b + 11;
  *q = 0;
  do *--q = (letter)('0' + v % 10);
  while (v /= 10);
  return put(p, q);
}

/* put_some puts at most `most` characters. */
static __attribute__((unused)) letter *put_some(letter *p, const letter *s, u32 most) {
  for (; most && *s; most--) *p++ = *s++;
  *p = 0;
  return p;
}

static __attribute__((unused)) u32 length(const letter *s) {
  u32 n = 0;
  while (s[n]) n++;
  return n;
}
