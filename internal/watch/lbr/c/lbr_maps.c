/* Memory mappings, from /proc/self/maps. */

#include "lbr.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* parse reads "55d0-55d1 r-xp ..." */
static struct mapping parse(const char *c) {
  u64 range[2] = {0, 0};
  struct mapping m;
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
      struct mapping m = parse(line);
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
