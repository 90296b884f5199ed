/* The copies of the program and of its libraries. */

#include "lbr.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct module lbr_modules[MAX_MODULES];
u64 lbr_module_count;
u32 lbr_moved;
u8 *lbr_regions[REGIONS];

/* open_plan opens the plan of a module and reads its head. */
static int open_plan(u64 number, struct plan *p) {
  char path[PATH + 8];
  u64 n = strlen(lbr_settings.plans);
  memcpy(path, lbr_settings.plans, n);
  path[n++] = '/';
  if (number >= 10) path[n++] = (char)('0' + number / 10);
  path[n++] = (char)('0' + number % 10);
  path[n] = 0;
  int fd = lbr_open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  if (lbr_read(fd, p, sizeof *p) == sizeof *p && !memcmp(p->magic, "cairnlbr", 8) && p->version == PLAN_VERSION && p->number == number) return fd;
  lbr_close(fd);
  return -1;
}

const char *lbr_read_plans(void) {
  struct plan p;
  for (int fd; lbr_module_count < MAX_MODULES && (fd = open_plan(lbr_module_count, &p)) >= 0; lbr_module_count++) {
    lbr_modules[lbr_module_count].device = p.device;
    lbr_modules[lbr_module_count].inode = p.inode;
    lbr_close(fd);
  }
  return lbr_module_count ? 0 : "the plan cannot be read";
}

/* ---- pages ---- */

