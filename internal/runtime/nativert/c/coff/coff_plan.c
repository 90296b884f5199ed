/* The plans of detours, of the program and of DLLs and programs that it loads and starts: they are read, and for each image that is
 * loaded and has one, trampolines are put near it. Memory is never writable and executable at a time. */

/* The file has these, one behind the other; internal/instrument/detour writes it. */
struct plan {
  char magic[8];
  u32 version, sites, fixups, blob;
  u64 base; /* preferred address of the image */
  u32 image, stamp; /* SizeOfImage, TimeDateStamp */
  u32 functions, table; /* of the trampolines, and their place in the blob */
  u8 id_len, id[20], derived, dll, pad; /* derived: the image has none */
  u64 length; /* of the plan with all that belongs to it */
};
struct site {
  u64 at;
  u32 entry;
  u8 original[5], inner[4], pad[3];
};
struct fixup {
  u32 at, kind;
  u64 target;
};
_Static_assert(sizeof(struct plan) == 80 && sizeof(struct site) == 24 && sizeof(struct fixup) == 16, "package detour");

IMPORT(i32, RtlAddFunctionTable, const void *, u32, u64);

enum { JUMP = 5, PAGE_RX = 0x20, MAP_READ = 4 };

static const struct plan *plans;
static u64 plans_size;

static const struct site *sites_of(const struct plan *p) { return (const struct site *)(p + 1); }
static const struct fixup *fixups_of(const struct plan *p) { return (const struct fixup *)(sites_of(p) + p->sites); }

/* next_plan returns the plan behind another, the first one for 0; 0 if there is none. */
static const struct plan *next_plan(const struct plan *p) {
  const u8 *at = p ? (const u8 *)p + p->length : (const u8 *)plans;
  return plans && at < (const u8 *)plans + plans_size ? (const struct plan *)at : 0;
}

static int same_bytes(const void *a, const void *b, u64 n) {
  const u8 *x = a, *y = b;
  while (n && *x == *y) x++, y++, n--;
  return !n;
}

/* damage returns what is wrong with the plan at the beginning of some bytes, 0 if it is sound. */
static const u16 *damage(const struct plan *p, u64 size) {
  if (size < sizeof *p || !same_bytes(p->magic, "cairndpe", 8) || p->version != 2) return u"the plan cannot be read";
  u64 need = sizeof *p + p->sites * (u64)sizeof(struct site) + p->fixups * (u64)sizeof(struct fixup) + p->blob;
  if (size < p->length || p->length < need || p->length % 8) return u"the plan is truncated";
  if (!p->sites || p->blob < 16 || p->id_len > sizeof p->id || p->table + p->functions * 12ull > p->blob) return u"its plan is damaged";
  for (const struct fixup *f = fixups_of(p); f < fixups_of(p) + p->fixups; f++)
    if (f->at > p->blob - 8ull) return u"its plan is damaged";
  for (const struct site *s = sites_of(p); s < sites_of(p) + p->sites; s++)
    if (s->at - p->base >= p->image - JUMP || s->entry >= p->blob || (s > sites_of(p) && s->at < s[-1].at + JUMP)) return u"its plan is damaged";
  return 0;
}

/* map_plans maps the file of the plans, and returns what is wrong with it. */
static const u16 *map_plans(const u16 *path) {
  enum { READ = (i32)0x80000000, OPEN_EXISTING = 3, READONLY = 2 };
  const u16 *why = 0;
  u64 size = 0;
  void *f = CreateFileW(path, (u32)READ, SHARE_ALL, 0, OPEN_EXISTING, NORMAL, 0);
  if (f == (void *)-1) return u"the plan cannot be read";
  void *m = GetFileSizeEx(f, &size) ? CreateFileMappingW(f, 0, READONLY, 0, 0, 0) : 0;
  const u8 *view = m ? MapViewOfFile(m, MAP_READ, 0, 0, 0) : 0;
  if (m) CloseHandle(m);
  CloseHandle(f);
  if (!view) return u"the plan cannot be read";
  for (u64 at = 0; at < size && !why; at += ((const struct plan *)(view + at))->length) why = damage((const struct plan *)(view + at), size - at);
  if (!why) plans = (const struct plan *)view, plans_size = size;
  return why;
}

/* ---- whose plan it is ---- */

/* is_like reports whether a plan may be that of a loaded image, and *sure if the image has an identity, which is the plan's. */
static int is_like(const struct plan *p, const u8 *base, int *sure) {
  const struct codeview *id = find_id(base);
  *sure = p->id_len && !p->derived;
  if (image_size(base) != p->image || *(const u32 *)(optional(base) - 16) != p->stamp || p->dll != is_dll(base)) return 0;
  return !*sure || (id && same_bytes(id->id, p->id, p->id_len));
}

static int same_code(const struct plan *p, const u8 *base) {
  for (const struct site *s = sites_of(p); s < sites_of(p) + p->sites; s++)
    if (!same_bytes(base + (s->at - p->base), s->original, JUMP)) return 0;
  return 1;
}

/* plan_of returns the plan of a loaded image, 0 if it has none or another one's code; then *why says so, if that is not what is to be
 * expected. */
static const struct plan *plan_of(const u8 *base, const u16 **why) {
  const u16 *differs = 0;
  int sure;
  for (const struct plan *p = 0; (p = next_plan(p));) {
    if (!p->dll && !is_dll(base) && !differs) differs = u"its plan is of another program";
    if (!is_like(p, base, &sure)) continue;
    if (same_code(p, base)) return p;
    if (sure || !p->dll) differs = u"its code differs from its file";
  }
  *why = differs;
  return 0;
}

