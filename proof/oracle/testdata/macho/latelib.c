/* The inner calls of late.c, for a dylib. */
extern int nanosleep(const long *, long *);
static volatile int sum;
__attribute__((noinline)) void stall(int ms) {
  long t[2] = {ms / 1000, ms % 1000 * 1000000l};
  nanosleep(t, 0);
  sum++;
}
void middle(int ms) {
  stall(ms);
  sum++;
}
