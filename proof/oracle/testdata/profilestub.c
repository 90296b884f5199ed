/* What clang's instrumented code needs of its runtime, which there is for the building machine only: counters
   alone, nothing is written. */
#include <stdint.h>

int __llvm_profile_runtime;
uint64_t __llvm_profile_global_timestamp = 1;

void __llvm_profile_set_timestamp(uint64_t *place) {
  if (*place == 0 || *place == (uint64_t)-1) *place = __llvm_profile_global_timestamp++;
}
