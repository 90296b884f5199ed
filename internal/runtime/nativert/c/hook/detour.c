/* Hooks in functions of an unmodified program: the plan is read, trampolines are put
 * near the code, and jumps to them are written over the first bytes of functions.
 *
 * Memory is never writable and executable at a time: while sites are written,
 * their pages cannot be executed, and no other thread runs; see detour_stop.c. */

#include "detour.h"
#include "elf.h"

struct hooked __cairn_hooked[HOOKED];
u32 __cairn_hooked_count;

enum { PF_X = 1, PF_W = 2, PF_R = 4, PROT_RX = 5, PAGE = 4096, NT_BUILD_ID = 3 };

struct dl_info {
  u64 addr;
  const char *name;
  const struct phdr *phdr;
  u16 phnum;
};
extern int dl_iterate_phdr(int (*)(struct dl_info *, u64, void *), void *) WEAK;

static int same(const u8 *a, const u8 *b, u64 n) {
  while (n && *a == *b) a++, b++, n--;
  return n == 0;
}

/* ---- the plan ---- */

static const u8 *read_file(const char *path, u64 *size) {
  i64 fd = sys3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
  if (failed(fd)) return 0;
  i64 n = sys3(SYS_lseek, fd, 0, 2 /* SEEK_END */);
  i64 at = n > 0 ? map(0, n, 1 /* PROT_READ */, MAP_PRIVATE, (i32)fd, 0) : -1;
  sys1(SYS_close, fd);
  *size = (u64)n;
  return failed(at) ? 0 : (const u8 *)at;
}

/* Parts of the file must be complete; references are checked at their use. */
static const u8 *next_plan(struct hooked *h, const u8 *at, const u8 *end) {
  const struct plan *p = (const struct plan *)at;
  if ((u64)(end - at) < sizeof *p || p->id_len > sizeof p->id) return 0;
  u64 left = (u64)(end - at) - sizeof *p;
  u64 sites = p->sites * sizeof(struct site), fixups = p->fixups * sizeof(struct fixup);
  if (left < sites + fixups + up8(p->blob) || p->blob < 8) return 0;
  h->plan = p;
  h->site = (const struct site *)(p + 1);
  h->fixup = (const struct fixup *)(at + sizeof *p + sites);
  h->image = (const u8 *)h->fixup + fixups;
  return h->image + up8(p->blob);
}

/* ---- the module in memory ---- */

static int has_id(const struct dl_info *d, const struct plan *p) {
  for (u32 i = 0; i < d->phnum; i++) {
    const struct phdr *h = &d->phdr[i];
    if (h->type != PT_NOTE) continue;
    const u8 *at = (const u8 *)(d->addr + h->vaddr), *end = at + h->memsz;
    while ((u64)(end - at) >= sizeof(struct note)) {
      const struct note *n = (const struct note *)at;
      u64 name = (n->name_len + 3ul) & ~3ul, desc = (n->desc_len + 3ul) & ~3ul;
      if (name + desc + 12 > (u64)(end - at)) break;
      if (n->type == NT_BUILD_ID && n->name_len == 4 && same(n->name, (const u8 *)"GNU", 4))
        return n->desc_len >= p->id_len && same(at + 16, p->id, p->id_len);
      at += 12 + name + desc;
    }
  }
  return 0;
}

static const char other_program[] = "";

struct search {
  struct hooked *h;
  u32 seen;
  u8 found, whole; /* whole: all sites are in one segment */
};

/* code finds the segment that contains all sites. */
static int code(struct hooked *h, const struct dl_info *d) {
  const struct plan *p = h->plan;
  u64 lo = h->site[0].at, hi = h->site[p->sites - 1].at + JUMP;
  for (u32 i = 0; i < d->phnum; i++) {
    const struct phdr *s = &d->phdr[i];
    if (s->type != PT_LOAD || s->flags != (PF_R | PF_X) || lo < s->vaddr || hi > s->vaddr + s->filesz) continue;
    h->text = (d->addr + lo) & ~(PAGE - 1ul);
    h->text_end = (d->addr + hi + PAGE - 1) & ~(PAGE - 1ul);
    h->text_offset = s->offset + (h->text - d->addr - s->vaddr);
    return 1;
  }
  return 0;
}

