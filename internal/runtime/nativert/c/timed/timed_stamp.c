/* Stamps of entries for code other than inserted code: they are put into the window, by the coarse
 * clock or by the exact one. */

#include "timed.h"

#define coarse_at(p, sp) ((u32 *)slot(p, sp))
#define exact_at(p, sp) ((u64 *)slot(p, sp))

void __cairn_stamp(struct process *p, u64 sp) {
  if (p->kind == KIND_EXACT) *exact_at(p, sp) = ticks();
  else *coarse_at(p, sp) = load(word(p, CLOCK));
}

void __cairn_unstamp(struct process *p, u64 sp) {
  if (p->kind == KIND_EXACT) *exact_at(p, sp) = 0;
  else *coarse_at(p, sp) = 0;
}

int __cairn_is_long(struct process *p, u64 sp) {
  if (p->kind == KIND_EXACT) return ticks() - *exact_at(p, sp) > load((u64 *)(p->base + EXACT_LOW));
  return (i32)(*coarse_at(p, sp) - load(word(p, CLOCK)) + load(word(p, LOW))) < 0;
}

u64 __cairn_stamp_now(struct process *p) { return p->kind == KIND_EXACT ? ticks() : load(word(p, CLOCK)); }

u64 __cairn_stamp_age(struct process *p, u64 sp, u64 now) {
  if (p->kind == KIND_EXACT) return *exact_at(p, sp) ? now - *exact_at(p, sp) : NONE;
  return *coarse_at(p, sp) ? (u32)((u32)now - *coarse_at(p, sp)) : NONE;
}

int __cairn_entered(struct process *p, u64 sp, u64 e, u64 *t0, u64 *t1) {
  u64 stamp = p->kind == KIND_EXACT ? *exact_at(p, sp) : *coarse_at(p, sp);
  if (!stamp) return 0;
  if (p->kind == KIND_EXACT) __cairn_exact_interval(p, stamp, e, t0, t1);
  else __cairn_coarse_interval(p, (u32)stamp, e, t0, t1);
  return 1;
}
