/* Unwinding by __unwind_info, as macOS does it, in the words of the C library of Linux: each
 * function's compact encoding becomes a frame description, whose rules hold in its whole body, where
 * the calls are. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "libsystem.h"

struct info { uint32_t version, common, commons, personality, personalities, index, indexes; };
struct index { uint32_t start, page, lsdas; };
struct lsda { uint32_t start, at; };
enum { HAS_LSDA = 0x40000000, DWARF_X64 = 4, DWARF_ARM = 3 };

static uint8_t *at; /* where the next byte of the descriptions goes */
static void byte(unsigned v) { *at++ = (uint8_t)v; }
static void word(uint64_t v, int n) { memcpy(at, &v, (size_t)n); at += n; }
static void uleb(uint64_t v) {
  do {
    byte((unsigned)(v & 0x7f) | (v > 0x7f ? 0x80 : 0));
    v >>= 7;
  } while (v);
}
/* cfa sets the frame's address, saved says that a register is n bytes below it. */
static void cfa(unsigned reg, uint64_t offset) { byte(0x0c); uleb(reg); uleb(offset); }
static void saved(unsigned reg, uint64_t below) { byte(0x05); uleb(reg); uleb(below / 8); }

#if __x86_64__
static const unsigned numbers[] = {0, 3, 12, 13, 14, 15, 6};
static int dwarf(uint32_t e) { return (e >> 24 & 15) == DWARF_X64; }
static void rules(const uint8_t *code, uint32_t e) {
  unsigned offset = e >> 16 & 0xff, mode = e >> 24 & 15;
  if (mode == 1) {
    cfa(6, 16);
    saved(6, 16);
    for (unsigned i = 0; i < 5; i++)
      if (e >> 3 * i & 7) saved(numbers[e >> 3 * i & 7], 16 + 8 * (offset - i));
    return;
  }
  uint64_t size = 8 * offset;
  if (mode == 3) {
    uint32_t v;
    memcpy(&v, code + offset, 4); /* the operand of sub */
    size = v + 8 * (e >> 13 & 7);
  }
  unsigned n = e >> 10 & 7, left = e & 0x3ff, used = 0;
  cfa(7, size);
  for (unsigned i = 0; i < n; i++) {
    unsigned below = 1; /* numbers of arrangements of what follows */
    for (unsigned k = i + 1; k < n; k++) below *= 6 - k;
    unsigned nth = left / below, reg = 1;
    left %= below;
    for (;; reg++)
      if (!(used >> reg & 1) && !nth--) break;
    used |= 1u << reg;
    saved(numbers[reg], 8 + 8 * (n - i));
  }
}
static void start_rules(void) { cfa(7, 8); saved(16, 8); }
enum { RETURN = 16 };
#else
static int dwarf(uint32_t e) { return (e >> 24 & 15) == DWARF_ARM; }
static void rules(const uint8_t *code, uint32_t e) {
  if ((e >> 24 & 15) != 4) return; /* without a frame there are no calls */
  uint64_t below = 24;
  cfa(29, 16);
  saved(29, 16);
  saved(30, 8);
  for (unsigned i = 0; i < 9; i++) {
    if (!(e >> (i < 5 ? i : i + 3) & 1)) continue;
    unsigned reg = i < 5 ? 19 + 2 * i : 72 + 2 * (i - 5);
    saved(reg, below);
    saved(reg + 1, below + 8);
    below += 16;
  }
}
static void start_rules(void) { cfa(31, 0); }
enum { RETURN = 30 };
#endif

/* padded ends an entry of .eh_frame, which began at start. */
static void padded(uint8_t *start) {
  while ((at - start) % 8 != 4) byte(0);
  uint32_t n = (uint32_t)(at - start - 4);
  memcpy(start, &n, 4);
}

static uint8_t *cie(uint64_t personality) {
  uint8_t *start = at;
  word(0, 8);
  byte(1);
  memcpy(at, personality ? "zPLR" : "zR", personality ? 5 : 3);
  at += personality ? 5 : 3;
  uleb(1);
  byte(0x78); /* data alignment: -8 */
  byte(RETURN);
  uleb(personality ? 11 : 1);
  if (personality) byte(0), word(personality, 8), byte(0);
  byte(0);
  start_rules();
  padded(start);
  return start;
}

