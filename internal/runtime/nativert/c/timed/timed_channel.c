/* Channels: conditions of marks that have a name. Each file of a program has a variable for a
 * channel, in a section of its own, and all channels of one name are switched together: by the
 * words +name, -name and channels=name+name, which also apply to modules that are loaded later, and
 * by the program. */

#if !defined _WIN32 && !defined __APPLE__
#include "timed.h"
#endif

/* As in cairn_mark.h. */
struct channel {
  const char *name;
  u64 on;
};

HIDDEN void __cairn_channel(const char *name, int on);

/* same reports whether a channel has the name at s, which ends at a +, a comma or the
 * end. */
static int same(const struct channel *c, const char *s) {
  const char *n = c->name;
  if (!n) return 0;
  while (*n && *n == *s) n++, s++;
  return !*n && (!*s || *s == ',' || *s == '+');
}

/* listed reports whether a channel is in a list, name+name. */
static int listed(const struct channel *c, const char *list) {
  for (; *list && *list != ','; list++) {
    if (same(c, list)) return 1;
    while (*list && *list != ',' && *list != '+') list++;
    if (*list != '+') break;
  }
  return 0;
}

/* apply_word applies a word to the channels of a module, and returns how many it names. */
static u32 apply_word(struct channel *from, struct channel *to, const char *word) {
  u32 found = 0;
  for (struct channel *c = from; c < to; c++) {
    if (__cairn_word_is(word, "channels=")) {
      if (c->name) store(&c->on, (u64)listed(c, word + length("channels=")));
    } else if (same(c, word + 1)) {
      store(&c->on, (u64)(*word == '+'));
      found++;
    }
  }
  return found;
}

static u32 known(struct process *p, const char *name) {
  u32 found = 0;
  for (u32 i = 0, n = load(&p->channel.sets); i < n && i < BASES; i++)
    for (struct channel *c = p->channel.set[i].from; c < p->channel.set[i].to; c++) found += (u32)same(c, name);
  return found;
}

static u64 word_length(const char *s) {
  u64 n = 0;
  while (s[n] && s[n] != ',') n++;
  return n;
}

/* stored_word returns the stored word about the same channel, or the end. */
static char *stored_word(struct process *p, const char *word, u64 n) {
  char *s = p->channel.words;
  for (; *s; s += word_length(s) + 1) {
    u64 i = 1;
    while (i < n && s[i] == word[i]) i++;
    if (i == n && word_length(s) == n) break;
  }
  return s;
}

/* remember stores a word for modules that are loaded later, in place of an earlier word about the
 * channel. A list replaces all words. */
static int remember(struct process *p, const char *word, int store_it) {
  u64 n = word_length(word), at = 0;
  if (!__cairn_word_is(word, "channels=")) {
    char *s = stored_word(p, word, n);
    if (*s && store_it) *s = *word;
    if (*s) return 1;
    at = (u64)(s - p->channel.words);
  }
  if (at + n + 2 > sizeof p->channel.words) return 0;
  if (!store_it) return 1;
  copy(p->channel.words + at, word, n);
  p->channel.words[at + n] = ',';
  p->channel.words[at + n + 1] = 0;
  return 1;
}

/* channel_word applies a word about channels. While the program runs, the channel must exist. */
int __cairn_channel_word(struct process *p, const char *s, int apply) {
  int list = __cairn_word_is(s, "channels=");
  if (!list && ((*s != '+' && *s != '-') || !s[1] || s[1] == ',')) return 0;
  if (!list && load(&p->channel.sets) && !known(p, s + 1)) return 0;
  if (!remember(p, s, apply) && !apply) return 0;
  for (u32 i = 0, n = load(&p->channel.sets); apply && i < n && i < BASES; i++)
    apply_word(p->channel.set[i].from, p->channel.set[i].to, s);
  return 1;
}

/* add_channels applies the words to the channels of a module, and keeps them for later words. */
void __cairn_add_channels(struct process *p, struct channel *from, struct channel *to) {
  lock(&p->control.lock);
  for (const char *s = p->channel.words; *s; s++) {
    apply_word(from, to, s);
    while (*s != ',') s++;
  }
  u32 n = 0, sets = p->channel.sets;
  while (n < sets && (p->channel.set[n].from != from || p->channel.set[n].to != from)) n++; /* it was loaded there before */
  if (n == BASES)
    for (n = 0; n < BASES && p->channel.set[n].from != p->channel.set[n].to;) n++; /* of a module that is gone */
  if (n < BASES) {
    p->channel.set[n].from = from, store(&p->channel.set[n].to, to);
    if (n == sets) store(&p->channel.sets, n + 1);
  }
  unlock(&p->control.lock);
}

/* channel switches a channel for the program. */
void __cairn_channel(const char *name, int on) {
  struct process *p = __cairn_state;
  for (u32 i = 0, n = p ? load(&p->channel.sets) : 0; i < n && i < BASES; i++)
    for (struct channel *c = p->channel.set[i].from; c < p->channel.set[i].to; c++)
      if (same(c, name)) store(&c->on, (u64)!!on);
}

#if !defined _WIN32 && !defined __APPLE__
/* put_channels writes a line for each channel, while there is room, and one with the number of the others. */
char *__cairn_put_channels(struct process *p, char *to, const char *end) {
  u32 omitted = 0;
  for (u32 i = 0, n = load(&p->channel.sets); i < n && i < BASES; i++)
    for (struct channel *c = p->channel.set[i].from; c < p->channel.set[i].to; c++) {
      int first = 1; /* of that name */
      for (u32 j = 0; j <= i && first; j++)
        for (struct channel *d = p->channel.set[j].from; d < (j < i ? p->channel.set[j].to : c) && first; d++)
          first = !c->name || !d->name || !same(d, c->name);
      if (!c->name || !first) continue;
      if ((u64)(end - to) < length(c->name) + 48) omitted++;
      else to = put(put(put(put(to, "channel "), c->name), load(&c->on) ? " on" : " off"), "\n");
    }
  return omitted ? put(put_number(put(to, "omitted "), omitted), "\n") : to;
}
#endif