/* ---- trampolines ---- */

/* Images that have trampolines, or had. */
enum { PLACED = 256 };
struct placed {
  const struct plan *plan;
  const u8 *base; /* 0: it is not loaded */
  u8 *blob;
};
static struct placed placed[PLACED];
static u32 places;

static u64 moved_by(const struct placed *x) { return (u64)x->base - x->plan->base; }

/* placed_at returns whose trampolines are at an address, 0 if none are. */
static const struct placed *placed_at(u64 pc) {
  for (const struct placed *x = placed, *end = placed + load(&places); x < end; x++)
    if (pc - (u64)x->blob < x->plan->blob) return x;
  return 0;
}

static u64 moved_from(u64 pc) {
  u64 base = 0;
  const struct placed *x = placed_at(pc);
  const struct function *f = x ? RtlLookupFunctionEntry(pc, &base, 0) : 0;
  return f && base == (u64)x->blob ? *(const u64 *)(base + f->begin - 8) + 1 : 0;
}

static int is_hooked(u64 function) {
  enum { JUMP_CODE = 0xe9, ENDBR = 0xfa1e0ff3 };
  const u8 *f = (const u8 *)function;
  if (*(const u32 *)f == ENDBR) f += 4;
  return *f == JUMP_CODE && placed_at((u64)f + 5 + (u64)(i64) * (const i32 *)(f + 1));
}

static const struct codeview *identity_of(const u8 *base) {
  static struct codeview ids[PLACED]; /* of those that have none */
  const struct codeview *own = find_id(base);
  const u16 *why;
  const struct plan *p = 0;
  u32 n = 0;
  if (own) return own;
  for (const struct placed *x = placed; x < placed + places; x++)
    if (x->base == base) p = x->plan;
  if (!p && !(p = plan_of(base, &why))) return 0;
  for (const struct plan *q = 0; (q = next_plan(q)) && q != p;) n++;
  if (!p->derived || n >= PLACED) return 0;
  copy(ids[n].id, p->id, sizeof ids[n].id);
  return &ids[n];
}

static const u64 reach = 0x7ff00000; /* of jumps */

/* near reserves memory that is within reach of a whole image. */
static u8 *near(u64 base, u64 image, u64 size) {
  enum { FREE = 0x10000 };
  u64 end = base + image, from = end > reach ? end - reach : GRAIN;
  struct region r;
  for (u64 at = most(from, GRAIN); at + size - base < reach || at < base; at = r.base + r.size) {
    if (!VirtualQuery(at, &r, sizeof r)) return 0;
    u64 begin = (most(r.base, from) + GRAIN - 1) & -(u64)GRAIN;
    if (r.use != FREE || begin + size > r.base + r.size) continue;
    if (begin > base && begin + size - base >= reach) return 0;
    u8 *found = VirtualAlloc((void *)begin, size, MEM_RESERVE | MEM_COMMIT, READWRITE);
    if (found) return found;
  }
  return 0;
}

/* reaches reports whether trampolines at an address are within reach of a whole image. */
static int reaches(u64 at, const struct plan *p, u64 base) {
  return at > base ? at + p->blob - base < reach : base + p->image - at < reach;
}

/* fill makes the trampolines of a plan for an image. */
static void fill(u8 *b, const struct plan *p, u64 base) {
  enum { FIXUP_ADDRESS = 1 };
  copy(b, fixups_of(p) + p->fixups, p->blob);
  ((u64 *)b)[0] = (u64)__cairn_detour_hook, ((u64 *)b)[1] = (u64)__cairn_detour_raises;
  for (const struct fixup *f = fixups_of(p); f < fixups_of(p) + p->fixups; f++) {
    u64 target = f->target + base - p->base;
    if (f->kind == FIXUP_ADDRESS) *(u64 *)(b + f->at) = target;
    else *(i32 *)(b + f->at) = (i32)(target - (u64)(b + f->at) - 4);
  }
}

/* place_new makes trampolines in new memory, and returns what prevents it. */
static const u16 *place_new(struct placed *x, const struct plan *p, const u8 *base) {
  u32 was;
  u8 *b = near((u64)base, p->image, p->blob);
  if (!b) return u"there is no free memory near its code";
  fill(b, p, (u64)base);
  if (!VirtualProtect(b, p->blob, PAGE_RX, &was)) return u"the system allows no new code";
  if (!RtlAddFunctionTable(b + p->table, p->functions, (u64)b)) return u"their unwind information is rejected";
  x->plan = p, x->base = base, x->blob = b;
  store(&places, places + 1);
  return 0;
}

/* place makes the trampolines of an image, where those are that it had when it was loaded before, and returns what prevents it. No
 * thread can be in trampolines of an image that is gone. */
static const u16 *place(const struct plan *p, const u8 *base, struct placed **made) {
  u32 was;
  struct placed *x = placed;
  while (x < placed + places && (x->base || x->plan != p || !reaches((u64)x->blob, p, (u64)base))) x++;
  if (x == placed + PLACED) return u"it was loaded too often";
  const u16 *why = 0;
  if (x == placed + places) why = place_new(x, p, base);
  else if (!VirtualProtect(x->blob, p->blob, READWRITE, &was)) why = u"the system allows no new code";
  else {
    fill(x->blob, p, (u64)base);
    if (VirtualProtect(x->blob, p->blob, PAGE_RX, &was)) x->base = base;
    else why = u"the system allows no new code";
  }
  if (!why) FlushInstructionCache((void *)-1, x->blob, p->blob), *made = x;
  return why;
}
