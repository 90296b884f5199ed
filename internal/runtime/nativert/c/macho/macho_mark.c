/* What marks (marks.h) get from macOS. */

#define __cairn_state (shared.process)
#define NONE (~0ul)
#define barrier() __asm__ volatile("" ::: "memory")
#define common_threshold(p) ((p)->threshold)
#define __builtin_dwarf_cfa() ((u64)__builtin_frame_address(0) + 16) /* clang's is another address on arm64 */
#if __aarch64__
#define ENTRY_BELOW_CFA 0
#else
#define ENTRY_BELOW_CFA 8
#endif
#define is_in(m, at) ((u64)(at) >= (m)->start && (u64)(at) < (m)->end)

static u64 bytes_of(const char *s) { return length(s); }
static u32 last_error(void) { return (u32)*__error(); }
static void set_last_error(u32 e) { *__error() = (int)e; }
static u64 __cairn_now(struct process *p) { return now(p); }

static u8 *anonymous(u64 size) {
  u8 *m = mmap(0, size, PROT_RW, MAP_PRIVATE | MAP_ANON, -1, 0);
  return m == (u8 *)-1 ? 0 : m;
}
#define release(at, size) munmap(at, size)
#if __aarch64__
#define relax() __asm__ volatile("yield")
#else
#define relax() __asm__ volatile("pause")
#endif

/* clear uses volatile accesses, so that no compiler replaces it by a call. */
static void clear(void *to, u64 n) {
  while (n--) ((volatile u8 *)to)[n] = 0;
}

/* capture finds where this function, which has a frame, is. */
static inline __attribute__((always_inline)) void capture(struct context *c) {
  const u64 *fp = __builtin_frame_address(0);
  __asm__ volatile("" : : : "memory");
  *c = (struct context){(u64)&&here, (u64)fp + FRAME, fp[1], fp[0]};
here:;
}

u64 __cairn_rule(struct process *p, struct thread *t, u64 sp, u64 t0, u32 *flags);
u32 __cairn_scopes(struct process *p, struct thread *t, u64 sp, u64 e, struct entry *stack, u32 n, u32 max);
void __cairn_scope_names(struct thread *t, u64 number, u64 sp);
void __cairn_section_of(const struct thread *t, u64 sp, char *to, u64 room);
void __cairn_numbered_text(u64 number, u32 kind, u64 sp, u64 pc, const char *text, u64 len);
static int start_told(struct process *p);

#include "rule.h"
#include "open_rule.h"
#include "told.h"
#include "watch_open.h"
#include "watch_why.h"
#include "judge.h"
#include "marks.h"

/* join_mode notes the channels of this image. */
static void join_mode(struct process *p) {
  u64 n = 0;
  struct channel *c = (struct channel *)getsectiondata(&__dso_handle, "__DATA", "__cairn_channels", &n);
  if (c) __cairn_add_channels(p, c, c + n / sizeof *c);
}

/* names_go forgets names of sections in an image, of frames that have been left without their ends. */
static void names_go(struct process *p, const struct module *m) {
  for (struct watched *w = p->watch->thread; w < p->watch->thread + WATCHED; w++)
    for (u32 i = 0; w->state && i < NOTES; i++)
      if (is_in(m, load(&w->state->note[i].name))) store(&w->state->note[i].name, 0);
}

/* run_told_thread calls the program. It gets no signals. */
static void *run_told_thread(void *of) {
  struct process *p = of;
  if (pthread_setname_np) pthread_setname_np("cairn-told");
  run_told(p);
  store(&p->spikes->tid, 0);
  store(&p->spikes->wake, 0);
  return 0;
}

static int start_told(struct process *p) { return start_thread(run_told_thread, p); }

/* fork_marks: what waited to be told is told by the parent. */
static void fork_marks(struct process *p) {
  struct spikes *s = p->spikes;
  p->control.lock = 0;
  p->frames.summary = 0, p->snapshots = 0;
  if (s) s->head = s->ready = s->tail, s->wake = 0, s->tid = 0;
}
