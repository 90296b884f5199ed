/* What marks (marks.h) get from Windows. */

IMPORT(void, RtlCaptureContext, struct context *);

#define capture(c) RtlCaptureContext(c)
#define is_in(m, at) ((u64)(at) - (u64)(m)->base < (m)->size)
#define relax() __asm__ volatile("pause")

/* bytes_of is the length of a text; length is that of one of Windows. */
static u64 bytes_of(const char *s) {
  u64 n = 0;
  while (s[n]) n++;
  return n;
}
#undef length
#define length bytes_of

static int start_told(struct process *p);

#include "marks.h"

/* join_mode notes the channels of this module. */
static void join_mode(struct process *p) {
  u32 n;
  struct channel *c = (struct channel *)find_section(__ImageBase, ".crnc", &n);
  if (c) __cairn_add_channels(p, c, c + n / sizeof *c);
}

/* set_channels applies a word about channels, or only checks it, and reports whether it is one. */
static int set_channels(struct process *p, const u16 *s, int apply) {
  char word[256];
  u32 n = 0;
  for (; *s && *s != ',' && n < sizeof word - 1; s++) word[n++] = *s < 128 ? (char)*s : '?';
  word[n] = 0;
  return n < sizeof word - 1 && __cairn_channel_word(p, word, apply);
}

static u32 run_told_thread(void *p) { return run_told(p), 0; }

static int start_told(struct process *p) {
  void *thread = CreateThread(0, 0, run_told_thread, p, 0, 0);
  if (thread) CloseHandle(thread);
  return thread != 0;
}

/* is_told reports whether this thread, which ends, is that of callbacks. */
static int is_told(void) {
  struct spikes *s = state ? load(&state->spikes) : 0;
  if (!s || load(&s->tid) != (i32)GetCurrentThreadId()) return 0;
  store(&s->tid, 0);
  store(&s->wake, 0);
  return 1;
}

#undef length
#define length __cairn_length
