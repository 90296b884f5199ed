/* Variables of the environment, from the list that the loader passes. */

/* env returns the value of the variable CAIRN_<name>, or 0. */
static const char *env(char **e, const char *name) {
  for (; e && *e; e++) {
    const char *p = *e, *q = "CAIRN_";
    while (*q && *p == *q) p++, q++;
    if (*q) continue;
    for (q = name; *q && *p == *q; q++) p++;
    if (!*q && *p == '=') return p + 1;
  }
  return 0;
}