static const struct info *info;
static uint64_t base;
static uint8_t *cies[4], *frames;

static uint64_t lsda_of(uint32_t from) {
  const struct index *x = (void *)((char *)info + info->index);
  const struct lsda *l = (void *)((char *)info + x[0].lsdas), *end = (void *)((char *)info + x[info->indexes - 1].lsdas);
  for (; l < end; l++)
    if (l->start == from) return base + l->at;
  return 0;
}

/* begin writes the description of a function up to its rules. */
static void begin(uint32_t from, uint32_t to, uint8_t *cie_at, uint64_t personality, uint64_t table) {
  word(0, 4);
  word((uint64_t)(at - cie_at), 4);
  word(base + from, 8);
  word(to - from, 8);
  uleb(personality ? 8 : 0);
  if (personality) word(table, 8);
}

/* describe_as copies the description of a function from __eh_frame. Those that linkers of Mach-O
 * write have the augmentation zPLR or zR, lengths of one byte, and distances to what they refer to: of
 * 8 bytes, but 4 to the personality. */
static void describe_as(uint32_t from, uint32_t to, uint8_t *fde) {
  uint8_t *cie_at = fde + 4 - *(uint32_t *)(fde + 4), *end = fde + 4 + *(uint32_t *)fde;
  uint64_t personality = 0, table = 0;
  uint8_t *augmentation = fde + 24;
  if (cie_at[10] == 'P') {
    uint8_t *p = cie_at + 9 + sizeof "zPLR" + 3 + 1 + 1; /* after factors, column, length, encoding */
    personality = *(uint64_t *)(p + *(int32_t *)p);
    int64_t d;
    memcpy(&d, augmentation + 1, 8);
    if (d) table = (uint64_t)augmentation + 1 + (uint64_t)d;
  }
  uint8_t *its = cie(personality), *start = at;
  begin(from, to, its, personality, table);
  uint8_t *p = augmentation + 1 + *augmentation;
  memcpy(at, p, (size_t)(end - p));
  at += end - p;
  padded(start);
}

static void describe(uint32_t from, uint32_t to, uint32_t e) {
  if (!e || from == to) return;
  if (dwarf(e)) {
    describe_as(from, to, frames + (e & 0xffffff));
    return;
  }
  unsigned p = e >> 28 & 3;
  uint64_t personality = p ? *(uint64_t *)(base + ((uint32_t *)((char *)info + info->personality))[p - 1]) : 0;
  if (!cies[p]) cies[p] = cie(personality);
  uint8_t *start = at;
  begin(from, to, cies[p], personality, e & HAS_LSDA ? lsda_of(from) : 0);
  rules((uint8_t *)(base + from), e);
  padded(start);
}

/* entry returns the nth function of a page, and its encoding. */
static uint32_t entry(const struct index *x, const uint8_t *page, unsigned n, uint32_t *encoding) {
  const uint16_t *h = (void *)(page + 4);
  const uint32_t *e = (void *)(page + h[0]);
  if (*(uint32_t *)page == 2) {
    *encoding = e[2 * n + 1];
    return e[2 * n];
  }
  unsigned k = e[n] >> 24;
  const uint32_t *commons = (void *)((char *)info + info->common);
  *encoding = k < info->commons ? commons[k] : ((uint32_t *)(page + h[2]))[k - info->commons];
  return x->start + (e[n] & 0xffffff);
}

extern void __register_frame(void *);

void register_unwind(uint64_t image, const void *section, uint64_t size, void *eh_frame) {
  info = section, base = image, frames = eh_frame;
  memset(cies, 0, sizeof cies);
  uint8_t *all = at = calloc(1, size * 64 + 4096);
  const struct index *x = (void *)((char *)info + info->index);
  for (uint32_t i = 0; i + 1 < info->indexes; i++) {
    const uint8_t *page = (uint8_t *)info + x[i].page;
    unsigned n = ((uint16_t *)(page + 4))[1];
    for (unsigned k = 0; k < n; k++) {
      uint32_t e, unused, from = entry(&x[i], page, k, &e);
      uint32_t to = k + 1 < n ? entry(&x[i], page, k + 1, &unused) : x[i + 1].start;
      describe(from, to, e);
    }
  }
  if (at > all) __register_frame(all);
}
