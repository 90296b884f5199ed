/* What is known of a slow call, for Windows and macOS. */

enum { CALLS = 512, OPEN = 16, STACKS = 32, MAX_CHILDREN = 16, CHAIN = LOG_MAX_ENTRIES - MAX_CHILDREN };

/* An entry of a stack, as package wire documents it. */
struct entry {
  u64 pc, lo, hi;
  u32 flags, sp;
};

/* A stack: sp has whole stack pointers at the entries, t0 and t1 the bounds of when they were. */
struct stack {
  u32 n, found, cut;
  struct entry entry[CHAIN];
  u64 sp[CHAIN], t0[CHAIN], t1[CHAIN];
};

/* A slow exit: entered in [t0, t1], left at e. In that time its stack did not run for away_lo to away_hi. */
struct slow_call {
  u64 site, sp, t0, t1, e, away_lo, away_hi;
  u32 stack, left;  /* left: flags of what left it */
  u16 gone;         /* of the last open calls, the frames of these are gone */
  u8 begins;        /* the first frame is that of a function that begins now */
  char section[32]; /* the beginning of its section's name, if it is one */
};

struct open_episode {
  u64 number, sp, t0;
  u32 stack, written;
};
