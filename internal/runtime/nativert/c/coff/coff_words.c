/* The environment: CAIRN_DIR, and the words of CAIRN_SPIKE or, in mode trace, CAIRN_TRACE. */

/* word_value returns what follows a name at s, 0 if another word is there. */
static const u16 *word_value(const u16 *s, const char *name) {
  while (*name)
    if (*s++ != (u16)*name++) return 0;
  return s;
}

static int ends_word(const u16 *s) { return !*s || *s == ','; }

/* time_of parses a time such as 1.5ms; 0 if it is invalid. */
static u64 time_of(const u16 *s) {
  u64 v = 0, scale = 1;
  int point = 0;
  for (u32 digits = 0; (*s >= '0' && *s <= '9') || (*s == '.' && !point); s++) {
    if (*s == '.') point = 1;
    else if (++digits > 9) return 0;
    else v = v * 10 + (u64)(*s - '0'), scale *= point ? 10 : 1;
  }
  u64 unit = *s == 'u' && s[1] == 's' ? 1000 : *s == 'm' && s[1] == 's' ? MS : *s == 's' ? SECOND : 0;
  return unit && ends_word(s + (unit == SECOND ? 1 : 2)) ? v * unit / scale : 0;
}

/* size_of parses a size such as 16MB; 0 if it is invalid. */
static u64 size_of(const u16 *s) {
  u64 v = 0;
  for (u32 digits = 0; *s >= '0' && *s <= '9'; s++) {
    if (++digits > 9) return 0;
    v = v * 10 + (u64)(*s - '0');
  }
  u32 shift = *s == 'K' ? 10 : *s == 'M' ? 20 : *s == 'G' ? 30 : 0;
  return shift && s[1] == 'B' && ends_word(s + 2) ? v << shift : 0;
}

#if CAIRN_MODE == LOG_MODE_TRACE
static const u16 variable[] = u"CAIRN_TRACE";
static const u16 ignored[] = u" is not understood; ignored (size=16MB,file,period=1ms,off)\n";

/* set applies a word, and reports whether it is one. */
static int set(struct process *p, const u16 *s) {
  const u16 *v;
  u64 n;
  if ((v = word_value(s, "off")) && ends_word(v)) p->off = 1;
  else if ((v = word_value(s, "file")) && ends_word(v)) p->trace.ring_chunks = 0;
  else if ((v = word_value(s, "size=")) && (n = size_of(v)) >= LOG_CHUNK_SIZE && n <= 1ull << 36) p->trace.ring_chunks = n / LOG_CHUNK_SIZE;
  else if ((v = word_value(s, "period=")) && (n = time_of(v)) >= 500000 && n <= SECOND) p->period = n;
  else return 0;
  return 1;
}
#else
static const u16 variable[] = u"CAIRN_SPIKE";
#if CAIRN_MODE != LOG_MODE_SPIKE
static const u16 ignored[] = u" is not understood; ignored (period=1ms,off)\n";
#else
static const u16 ignored[] = u" is not understood; ignored (threshold=10ms,period=1ms,rate=100,budget=16.7ms,flight=8MB,channels=a+b,control,off)\n";
#endif

/* number_at parses a number that ends a word; -1 if it is invalid. */
static i64 number_at(const u16 *s) {
  i64 n = *s >= '0' && *s <= '9' ? 0 : -1;
  for (; *s >= '0' && *s <= '9' && n < 1 << 28; s++) n = n * 10 + (*s - '0');
  return ends_word(s) ? n : -1;
}

