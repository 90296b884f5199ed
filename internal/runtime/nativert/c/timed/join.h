/* join.h - how a module joins the state of its process. The file that includes it has idle, which makes a state that
 * records nothing. Calls use here in place of what their thread has. */

/* find searches the list for the state of modules of this kind, and sets link to its end. */
static struct process *find(struct process ***link) {
  struct process *p;
  for (; *link && (p = load(*link)); *link = &p->other) {
    if ((p->abi ^ TIMED_ABI) >> 8) break; /* of another layout */
    if (p->abi == (TIMED_ABI | CAIRN_KIND) && p->size == sizeof *p) return p;
  }
  return 0;
}

static struct local here;

static struct process *early;

/* early_start makes a state for the time until this module is initialized, if it may be called before:
 * initializers of other libraries call the program's allocator, and so does the loader while it looks for
 * the state of the process. */
void __cairn_early_start(void) {
  if (!__cairn_state && __cairn_guest_is_early()) early = idle(&here);
}

/* not_loaded says that the host cannot be loaded. */
static void not_loaded(void) {
#ifdef CAIRN_HOST_PATH
  char message[sizeof CAIRN_HOST_PATH + 128], *end = put(message, "cairn: nothing is recorded, as the runtime cannot be loaded (--shared-runtime): ");
  end = put(put(end, __cairn_host_path), "\n");
  __cairn_print(message, (u64)(end - message));
#elif __arm__
  static const char message[] =
      "cairn: an instrumented library runs without recording: for Armv7 the executable has to be built with cairn as well, in the same mode\n";
  __cairn_print(message, sizeof message - 1);
#else
  static const char message[] =
      "cairn: an instrumented library runs without recording, as its runtime cannot be loaded: the program needs /proc and "
      "memfd_create, or a directory /dev/shm or /tmp, or an executable that is built with cairn as well; and files of 256 KB (ulimit -f)\n";
  __cairn_print(message, sizeof message - 1);
#endif
}

/* keep_on_fork lets a child made by fork have a state that records nothing. */
static void keep_on_fork(struct process *p) {
  enum { KEEPONFORK = 19 };
  sys3(SYS_madvise, p->base - 2 * PAGE_SIZE, 2 * PAGE_SIZE, KEEPONFORK);
}

/* run_plain lets a module whose host cannot be loaded run without recording. A child made by fork
 * runs without it as well. */
static void run_plain(void) {
  static const char error[] = "cairn: and its code cannot be changed to run without it\n";
  not_loaded();
  if (!__cairn_guest_plain()) {
    __cairn_print(error, sizeof error - 1);
    sys1(SYS_exit_group, 127);
  }
  __cairn_plain = 1;
  keep_on_fork(idle(&here));
}
