/* The record of a call that has not ended. */

/* The fields of a record, in words; package wire describes them. */
enum { AT = 1, ENDED = 2, UNTIL = 3, SINCE = 4, THRESHOLD = 5, FRAME_NUMBER = 6, FLAGS = 7, COUNTS = 8, CPU = 9, NUMBER = 10, NAME = 11 };

/* begin_change makes readers ignore a record, and end_change makes it valid again. */
static void begin_change(u64 *f) {
  u32 *edition = (u32 *)(f + NUMBER);
  store(edition, *edition | 1);
}
static void end_change(u64 *f) {
  u32 *edition = (u32 *)(f + NUMBER);
  store(edition, (*edition | 1) + 1);
}
