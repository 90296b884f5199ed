/* The environment: CAIRN_DIR, and the words of CAIRN_TRACE or, in other modes, CAIRN_SPIKE. */

/* word_value returns what follows a name at s, 0 if another word is there. */
static const char *word_value(const char *s, const char *name) {
  while (*name)
    if (*s++ != *name++) return 0;
  return s;
}

static int ends_word(const char *s) { return !*s || *s == ','; }

/* value_of parses a number with a unit: units are their names, one behind the other, and scale what they stand for. It is 0 if it is invalid. */
static u64 value_of(const char *s, const char *units, const u64 *scale) {
  u64 v = 0, of = 1;
  u32 digits = 0, point = 0;
  for (; digits < 9 && ((*s >= '0' && *s <= '9') || (*s == '.' && !point)); s++)
    if (*s == '.') point = 1;
    else v = v * 10 + (u64)(*s - '0'), digits++, of *= point ? 10 : 1;
  for (; digits && *units; units += length(units) + 1, scale++) {
    const char *end = word_value(s, units);
    if (end && ends_word(end)) return v * *scale / of;
  }
  return 0;
}

#if CAIRN_MODE == LOG_MODE_TRACE
#define VARIABLE "CAIRN_TRACE"
#define WORDS "size=16MB,file,period=1ms,off"
#else
#define VARIABLE "CAIRN_SPIKE"
#define WORDS (CAIRN_MODE == LOG_MODE_SPIKE ? "threshold=10ms,period=1ms,rate=100,flight=8MB,budget=16.7ms,+channel,-channel,channels=a+b,off" : "period=1ms,off")
#endif

#if CAIRN_MODE == LOG_MODE_SPIKE
int __cairn_channel_word(struct process *p, const char *s, int apply);

/* number_at returns the number that a word ends with, -1 if it is none. */
static i64 number_at(const char *s) {
  i64 n = *s >= '0' && *s <= '9' ? 0 : -1;
  for (; *s >= '0' && *s <= '9' && n < 1 << 28; s++) n = n * 10 + (*s - '0');
  return ends_word(s) ? n : -1;
}
#endif

/* set applies a word, and reports whether it is one. */
static int set(struct process *p, const char *s) {
  static const u64 times[] = {1000, MS, SECOND};
  static const u64 sizes[] = {1ul << 10, 1ul << 20, 1ul << 30};
  const char *v;
  u64 n;
  i64 rate;
  if ((v = word_value(s, "off")) && ends_word(v)) p->off = 1;
#if CAIRN_MODE == LOG_MODE_TRACE
  else if ((v = word_value(s, "file")) && ends_word(v)) p->ring_chunks = 0;
  else if ((v = word_value(s, "size=")) && (n = value_of(v, "KB\0MB\0GB\0", sizes)) >= CHUNK && n <= 1ul << 36) p->ring_chunks = n / CHUNK;
#endif
  else if ((v = word_value(s, "period=")) && (n = value_of(v, "us\0ms\0s\0", times)) >= LOG_CLOCK_UNIT && n <= SECOND) p->period = n;
#if CAIRN_MODE == LOG_MODE_SPIKE
  else if ((v = word_value(s, "threshold=")) && (n = value_of(v, "us\0ms\0s\0", times)) >= 10000) p->threshold = n;
  else if ((v = word_value(s, "flight=")) && *v == '0' && ends_word(v + 1)) p->flight.chunks = 0;
  else if ((v = word_value(s, "flight=")) && (n = value_of(v, "KB\0MB\0GB\0", sizes) / CHUNK) >= 2 && n <= 1 << 20) p->flight.chunks = (u32)n;
  else if ((v = word_value(s, "budget=")) && (n = value_of(v, "us\0ms\0s\0", times))) p->frames.budget = n;
  else if ((v = word_value(s, "rate=")) && (rate = number_at(v)) >= 0) p->rate = (u32)rate;
  else if (__cairn_channel_word(p, s, 1)) return 1;
#endif
  else return 0;
  return 1;
}

/* set_all applies a list of words. */
static void set_all(struct process *p, const char *s) {
  char text[256], *q;
  while (*s) {
    if (*s != ',' && !set(p, s)) {
      q = put(text, "cairn: " VARIABLE ": ");
      for (u32 i = 0; !ends_word(s + i) && i < 100; i++) *q++ = s[i];
      q = put(put(put(q, " is not understood; ignored ("), WORDS), ")\n");
      write(2, text, (u64)(q - text));
    }
    while (!ends_word(s)) s++;
    if (*s) s++;
  }
}

#ifndef CAIRN_DEFAULTS
#define CAIRN_DEFAULTS ""
#endif

/* read_environment finds the directory of logs. A program with more rights than its caller writes none. */
static void read_environment(struct process *p) {
  const char *s = getenv(VARIABLE), *home;
  char *q = p->dir;
  p->period = 0;
  p->threshold = 10 * MS, p->rate = 100, p->frames.budget = 16666667, p->flight.chunks = (8u << 20) / LOG_CHUNK_SIZE;
  p->ring_chunks = (16ul << 20) / CHUNK;
  if (issetugid && issetugid()) {
    p->off = 1;
    return;
  }
  set_all(p, CAIRN_DEFAULTS);
  if (s) set_all(p, s);
  if (!p->period) p->period = CAIRN_MODE == LOG_MODE_SPIKE ? least(most(p->threshold / 8, MS / 4), MS) : MS;
  s = getenv("CAIRN_DIR");
  if (!s || !*s) s = CAIRN_DEFAULT_DIR;
  if (!*s) p->off = 1;
  if (*s == '~' && (s[1] == '/' || !s[1]) && (home = getenv("HOME")) && length(home) < MAX_DIR / 2) {
    q = put(q, home);
    s++;
  } else if (*s != '/' && *s && getcwd(q, MAX_DIR / 2)) {
    while (*q) q++;
    *q++ = '/';
  }
  if (length(s) < MAX_DIR / 2) put(q, s);
  else p->off = 1, print_error("a name that is too long: ", "CAIRN_DIR");
}
