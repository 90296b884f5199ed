/* The decoder of what a library contains compressed; compress.go has the format and the encoder. */
#ifndef CAIRN_UNPACK_H
#define CAIRN_UNPACK_H

struct packed {
  const u8 *at;
  u32 bits; /* above the last one that is left is a bit 1 */
};

static __attribute__((noinline)) u32 unpack_bit(struct packed *s) {
  if (s->bits == 1) s->bits = *s->at++ | 256u;
  u32 b = s->bits & 1;
  s->bits >>= 1;
  return b;
}

static __attribute__((noinline)) u32 unpack_number(struct packed *s) {
  u32 n = 1;
  while (unpack_bit(s)) n = 2 * n + unpack_bit(s);
  return n;
}

/* unpack writes what is packed behind the length at from, which is the room at to. */
static void unpack(u8 *to, const u8 *from) {
  struct packed s = {from + 4, 1};
  const u8 *end = to + *(const u32 *)from;
  for (u64 offset = 0; to < end;) {
    if (!unpack_bit(&s)) {
      *to++ = *s.at++;
      continue;
    }
    u32 again = !unpack_bit(&s), n;
    if (!again) {
      offset = (u64)(unpack_number(&s) - 1) << 8;
      offset += *s.at++ + 1ul;
    }
    for (n = unpack_number(&s) + !again; n; n--, to++) *to = to[-offset];
  }
}

#endif
