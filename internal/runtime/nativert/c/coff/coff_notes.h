/* What marks get from Windows, for the sources that they share with c/timed. */

#define HIDDEN
#define __cairn_state state
#define ENTRY_BELOW_CFA 8
#define NONE ((u64)-1)
#define barrier() __asm__ volatile("" ::: "memory")
#define common_threshold(p) ((p)->threshold)
#define is_quiet(p) ((p)->off || (p)->quiet)

static u64 __cairn_now(struct process *p) { return now(p); }

/* clear uses volatile accesses, so that no compiler replaces it by a call. */
static void clear(void *to, u64 n) {
  while (n--) ((volatile u8 *)to)[n] = 0;
}

u64 __cairn_rule(struct process *p, struct thread *t, u64 sp, u64 t0, u32 *flags);
u32 __cairn_scopes(struct process *p, struct thread *t, u64 sp, u64 e, struct entry *stack, u32 n, u32 max);
void __cairn_scope_names(struct thread *t, u64 number, u64 sp);
void __cairn_section_of(const struct thread *t, u64 sp, char *to, u64 room);
void __cairn_numbered_text(u64 number, u32 kind, u64 sp, u64 pc, const char *text, u64 len);

#include "rule.h"
#include "open_rule.h"
#include "told.h"
