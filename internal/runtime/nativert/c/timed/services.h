/* services.h - what a library calls in the runtime of its process, in the order of the table __cairn_services, of which each
 * process has one; see guest_calls_MACHINE.S. The table of another build may be longer: new names come last. */

/* Routines that inserted code calls, when nearly all registers are in use. */
#define ROUTINES(F)  \
  F(__cairn_slow)     \
  F(__cairn_arrived)  \
  F(__cairn_departs)  \
  F(__cairn_cancels)  \
  F(__cairn_suspends) \
  F(__cairn_resumes)  \
  F(__cairn_leaves)   \
  F(__cairn_comes)

/* The same in mode stacks. */
#define TREE_ROUTINES(F)     \
  F(__cairn_tree_enter)       \
  F(__cairn_tree_back)        \
  F(__cairn_tree_back_at)     \
  F(__cairn_tree_switched)    \
  F(__cairn_tree_leave)

/* Functions: those of cairn_mark.h, and of the library's own part of the runtime. */
#define FUNCTIONS(F)        \
  F(__cairn_channel)         \
  F(__cairn_mark)            \
  F(__cairn_next_frame)      \
  F(__cairn_on_spike)        \
  F(__cairn_pause)           \
  F(__cairn_resume)          \
  F(__cairn_scope_begin)     \
  F(__cairn_scope_end)       \
  F(__cairn_scope_over)      \
  F(__cairn_scope_text)      \
  F(__cairn_set_threshold)   \
  F(__cairn_snapshot)        \
  F(__cairn_spike_thread)    \
  F(__cairn_thread_active)   \
  F(__cairn_thread_name)     \
  F(__cairn_leave_at)        \
  F(__cairn_add_base)        \
  F(__cairn_add_channels)    \
  F(__cairn_add_raisers)     \
  F(__cairn_callback_leave)  \
  F(__cairn_flush)           \
  F(__cairn_wake)

#define SERVICES_ROUTINES 8
#define SERVICES_TREES 5
#define SERVICES_FUNCTIONS 22
#define SERVICES (SERVICES_ROUTINES + SERVICES_TREES + SERVICES_FUNCTIONS)