/* change applies a word that is valid at any time, and reports whether it is one; unless apply is set, it only checks it. */
static int change(struct process *p, const u16 *s, int apply) {
  const u16 *v;
  u64 n;
  i64 rate;
  if (((v = word_value(s, "off")) || (v = word_value(s, "on"))) && ends_word(v)) {
    if (apply) store(&p->quiet, s[1] == 'f'), show_low(p, p->low);
  } else if ((v = word_value(s, "threshold=")) && (n = time_of(v)) >= 10000) {
    if (apply) store(&p->threshold, n), set_low(p);
#if CAIRN_MODE == LOG_MODE_SPIKE
  } else if ((v = word_value(s, "budget=")) && (n = time_of(v))) {
    if (apply) store(&p->frames.budget, n);
  } else if (set_channels(p, s, apply)) {
    return 1;
#endif
  } else if ((v = word_value(s, "rate=")) && (rate = number_at(v)) >= 0) {
    if (apply) p->rate = (u32)rate;
  } else {
    return 0;
  }
  return 1;
}

/* set applies a word of the environment, and reports whether it is one. */
static int set(struct process *p, const u16 *s) {
  const u16 *v;
  u64 n;
  if ((v = word_value(s, "period=")) && (n = time_of(v)) >= 500000 && n <= SECOND) p->period = n;
#if CAIRN_MODE == LOG_MODE_SPIKE
  else if ((v = word_value(s, "flight=")) && *v == '0' && ends_word(v + 1)) p->flight.chunks = 0;
  else if ((v = word_value(s, "flight=")) && (n = size_of(v) / LOG_CHUNK_SIZE) >= 2 && n <= 1 << 20) p->flight.chunks = (u32)n;
  else if ((v = word_value(s, "control")) && ends_word(v)) p->control.wanted = 1;
#endif
  else return change(p, s, 1);
  return 1;
}
#endif

static const u16 *next_word(const u16 *s) {
  while (!ends_word(s)) s++;
  return *s ? s + 1 : s;
}

#if CAIRN_MODE == LOG_MODE_SPIKE
/* set_words applies a list of words while the program runs. If one is invalid, it applies none and returns that one. */
static u16 *set_words(struct process *p, u16 *words) {
  for (const u16 *s = words; *s; s = next_word(s))
    if (*s != ',' && !change(p, s, 0)) return (u16 *)s;
  for (const u16 *s = words; *s; s = next_word(s))
    if (*s != ',') change(p, s, 1);
  return 0;
}
#endif

/* set_all applies a list of words. */
static void set_all(struct process *p, const u16 *s) {
  static u16 text[256];
  for (; *s; s = next_word(s)) {
    if (*s != ',' && !set(p, s)) {
      u16 *q = put(put(put(text, u"cairn: "), variable), u": ");
      for (u32 i = 0; !ends_word(s + i) && i < 100; i++) *q++ = s[i];
      q = put(q, ignored);
      print(text, (u32)(q - text));
    }
  }
}

#ifndef CAIRN_DEFAULTS
#define CAIRN_DEFAULTS ""
#endif

static const u16 too_long[] = u"cairn: no " WHAT u" are logged: the directory for logs has a path of 600 characters or more\n";

static void read_environment(struct process *p) {
  static u16 value[2048];
  u32 n = (u32)MultiByteToWideChar(UTF8, 0, CAIRN_DEFAULTS, -1, value, 2048);
  if (n) set_all(p, value);
  n = GetEnvironmentVariableW(variable, value, 2048);
  if (n >= 2048) {
    u16 *q = put(put(put(value, u"cairn: "), variable), u" has 2048 characters or more; ignored\n");
    print(value, (u32)(q - value));
  } else if (n) {
    set_all(p, value);
  }
  n = GetEnvironmentVariableW(u"CAIRN_DIR", value, 2048);
  if (!n) n = (u32)MultiByteToWideChar(UTF8, 0, CAIRN_DEFAULT_DIR, -1, value, 2048) - 1;
  if (!n) return;
  if (n < 2048 && GetFullPathNameW(value, MAX_DIR, p->dir, 0) < MAX_DIR) return;
  *p->dir = 0;
  print(too_long, sizeof too_long / sizeof *too_long - 1);
}
