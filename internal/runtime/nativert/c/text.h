/* Text for messages and names. TEXT_FUNCTION declares its functions, TEXT_NUMBER is the type of
 * numbers: rt.c must be small, and the timed modes use 64 bits. */

TEXT_FUNCTION char *put(char *p, const char *s) {
  while ((*p = *s++)) p++;
  return p;
}

TEXT_FUNCTION char *put_number(char *p, TEXT_NUMBER v) {
  char b[24], *q = b + 23;
  *q = 0;
  do *--q = (char)('0' + LAST_DIGIT(v));
  while ((v = TENTH(v)));
  return put(p, q);
}
