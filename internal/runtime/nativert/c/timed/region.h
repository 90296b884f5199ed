/* A stack that is not the thread's own: its outermost frame, and the lowest address seen. Handlers
 * of signals have their own regions. */
enum { REGIONS = 64 };
struct region {
  u64 lo, top;
  u32 number, handlers;
};