static int look(struct dl_info *d, u64 size, void *arg) {
  struct search *s = arg;
  struct hooked *h = s->h;
  (void)size;
  int first = s->seen++ == 0; /* the program itself */
  if (h->plan->main != first || (h->plan->id_len && !has_id(d, h->plan))) return 0;
  const char *path = first ? "/proc/self/exe" : d->name;
  if (length(path) >= sizeof h->path) return 0;
  put(h->path, path);
  h->bias = d->addr;
  s->found = 1;
  s->whole = (u8)code(h, d);
  return 1;
}

/* find finds the plan's module, whose code must be that of the plan. Other programs that the
 * program starts inherit the environment: they are not changed. */
static const char *find(struct hooked *h) {
  const struct plan *p = h->plan;
  struct search s = {h, 0, 0, 0};
  for (u32 i = 1; i < p->sites; i++)
    if (h->site[i].at < h->site[i - 1].at + JUMP) return "its plan is damaged";
  if (dl_iterate_phdr) dl_iterate_phdr(look, &s);
  if (!s.found) return other_program;
  if (!s.whole) return "its code is in several segments, or writable";
  for (u32 i = 0; i < p->sites; i++) {
    const struct site *t = &h->site[i];
    h->changed += !same((const u8 *)(h->bias + t->at), t->original, JUMP);
    if (t->entry >= p->blob) return "its plan is damaged";
  }
  /* Other hooks may have changed the code already. Without a build id it is another build. */
  return h->changed && (!p->id_len || h->changed == p->sites) ? "its code differs from its file" : 0;
}

/* ---- trampolines ---- */

static int distance(u64 from, u64 to, i32 *out) {
  i64 d = (i64)(to - from);
  *out = (i32)d;
  return *out == d;
}

/* place puts the trampolines near the module. */
static const char *place(struct hooked *h) {
  const struct plan *p = h->plan;
  u64 size = (p->blob + PAGE - 1ul) & ~(PAGE - 1ul);
  u8 *b = __cairn_near(h->bias + p->lo, h->bias + p->hi, size);
  if (!b) return "there is no free memory near its code";
  copy(b, h->image, p->blob);
  *(u64 *)b = (u64)__cairn_hook_trampoline;
  for (u32 i = 0; i < p->fixups; i++) {
    const struct fixup *f = &h->fixup[i];
    i32 d;
    if (f->at > p->blob - (f->kind == FIXUP_ADDRESS ? 8ul : 4ul)) return "its plan is damaged";
    if (f->kind == FIXUP_ADDRESS) {
      *(u64 *)(b + f->at) = h->bias + f->target;
      continue;
    }
    if (!distance((u64)b + f->at + 4, h->bias + f->target, &d)) return "it is too large: hooks cannot reach all of it";
    copy(b + f->at, &d, 4);
  }
  h->blob = (u64)b;
  return __cairn_seal(b, size) ? "the system allows no new code (SELinux execmem?)" : 0;
}

/* ---- the sites ---- */

static void write_sites(struct hooked *h, int on) {
  for (u32 i = 0; i < h->plan->sites; i++) {
    const struct site *t = &h->site[i];
    u64 at = h->bias + t->at;
    u8 jump[JUMP] = {0xe9};
    i32 d = (i32)(h->blob + t->entry - (at + JUMP));
    copy(jump + 1, &d, 4);
    /* Bytes that others have changed since then stay. */
    if (same((const u8 *)at, on ? t->original : jump, JUMP)) copy((u8 *)at, on ? jump : t->original, JUMP);
  }
}

/* renew maps the pages from the file again. */
static void renew(struct hooked *h) {
  i64 fd = sys3(SYS_open, h->path, O_RDONLY | O_CLOEXEC, 0);
  if (failed(fd)) return;
  map(h->text, h->text_end - h->text, PROT_RX, MAP_PRIVATE | MAP_FIXED, (i32)fd, h->text_offset);
  sys1(SYS_close, fd);
}

/* change hooks or unhooks all functions. Systems that forbid changed code report that only
 * after the change, when it is not executable any more. */
