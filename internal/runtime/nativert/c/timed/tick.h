enum { TICKS = 8192 };

/* A tick: the clock was set between these two times. */
struct tick {
  u64 before, after;
};
