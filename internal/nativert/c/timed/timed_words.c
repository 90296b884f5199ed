/* The words of CAIRN_SPIKE, which say what the runtime is to do: a list, separated
 * by commas. */

#include "timed.h"

/* word_is tells whether the word at s, up to a comma or the end, is w. With a
 * w that ends in = it tells whether it starts so. */
int __cairn_word_is(const char *s, const char *w) {
  u64 n = length(w);
  for (u64 i = 0; i < n; i++)
    if (s[i] != w[i]) return 0;
  return w[n - 1] == '=' || !s[n] || s[n] == ',';
}

/* time_of reads a time such as 1.5ms; 0 if it is none. */
u64 __cairn_time_of(const char *s) {
  u64 v = 0, scale = 1, unit;
  int digits = 0;
  for (; (*s >= '0' && *s <= '9') || (*s == '.' && scale == 1); s++) {
    if (*s == '.') {
      scale = 10;
      s++;
      if (*s < '0' || *s > '9') return 0;
      v = v * 10 + (u64)(*s - '0');
      continue;
    }
    if (++digits > 9) return 0;
    v = v * 10 + (u64)(*s - '0');
    if (scale > 1) scale *= 10;
  }
  if (__cairn_word_is(s, "us")) unit = 1000;
  else if (__cairn_word_is(s, "ms")) unit = MS;
  else if (__cairn_word_is(s, "s")) unit = SECOND;
  else return 0;
  return muldiv(v, unit, scale);
}

void __cairn_misread(const char *s, const char *why) {
  char b[256], *q = put(b, "cairn: CAIRN_SPIKE: ");
  for (u32 i = 0; *s && *s != ',' && i < 100; i++) *q++ = *s++;
  *q = 0;
  q = put(put(q, why), "\n");
  say(b, (u64)(q - b));
}

/* options reads a list of words, as CAIRN_SPIKE has them. */
void __cairn_options(struct process *p, const char *s) {
  while (s && *s) {
    u64 v = 0;
    const char *value = s;
    while (*value && *value != ',' && value[-(value > s)] != '=') value++;
    if (__cairn_word_is(s, "off")) p->off = 1;
    else if (__cairn_word_is(s, "stderr")) p->to_stderr = 1;
    else if (__cairn_word_is(s, "threshold=") && (v = __cairn_time_of(value)) >= 10000) p->threshold = v;
    else if (__cairn_word_is(s, "period=") && (v = __cairn_time_of(value)) >= 20000 && v <= SECOND) p->period = v;
    else if (__cairn_word_is(s, "rate=") && *value >= '0' && *value <= '9')
      for (p->rate = 0; *value >= '0' && *value <= '9' && p->rate < 1u << 30; value++) p->rate = p->rate * 10 + (u64)(*value - '0');
    else if (__cairn_word_is(s, "tick=thread") || __cairn_word_is(s, "stamp=window")) ;
    else if (__cairn_word_is(s, "tick=signal") || __cairn_word_is(s, "stamp=masked")) __cairn_misread(s, " is not available in this version; ignored");
    else if (*s != ',') __cairn_misread(s, " is not understood; ignored (threshold=10ms,period=250us,rate=100,stderr,off)");
    while (*s && *s != ',') s++;
    if (*s) s++;
  }
}