static const char *change(struct hooked *h, int on) {
  u64 size = h->text_end - h->text;
  if (h->on == on) return 0;
  if (sys3(SYS_mprotect, h->text, size, PROT_RW)) return "its code cannot be changed";
  write_sites(h, on);
  if (sys3(SYS_mprotect, h->text, size, PROT_RX)) {
    renew(h);
    h->on = 0;
    return "the system forbids changed code (SELinux execmod?)";
  }
  h->on = (u8)on;
  return 0;
}

/* change_all does so in all modules. Signals are blocked, as handlers of the program may be
 * in pages that are not executable meanwhile. */
static const char *change_all(int on) {
  u64 all = ~0ul, before;
  const char *why = 0;
  sys4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &all, &before, 8);
  for (u32 i = 0; i < __cairn_hooked_count; i++) {
    const char *w = change(&__cairn_hooked[i], on);
    if (w) why = w;
  }
  sys4(SYS_rt_sigprocmask, 2, &before, 0, 8);
  return why;
}

static const char *change_stopped(int on) {
  static i32 busy; /* process of the active thread: a child inherits the word, but not the thread */
  i32 pid = (i32)sys0(SYS_getpid), holder = 0;
  /* The active thread can stop a thread that waits here. */
  while (!__atomic_compare_exchange_n(&busy, &holder, pid, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    if (holder == pid) holder = 0, sys0(24 /* sched_yield */);
  const char *why = __cairn_stop(on);
  if (!why) {
    why = change_all(on);
    __cairn_go();
  }
  store(&busy, 0);
  return why;
}

/* cairn_detours unhooks all functions (0), which restores their bytes, or hooks them (1). It
 * reports whether it did; threads that block all signals can prevent that. Trampolines
 * stay: threads may be in them. */
__attribute__((visibility("default"))) int cairn_detours(int on) { return !change_stopped(on != 0); }

/* rehook is called when recording is switched off or on: functions without hooks have no
 * cost. */
HIDDEN void __cairn_rehook(int on) {
  int changes = 0;
  for (u32 i = 0; i < __cairn_hooked_count; i++) changes |= __cairn_hooked[i].on != on;
  if (changes && change_stopped(on))
    __cairn_misread(on ? "on" : "off", ": no hook is changed: a thread cannot be stopped");
}

/* ---- the start ---- */

static void print_summary(const char *why) {
  char text[256];
  put(put(text, "detours refused "), why);
  __cairn_hook_summary(text);
}

static void print_hooked(u64 n) {
  char text[64];
  put_number(put(text, "detours hooked "), n);
  __cairn_hook_summary(text);
}

/* print_other says that another program runs than the one that the plan is for. */
static void print_other(const char *path) {
  char text[4096] = "detours other ", *q = text + 14;
  while (*path && q < text + sizeof text - 1) *q++ = *path++;
  *q = 0;
  __cairn_hook_summary(text);
}

static const char *from_env(char **envp) {
  for (; envp && *envp; envp++)
    if (same((const u8 *)*envp, (const u8 *)"CAIRN_DETOURS=", 14)) return *envp + 14;
  return 0;
}

void __cairn_detours(struct process *p, char **envp, u32 threads) {
  const char *path = from_env(envp);
  u64 size = 0, hooked = 0;
  int found = 0;
  if (!path || !*path || p->off) return;
  const u8 *at = read_file(path, &size), *end = at + size;
  const struct plan_file *f = (const struct plan_file *)at;
  if (!at || size < sizeof *f || !same(f->magic, (const u8 *)"cairndet", 8) || f->version != 1)
    return print_summary("the plan cannot be read");
  at += sizeof *f;
  for (u32 i = 0; i < f->modules && __cairn_hooked_count < HOOKED; i++) {
    struct hooked *h = &__cairn_hooked[__cairn_hooked_count];
    h->changed = 0;
    at = next_plan(h, at, end);
    if (!at) return print_summary("the plan is truncated");
    if (!h->plan->sites) continue;
    const char *why = find(h);
    if (!why) why = place(h);
    found |= !why || *why;
    if (why && *why) print_summary(why);
    else if (!why) __cairn_hooked_count++, hooked += h->plan->sites - h->changed;
  }
  if (!found) print_other(p->exe.path);
  if (!hooked) return;
  if (p->set.quiet) return print_summary("spikes are not recorded until they are switched on");
  const char *why = threads == 1 ? change_all(1) : change_stopped(1);
  if (why) print_summary(why);
  else print_hooked(hooked);
}
