/* Memory mappings, from /proc/self/maps. */

#include "lbr.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* parse reads "55d0-55d1 r-xp ...\n" */
static struct mapping parse(const char *c, u64 length) {
  u64 range[2] = {0, 0};
  struct mapping m = {.line = c, .length = length};
  for (int k = 0; *c != ' ' && *c != '\n'; c++) {
    if (*c == '-') k = 1;
    else range[k] = range[k] << 4 | (u64)(*c <= '9' ? *c - '0' : *c - 'a' + 10);
  }
  m.lo = range[0], m.hi = range[1];
  memcpy(m.rights, *c == ' ' ? c + 1 : "    ", 4);
  return m;
}

void lbr_mappings(void (*each)(const struct mapping *, void *), void *to) {
  enum { TEXT = 6000 }; /* a path has up to 4096 bytes */
  char text[TEXT];
  i64 n, have = 0;
  int fd = lbr_open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && (n = lbr_read(fd, text + have, sizeof text - (u64)have)) > 0) {
    char *line = text, *end = text + have + n, *stop;
    for (; (stop = memchr(line, '\n', (u64)(end - line))); line = stop + 1) {
      struct mapping m = parse(line, (u64)(stop + 1 - line));
      each(&m, to);
    }
    have = end - line;
    if (have == sizeof text) break;
    memmove(text, line, (u64)have);
  }
  if (fd >= 0) lbr_close(fd);
}

struct stretch {
  u64 at;
  const char *rights;
};

static void follow(const struct mapping *m, void *to) {
  struct stretch *s = to;
  if (m->lo <= s->at && s->at < m->hi && !memcmp(m->rights, s->rights, 4)) s->at = m->hi;
}

int lbr_mapped_as(u64 lo, u64 hi, const char *rights) {
  struct stretch s = {lo, rights};
  lbr_mappings(follow, &s);
  return s.at >= hi;
}

/* ---- records ---- */

u32 lbr_loads, lbr_loads_told;

/* A record that is being filled. */
struct maps {
  u64 n;
  u32 pid, unused;
  char text[(1 << 20) - PAGE]; /* a record has at most 2^20 bytes */
};

static void flush(struct maps *r) {
  lbr_emit(RECORD_MAPS, &r->pid, r->n + 8);
  r->n = 0;
}

static void add(const struct mapping *m, void *to) {
  struct maps *r = to;
  if (m->rights[2] != 'x') return;
  if (m->length > sizeof r->text - r->n) flush(r);
  memcpy(r->text + r->n, m->line, m->length);
  r->n += m->length;
}

void lbr_emit_maps(void) {
  u32 loads = __atomic_load_n(&lbr_loads, __ATOMIC_ACQUIRE);
  struct maps *r = lbr_mmap(0, sizeof *r, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (r == MAP_FAILED) return;
  r->pid = (u32)getpid();
  lbr_mappings(add, r);
  flush(r);
  lbr_munmap(r, sizeof *r);
  __atomic_store_n(&lbr_loads_told, loads, __ATOMIC_RELEASE);
}
