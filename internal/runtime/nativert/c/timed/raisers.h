/* raisers.h - the functions that raise exceptions and jump, as this module finds them. */
#ifndef CAIRN_RAISERS_H
#define CAIRN_RAISERS_H

#include "timed.h"

enum { UNWINDERS = 6 }; /* index of the first one of the unwinder */
#define RAISER_NAMES(F)                                                                                       \
  F(0, "__cxa_throw") F(1, "__cxa_rethrow") F(2, "longjmp") F(3, "_longjmp") F(4, "siglongjmp")               \
  F(5, "__longjmp_chk") F(6, "_Unwind_Resume") F(7, "_Unwind_Resume_or_Rethrow") F(8, "_Unwind_ForcedUnwind") \
  F(9, "_Unwind_RaiseException")
#define RAISER(n, name) extern char raiser_##n[] __asm__(name) WEAK;
RAISER_NAMES(RAISER)

INLINE void raisers_start(struct process *p) {
  u64 functions[RAISERS];
#define PUT(n, name) functions[n] = (uword)raiser_##n;
  RAISER_NAMES(PUT)
#undef PUT
  __cairn_add_raisers(p, functions);
}

#endif
