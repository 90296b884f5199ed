/* Numbers in /proc/self/maps. */

/* hex reads a number and moves *s to its end. */
static u64 hex(const char **s) {
  u64 v = 0;
  for (;; ++*s) {
    u8 c = (u8)**s, d = c - '0';
    if (d > 9) d = (u8)(c - 'a') < 6 ? (u8)(c - 'a' + 10) : 16;
    if (d > 15) return v;
    v = v << 4 | d;
  }
}
