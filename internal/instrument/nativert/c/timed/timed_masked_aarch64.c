/* Code for a window that is smaller than 4 GiB (see timed_window.c) is not made here: a
 * process without room for the whole one says so and ends, before its code could write
 * beyond what there is. */

#include "timed.h"

void __cairn_masked(struct process *p) {
  static const char message[] =
      "cairn: this program was built to time its calls with 4 GiB of address space, which it cannot reserve here: raise "
      "the limit (ulimit -v unlimited), or build it without cairn\n";
  (void)p;
  say(message, sizeof message - 1);
  sys1(SYS_exit_group, 127);
}
