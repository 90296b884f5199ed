/* Loaded modules: their sections, and the CodeView record that identifies them. */

struct section {
  char name[8];
  u32 size, addr, raw[4];
  u16 unused[2];
  u32 flags;
};
struct debug {
  u32 unused[3], kind, size, addr, offset;
};
struct codeview {
  u32 magic;
  u8 id[20]; /* GUID, age */
};
extern const u8 __ImageBase[];

static const u8 *optional(const u8 *base) { return base + *(const i32 *)(base + 60) + 24; }

/* find_section finds a section of a loaded module. */
static u8 *find_section(const u8 *base, const char *name, u32 *size) {
  const u8 *o = optional(base);
  const struct section *s = (const struct section *)(o + *(const u16 *)(o - 4));
  for (u32 n = *(const u16 *)(o - 18); n--; s++) {
    u32 i = 0;
    while (i < 8 && s->name[i] == name[i] && name[i]) i++;
    if (i == 8 || s->name[i] == name[i]) {
      *size = s->size;
      return (u8 *)base + s->addr;
    }
  }
  *size = 0;
  return 0;
}

static u32 image_size(const u8 *base) { return *(const u32 *)(optional(base) + 56); }

/* find_id finds the identity of a loaded module. No loader reads the directory of debug information: it may be anything. */
static const struct codeview *find_id(const u8 *base) {
  const u8 *o = optional(base);
  const u32 *directory = (const u32 *)(o + 112 + 6 * 8);
  const struct debug *d = (const struct debug *)(base + directory[0]);
  u32 size = image_size(base);
  if (*(const u32 *)(o + 108) <= 6 || directory[0] > size || directory[1] > size - directory[0]) return 0;
  for (u32 n = directory[1] / sizeof *d; n--; d++) {
    const struct codeview *c = (const struct codeview *)(base + d->addr);
    if (d->kind == 2 && d->size >= sizeof *c && d->addr <= size - sizeof *c && c->magic == 0x53445352 /* RSDS */) return c;
  }
  return 0;
}

static int is_dll(const u8 *base) { return *(const u16 *)(optional(base) - 2) >> 13 & 1; }
