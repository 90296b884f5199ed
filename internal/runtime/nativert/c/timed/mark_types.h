/* What marks say of a thread, for Windows and macOS. */

enum { NOTES = 64, PAUSES = 32 };

/* What marks say of a frame, as c/timed/timed.h documents it. */
struct annotation {
  u64 sp, at;
  u64 own, children;
  u32 flags;
  u64 pc;
  const char *name;
  const void *scope;
  u64 frame, caller;
};
enum { NOTE_IGNORE = 1, NOTE_IGNORE_CHILDREN = 2, NOTE_SCOPE = 4 };

struct pause {
  u64 from, to;
};
