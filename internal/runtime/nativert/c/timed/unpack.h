/* The decoder of what a library contains compressed; compress.go has the format and the encoder. */
#ifndef CAIRN_UNPACK_H
#define CAIRN_UNPACK_H

/* Models of bits, by number. Each is the probability of a bit 1 in 1/65536, as the distance from a half: memory that
 * is 0 has what decoding begins with. */
enum {
  PACKED_COPY = 0,   /* a copy follows; whether the step before was one */
  PACKED_AGAIN = 2,  /* from the last offset */
  PACKED_AGAINS = 4, /* its length, and that of others */
  PACKED_LENGTHS = 132,
  PACKED_SIZES = 260,    /* number of an offset's bits, for four lengths */
  PACKED_OFFSETS = 512,  /* its bits, for each such number */
  PACKED_BYTES = 1536,   /* a byte, for four places */
  PACKED_MODELS = 2560
};

struct packed {
  const u8 *at;
  u32 range, code;
  u16 *models;
};

static __attribute__((noinline)) u32 unpack_bit(struct packed *s, u32 model) {
  u32 p = s->models[model] ^ 0x8000u;
  while (s->range < 1u << 24) s->range <<= 8, s->code = s->code << 8 | *s->at++;
  u32 bound = (s->range >> 16) * p, bit = s->code < bound;
  if (bit) s->range = bound, p += (65535 - p) >> 5;
  else s->range -= bound, s->code -= bound, p -= p >> 5;
  s->models[model] = (u16)(p ^ 0x8000u);
  return bit;
}

/* unpack_tree reads a number with as many bits as its end has behind the first. */
static __attribute__((noinline)) u32 unpack_tree(struct packed *s, u32 model, u32 end) {
  u32 n = 1;
  while (n < end) n = 2 * n + unpack_bit(s, model + n);
  return n - end;
}

static __attribute__((noinline)) u32 unpack_number(struct packed *s, u32 model) {
  for (u32 n = 1;;) {
    u32 of = model + (n < 63 ? n : 63);
    if (!unpack_bit(s, of)) return n;
    n = 2 * n + unpack_bit(s, of + 64);
  }
}

/* unpack writes what is packed behind the length at from, which is the room at to, aligned to 4 bytes. models is
 * room for PACKED_MODELS numbers that are 0. */
static void unpack(u8 *to, const u8 *from, u16 *models) {
  struct packed s = {from + 4, 1, 0, models};
  const u8 *end = to + *(const u32 *)from;
  u64 offset = 0;
  for (u32 copied = 0, n; to < end;) {
    if (!unpack_bit(&s, PACKED_COPY + copied)) {
      *to = (u8)unpack_tree(&s, PACKED_BYTES + ((u64)to & 3) * 256, 256);
      to++;
      copied = 0;
      continue;
    }
    if (unpack_bit(&s, PACKED_AGAIN + copied)) {
      n = unpack_number(&s, PACKED_AGAINS);
    } else {
      n = unpack_number(&s, PACKED_LENGTHS) + 1;
      u32 size = unpack_tree(&s, PACKED_SIZES + (n < 5 ? n - 2 : 3) * 32, 32);
      offset = size ? 1 : 0;
      for (u32 i = size; i > 1; i--) offset = 2 * offset + unpack_bit(&s, PACKED_OFFSETS + size * 32 + i - 2);
      offset++;
    }
    copied = 1;
    for (; n; n--, to++) *to = to[-offset];
  }
}

#endif
