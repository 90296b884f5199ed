/* Hooks in functions of an unmodified program: declarations for detour.c and detour_stop.c.
 * internal/instrument/detour makes the plan, and describes its parts. */
#ifndef CAIRN_DETOUR_H
#define CAIRN_DETOUR_H

#include "hook.h"

/* The file of a plan; see internal/instrument/detour/encode.go. */
struct plan_file {
  u8 magic[8];
  u32 version, modules;
};
struct plan {
  u64 lo, hi;
  u32 sites, fixups, blob;
  u8 main, id_len, id[20], zero[6];
};
struct site {
  u64 at;
  u32 entry;
  u8 original[5], inner[4], zero[3];
};
struct fixup {
  u32 at, kind;
  u64 target;
};
enum { FIXUP_DISTANCE, FIXUP_ADDRESS };
enum { JUMP = 5 };

/* A module with hooks. */
struct hooked {
  const struct plan *plan;
  const struct site *site; /* ascending */
  const struct fixup *fixup;
  const u8 *image;   /* of the blob */
  u64 bias, blob;    /* address of the blob */
  u64 text, text_end; /* pages of code that hold all sites */
  u64 text_offset;   /* of text in the file */
  char path[1024];   /* of the file */
  u32 changed;       /* sites that others have changed before: they are not hooked */
  u8 on;
};
enum { HOOKED = 16 };

HIDDEN extern struct hooked __cairn_hooked[HOOKED];
HIDDEN extern u32 __cairn_hooked_count;

/* stop stops all other threads but cairn's own. It returns 0, or the reason why it cannot,
 * and then no thread is stopped. With on, threads within the first bytes of a function that
 * will be hooked continue at the same place in its trampoline. */
HIDDEN const char *__cairn_stop(int on);
HIDDEN void __cairn_go(void);

#endif
