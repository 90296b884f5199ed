/* The words of CAIRN_SPIKE, which control the runtime: a list separated by commas. */

#include "timed.h"

/* word_is reports whether the word at s, up to a comma or the end, is w, or begins with w if w ends
 * in =. */
int __cairn_word_is(const char *s, const char *w) {
  u64 n = length(w);
  for (u64 i = 0; i < n; i++)
    if (s[i] != w[i]) return 0;
  return w[n - 1] == '=' || !s[n] || s[n] == ',';
}

/* time_of parses a time such as 1.5ms; 0 if it is invalid. */
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
  __cairn_print(b, (u64)(q - b));
}

/* number_of parses the number of a word such as rate=100; NONE if it is invalid. */
static u64 number_of(const char *s) {
  u64 v = 0;
  const char *from = s;
  for (; *s >= '0' && *s <= '9' && v < 1u << 30; s++) v = v * 10 + (u64)(*s - '0');
  return s == from || (*s && *s != ',') ? NONE : v;
}

/* value_of returns the part of a word after its =. */
static const char *value_of(const char *s) {
  while (*s && *s != ',' && *s != '=') s++;
  return *s == '=' ? s + 1 : s;
}

/* copy_value copies the value of a word, if there is room for it. */
static int copy_value(char *to, u64 room, const char *value) {
  u64 n = 0;
  for (; value[n] && value[n] != ','; n++)
    if (n + 1 == room) return 0;
  copy(to, value, n);
  to[n] = 0;
  return 1;
}

/* change applies a word that is valid at any time; unless apply is set, it only checks it. */
static int change(struct process *p, const char *s, int apply) {
  const char *value = value_of(s);
  u64 v;
  if (__cairn_word_is(s, "on") || __cairn_word_is(s, "off")) {
    if (apply) __cairn_switch(p, s[1] == 'n');
  } else if (__cairn_word_is(s, "threshold=")) {
    if ((v = __cairn_time_of(value)) < (p->kind == KIND_EXACT ? 2000 : 10000)) return 0;
    if (apply) __cairn_new_threshold(p, v);
  } else if (__cairn_word_is(s, "budget=")) {
    if (!(v = __cairn_time_of(value))) return 0;
    if (apply) store(&p->frames.budget, v);
  } else if (__cairn_word_is(s, "rate=")) {
    if ((v = number_of(value)) == NONE) return 0;
    if (apply) store(&p->set.rate, v);
  } else {
    return __cairn_channel_word(p, s, apply);
  }
  return 1;
}

/* flight sets the size of a ring of the flight recorder, such as 16MB; 0 is off. */
static int flight(struct process *p, const char *s) {
  u64 v = 0, unit = 0;
  for (; *s >= '0' && *s <= '9' && v < 1u << 20; s++) v = v * 10 + (u64)(*s - '0');
  if (__cairn_word_is(s, "KB")) unit = 1ul << 10;
  else if (__cairn_word_is(s, "MB")) unit = 1ul << 20;
  else if (__cairn_word_is(s, "GB")) unit = 1ul << 30;
  else if (v || (*s && *s != ',')) return 0;
  v = v * unit / LOG_CHUNK_SIZE;
  if (unit && (v < 2 || v > 1 << 20)) return 0;
  p->flight.chunks = (u32)v;
  return 1;
}

static const char *next(const char *s) {
  while (*s && *s != ',') s++;
  return *s ? s + 1 : s;
}

/* options applies the list of words in CAIRN_SPIKE. */
void __cairn_options(struct process *p, const char *s) {
  for (; s && *s; s = next(s)) {
    u64 v = 0;
    const char *value = value_of(s);
    if (__cairn_word_is(s, "stderr")) p->set.to_stderr = 1;
    else if (p->kind == KIND_EXACT && (__cairn_word_is(s, "tick=") || __cairn_word_is(s, "period=")))
      __cairn_misread(s, " has no effect on the exact clock; ignored");
    else if (__cairn_word_is(s, "period=") && (v = __cairn_time_of(value)) >= 20000 && v <= SECOND) p->set.period = v, p->set.fixed_period = 1;
    else if (__cairn_word_is(s, "flight=") && flight(p, value)) ;
    else if (__cairn_word_is(s, "control")) p->control.wanted = 1;
    else if (__cairn_word_is(s, "control=") && *value && copy_value(p->control.at, sizeof p->control.at, value)) p->control.wanted = 1;
    else if (__cairn_word_is(s, "reload=") && __cairn_signal_of(value)) p->control.signal = __cairn_signal_of(value);
    else if (__cairn_word_is(s, "file=") && *value && copy_value(p->control.file, sizeof p->control.file, value)) ;
    else if (__cairn_word_is(s, "tick=thread") || __cairn_word_is(s, "tick=signal")) p->signal.wanted = s[5] == 's';
    else if (__cairn_word_is(s, "stamp=window") || __cairn_word_is(s, "stamp=masked")) ;
    else if (*s != ',' && !change(p, s, 1))
      __cairn_misread(s, " is not understood; ignored (threshold=10ms,period=250us,rate=100,stderr,off,control,channels=a+b)");
  }
}

/* set applies a list of words while the program runs. If a word is invalid, it applies none and
 * returns that word. */
const char *__cairn_set(struct process *p, const char *words) {
  const char *s, *wrong = 0;
  lock(&p->control.lock);
  for (s = words; *s && !wrong; s = next(s))
    if (*s != ',' && !change(p, s, 0)) wrong = s;
  for (s = words; *s && !wrong; s = next(s))
    if (*s != ',') change(p, s, 1);
  unlock(&p->control.lock);
  return wrong;
}