/* own assigns the pages of a module to number; 0 is none. */
static int own(const struct module *m, u8 number) {
  for (u64 i = 0; i < m->mapped_count; i++) {
    for (u64 page = (m->lo + m->mapped[2 * i]) / PAGE; page < (m->lo + m->mapped[2 * i + 1]) / PAGE; page++) {
      u8 **region = &lbr_regions[page / REGION_PAGES];
      if (!*region) {
        void *r = lbr_mmap(0, REGION_PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (r == MAP_FAILED) return 0;
        __atomic_store_n(region, r, __ATOMIC_RELEASE);
      }
      (*region)[page % REGION_PAGES] = number;
    }
  }
  return 1;
}

/* protect sets the rights of the first mappings of a module; it returns how many succeeded. */
static u64 protect(const struct module *m, u64 count, int rights) {
  u64 i = 0;
  while (i < count && lbr_mprotect((void *)(m->lo + m->mapped[2 * i]), m->mapped[2 * i + 1] - m->mapped[2 * i], rights) == 0) i++;
  return i;
}

struct module *lbr_module_at(u64 addr) {
  u64 page = addr / PAGE;
  u8 *region = page / REGION_PAGES < REGIONS ? lbr_regions[page / REGION_PAGES] : 0;
  u8 n = region ? region[page % REGION_PAGES] : 0;
  return n ? &lbr_modules[n - 1] : 0;
}

struct module *lbr_module_of_copy(u64 pc) {
  for (struct module *m = lbr_modules; m < lbr_modules + lbr_module_count; m++)
    if (pc - (m->code + 1) < m->code_size) return m;
  return 0;
}

/* ---- loading ---- */

/* place finds room for a copy within reach of the original: at the preferred distance, or else
 * anywhere. */
static u64 place(const struct plan *p, u64 lo, u64 size, i64 *moved) {
  for (int i = 0; i < 64; i++) {
    i64 distance = p->distance;
    if (i) distance = (i & 1 ? -1 : 1) * (i64)(1 + i / 2) * (1 << 26);
    *moved = distance - p->distance;
    if (i && (p->nearest - *moved < INT32_MIN || p->farthest - *moved > INT32_MAX)) continue;
    u64 at = lo + (u64)distance;
    void *m = lbr_mmap((void *)at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (m == (void *)at) return at;
    if (m != MAP_FAILED) lbr_munmap(m, size); /* a kernel that treats the address as a hint */
  }
  return 0;
}

/* map_copy maps the code at an address, and its words after it. */
static const char *map_copy(const struct plan *p, int fd, u64 at, u64 bias, i64 moved, const u32 *far) {
  u64 size = (p->words * 8 + PAGE - 1) & ~(PAGE - 1ul), *words = (u64 *)(at + p->code_size);
  int rights = PROT_READ | (moved ? PROT_WRITE : PROT_EXEC);
  if (lbr_mmap((void *)at, p->code_size, rights, MAP_PRIVATE | MAP_FIXED, fd, (off_t)p->code_at) == MAP_FAILED) return "no memory";
  if (lbr_mmap(words, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, (off_t)p->words_at) == MAP_FAILED) return "no memory";
  words[0] = (u64)lbr_dispatch + (u64)p->number * DISPATCH_SIZE;
  words[1] = (u64)lbr_system_call;
  for (u64 i = 2; i < p->words; i++) words[i] += bias;
  if (!moved) return 0;
  for (u64 i = 0; i < p->far; i++) {
    u8 *d = (u8 *)(at + far[i] - 4);
    i32 v;
    memcpy(&v, d, sizeof v);
    v -= (i32)moved;
    memcpy(d, &v, sizeof v);
  }
  return lbr_mprotect((void *)at, p->code_size, PROT_READ | PROT_EXEC) < 0 ? "the kernel refuses to change the copy" : 0;
}

/* map_tables maps the tables that do not depend on the load address. They stay mapped: events are
 * evaluated later. */
static int map_tables(struct module *m, const struct plan *p, int fd) {
  if (m->entry) return 1;
  const u8 *t = lbr_mmap(0, p->starts_at + p->starts * 4 - p->entry_at, PROT_READ, MAP_PRIVATE, fd, (off_t)p->entry_at);
  if (t == MAP_FAILED) return 0;
  m->entry = (const u32 *)t;
  m->functions = (const u32 *)(t + p->functions_at - p->entry_at);
  m->function_count = p->functions;
  m->far = (const u32 *)(t + p->far_at - p->entry_at);
  m->mapped = (const u32 *)(t + p->mapped_at - p->entry_at);
  m->mapped_count = p->mapped;
  m->starts = (const u32 *)(t + p->starts_at - p->entry_at);
  m->start_count = p->starts;
  m->ranks = (const struct rank *)(t + p->ranks_at - p->entry_at);
  return 1;
}

/* fill makes the copy and records its address. */
static const char *fill(struct module *m, const struct plan *p, int fd, u64 bias) {
  u64 lo = p->lo + bias;
  i64 moved;
  if (!map_tables(m, p, fd)) return "no memory";
  m->copy_size = p->code_size + ((p->words * 8 + PAGE - 1) & ~(PAGE - 1ul));
  u64 copy = place(p, lo, m->copy_size, &moved);
  if (!copy) return "no room for the copy of its code";
  const char *why = map_copy(p, fd, copy, bias, moved, m->far);
  if (why) {
    lbr_munmap((void *)copy, m->copy_size);
    return why;
  }
  m->lo = lo;
  m->span = p->hi - p->lo;
  m->bias = bias;
  m->code = copy - 1;
  m->code_size = p->code_size;
  return 0;
}

/* runnable reports whether the pages of a module are mapped as its file requires: readable,
 * executable and not writable. Others keep their rights. */
static int runnable(const struct module *m) {
  for (u64 i = 0; i < m->mapped_count; i++)
    if (!lbr_mapped_as(m->lo + m->mapped[2 * i], m->lo + m->mapped[2 * i + 1], "r-xp")) return 0;
  return 1;
}

/* take makes the original non-executable: all of it, or nothing. */
static const char *take(struct module *m) {
  u64 taken = protect(m, m->mapped_count, PROT_READ);
  if (taken == m->mapped_count) return 0;
  protect(m, taken, PROT_READ | PROT_EXEC);
  return "the kernel cannot make its code not executable";
}

const char *lbr_load(struct module *m, u64 bias) {
  struct plan p;
  u64 number = (u64)(m - lbr_modules);
  int fd = open_plan(number, &p);
  if (fd < 0) return "the plan cannot be read";
  const char *why = p.relocated ? "the dynamic linker changes its code (text relocations)" : fill(m, &p, fd, bias);
  lbr_close(fd);
  if (why) return why;
  if (!runnable(m)) {
    why = "its code is not mapped as in its file, or is writable";
  } else {
    __atomic_store_n(&m->size, m->span, __ATOMIC_RELEASE);
    why = own(m, (u8)(number + 1)) ? take(m) : "no memory";
  }
  if (why) lbr_unload(m);
  return why;
}

void lbr_unload(struct module *m) {
  lbr_moves();
  own(m, 0);
  __atomic_store_n(&m->size, 0, __ATOMIC_RELEASE);
  m->code_size = 0;
  lbr_munmap((void *)(m->code + 1), m->copy_size);
}

void lbr_release(struct module *m) {
  own(m, 0);
  __atomic_store_n(&m->size, 0, __ATOMIC_RELEASE);
  protect(m, m->mapped_count, PROT_READ | PROT_EXEC);
}
